//! As much of HTTP/1.1 as clients of a model use: a request with a length, one after the other on a connection.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::wire::Wire;

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub struct SeenRequest {
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub raw_body: String,
    /// Null where the body is no JSON.
    pub body: Value,
}

impl SeenRequest {
    /// `None` where nothing is served.
    pub fn wire(&self) -> Option<Wire> {
        Wire::of(&self.method, &self.path)
    }

    pub fn messages(&self) -> &[Value] {
        list(&self.body["messages"])
    }

    /// Content of the last message: what the user said, or a tool's result. Over Messages the last block's, since results and what the user says behind them
    /// are one message.
    pub fn last_text(&self) -> &str {
        self.messages().last().and_then(|message| blocks(message).last().copied()).map_or("", text_of)
    }

    /// All images and documents, in order, those in results among them, as data URLs.
    pub fn images(&self) -> Vec<String> {
        let image = |block: &Value| match (&block["image_url"]["url"], &block["source"]) {
            (Value::String(url), _) => Some(url.clone()),
            (_, source) => Some(format!("data:{};base64,{}", source["media_type"].as_str()?, source["data"].as_str()?)),
        };
        let within = |block: &'_ Value| match &block["content"] {
            Value::Array(inner) if block["type"] == "tool_result" => inner.clone(),
            _ => vec![block.clone()],
        };
        self.messages().iter().flat_map(blocks).flat_map(within).filter_map(|block| image(&block)).collect()
    }

    pub fn system(&self) -> &str {
        if let Some(system) = self.body.get("system") {
            return list(system).first().map_or("", text_of);
        }
        self.messages().first().filter(|message| message["role"] == "system").map_or("", text_of)
    }

    /// Contents of all tool results, in order.
    pub fn results(&self) -> Vec<&str> {
        let blocks = self.messages().iter().flat_map(blocks);
        blocks.filter(|block| block["role"] == "tool" || block["type"] == "tool_result").map(text_of).collect()
    }

    /// All that the model has said so far, a text a message.
    pub fn said(&self) -> Vec<&str> {
        let said = self.messages().iter().filter(|message| message["role"] == "assistant");
        said.flat_map(blocks)
            .filter(|block| block["type"] != "thinking")
            .map(text_of)
            .filter(|text| !text.is_empty())
            .collect()
    }

    pub fn tool_names(&self) -> Vec<&str> {
        let tools = list(&self.body["tools"]).iter();
        tools.filter_map(|tool| tool["function"]["name"].as_str().or_else(|| tool["name"].as_str())).collect()
    }

    pub fn authorization(&self) -> Option<&str> {
        self.headers.get("authorization").map(String::as_str)
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Of a message: its blocks, or the message itself where its content is a text.
fn blocks(message: &Value) -> Vec<&Value> {
    match &message["content"] {
        Value::Array(blocks) => blocks.iter().collect(),
        _ => vec![message],
    }
}

/// Of a block, a result, or a message: the first, where there are several.
fn text_of(block: &Value) -> &str {
    let content = &block["content"];
    let texts = [&block["text"], content, &content[0]["text"]];
    texts.into_iter().find_map(Value::as_str).unwrap_or_default()
}

/// The next request; `None` where the client has closed the connection between two.
pub(super) async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<Option<SeenRequest>, String> {
    let head_end = loop {
        if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if !fill(stream, buffer).await {
            return if buffer.is_empty() { Ok(None) } else { Err("a request broke off in its head".to_owned()) };
        }
    };
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (first.next().unwrap_or_default().to_owned(), first.next().unwrap_or_default().to_owned());
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = match headers.get("content-length").map(|length| length.parse::<usize>()) {
        Some(Ok(length)) => length,
        None if !headers.contains_key("transfer-encoding") => 0,
        _ => return Err(format!("{method} {path} has no readable content-length")),
    };
    buffer.drain(..head_end + 4);
    while buffer.len() < length {
        if !fill(stream, buffer).await {
            return Err(format!("{method} {path} broke off in its body"));
        }
    }
    let raw_body = String::from_utf8(buffer.drain(..length).collect())
        .map_err(|_| format!("{method} {path}: the body is no UTF-8"))?;
    let body = serde_json::from_str(&raw_body).unwrap_or_default();
    Ok(Some(SeenRequest { method, path, headers, raw_body, body }))
}

async fn fill(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> bool {
    stream.read_buf(buffer).await.is_ok_and(|count| count > 0)
}
