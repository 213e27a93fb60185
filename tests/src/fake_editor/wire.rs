//! The editor's own framing, strict: what the daemon writes is one header, an empty line and a body, or one line of ACP, and nothing else ever.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Notify, mpsc};

use super::state::State;

/// Which protocol the connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// LSP with ACP's session methods: a message has a header.
    Lsp,
    /// Plain ACP: a message is a line.
    Acp,
}

pub(super) fn frame(message: &Value, dialect: Dialect) -> Vec<u8> {
    let body = message.to_string();
    match dialect {
        Dialect::Lsp => format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes(),
        Dialect::Acp => format!("{body}\n").into_bytes(),
    }
}

/// A task that writes what it is sent, and closes the input when the sender is dropped.
pub(super) fn write(mut writer: Box<dyn AsyncWrite + Send + Unpin>) -> mpsc::UnboundedSender<Vec<u8>> {
    let (sender, mut bytes) = mpsc::unbounded_channel::<Vec<u8>>();
    tokio::spawn(async move {
        while let Some(bytes) = bytes.recv().await {
            // A daemon that has ended takes nothing more: its end is seen on the other side.
            if writer.write_all(&bytes).await.is_err() || writer.flush().await.is_err() {
                return;
            }
        }
        let _ = writer.shutdown().await;
    });
    sender
}

/// Takes messages until the end of the daemon's output.
pub(super) async fn read(
    reader: Box<dyn AsyncRead + Send + Unpin>,
    dialect: Dialect,
    state: Arc<Mutex<State>>,
    arrived: Arc<Notify>,
) {
    let mut reader = BufReader::new(reader);
    loop {
        let message = match dialect {
            Dialect::Lsp => read_message(&mut reader).await,
            Dialect::Acp => read_line(&mut reader).await,
        };
        {
            let mut state = state.lock().expect("no panic while it was locked");
            match message {
                Ok(Some(message)) => state.receive(message),
                Ok(None) => state.ended = true,
                Err(fault) => {
                    state.fault(fault);
                    state.ended = true;
                }
            }
            if state.ended {
                arrived.notify_waiters();
                return;
            }
        }
        arrived.notify_waiters();
    }
}

/// `None` at the end, which comes between two messages.
async fn read_message(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Result<Option<Value>, String> {
    let mut header = Vec::new();
    let count = reader.read_until(b'\n', &mut header).await.map_err(|error| error.to_string())?;
    if count == 0 {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&header).into_owned();
    let length: usize = text
        .strip_prefix("Content-Length: ")
        .and_then(|rest| rest.strip_suffix("\r\n"))
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| format!("this on the daemon's output is no header: {text:?}"))?;
    let mut body = vec![0; length + 2];
    reader.read_exact(&mut body).await.map_err(|_| "the output ends within a message".to_owned())?;
    let body = body.strip_prefix(b"\r\n").ok_or("there is no empty line behind the header")?;
    serde_json::from_slice(body).map(Some).map_err(|error| format!("a body is no JSON: {error}"))
}

async fn read_line(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Result<Option<Value>, String> {
    let mut line = Vec::new();
    let count = reader.read_until(b'\n', &mut line).await.map_err(|error| error.to_string())?;
    if count == 0 {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&line).into_owned();
    let body = line.strip_suffix(b"\n").ok_or("the output ends within a message")?;
    serde_json::from_slice(body).map(Some).map_err(|error| format!("a line is no JSON: {error}: {text:?}"))
}
