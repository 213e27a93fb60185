//! How search services are spoken to: Exa and Parallel by a call of their MCP endpoint, SearXNG by its JSON. Which one is set up is the user's choice.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::escape::escaped_line;
use crate::ports::{HttpAnswer, HttpLimits};
use crate::tool::{Access, CommitError, ToolContext, ToolError, ToolOutput};
use crate::web::{SearchKind, SearchService, WebAddress};

/// Bytes of an answer.
const MOST_BYTES: usize = 1 << 20;
const PLAIN_AGENT: &str = concat!("copydesk/", env!("CARGO_PKG_VERSION"));

#[derive(Debug)]
pub(super) struct Query {
    pub(super) words: String,
    /// That are shown, where the service is not told.
    pub(super) results: usize,
    pub(super) exa_tool: &'static str,
    pub(super) exa_arguments: Value,
    pub(super) limit: Duration,
}

pub(super) fn title(verb: &str, partial: &Value) -> String {
    match partial.get("query").and_then(Value::as_str).map(str::trim).filter(|query| !query.is_empty()) {
        Some(query) => format!("{verb}: {query}"),
        None => verb.to_owned(),
    }
}

pub(super) fn access(tool: &'static str, query: &str) -> Result<Vec<Access>, ToolError> {
    if query.trim().is_empty() {
        return Err(ToolError::Tell("`query` is empty; nothing was searched".to_owned()));
    }
    Ok(vec![Access::Service { permission: tool, query: query.trim().to_owned() }])
}

/// For the user: what goes where.
pub(super) fn shown(query: &Query, ctx: &ToolContext) -> Result<String, ToolError> {
    let SearchService { kind, address, .. } = service(ctx)?;
    Ok(format!("{} to {} ({})", escaped_line(&query.words), kind.name(), escaped_line(&address.origin())))
}

pub(super) async fn search(query: Query, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
    let service = service(ctx)?;
    let request = request(service, &query, ctx);
    let limits = HttpLimits { bytes: MOST_BYTES, total: query.limit, idle: query.limit };
    let name = service.kind.name();
    let answer = match ctx.web.ask(request.address, request.headers, request.body, limits).await {
        Some(Ok(answer)) => answer,
        Some(Err(error)) => {
            let advice = if error.retry() { " It may work a little later." } else { "" };
            return Err(ToolError::Tell(format!("{name} could not be asked: {error}.{advice}")).into());
        }
        None => return Err(unset().into()),
    };
    if answer.status != 200 {
        return Err(ToolError::Tell(refused(service, answer.status)).into());
    }
    if answer.is_cut {
        return Err(ToolError::Tell(format!("{name} answered more than {MOST_BYTES} bytes: ask for less")).into());
    }
    let found = match service.kind {
        SearchKind::Exa | SearchKind::Parallel => mcp_text(&answer),
        SearchKind::Searxng => searxng_text(&answer, query.results),
    };
    let found = found.map_err(|cause| ToolError::Tell(format!("{name}: {cause}")))?;
    let text = found.unwrap_or_else(|| "No results. Other words may find more.".to_owned());
    let metadata = json!({"provider": name.to_lowercase()});
    Ok(ToolOutput { text, metadata, ..ToolOutput::default() })
}

fn service(ctx: &ToolContext) -> Result<&SearchService, ToolError> {
    ctx.web.service().ok_or_else(unset)
}

fn unset() -> ToolError {
    ToolError::Tell("no search service is set up; the user can do so in the configuration".to_owned())
}

fn refused(service: &SearchService, status: u16) -> String {
    let name = service.kind.name();
    let advice = match (service.kind, status) {
        (SearchKind::Searxng, 403) => ": the instance must allow `json` among its `search.formats`",
        (_, 401 | 403) => ": it wants a key, or another one",
        (_, 429) => ": too many searches for now",
        _ => "",
    };
    format!("{name} answered with status {status}{advice}")
}

struct Request {
    address: WebAddress,
    headers: Vec<(&'static str, String)>,
    body: Option<String>,
}

fn request(service: &SearchService, query: &Query, ctx: &ToolContext) -> Request {
    let SearchService { kind, address, key } = service;
    let mut headers = vec![("user-agent", PLAIN_AGENT.to_owned())];
    let call = |tool: &str, arguments: &Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
            .to_string()
    };
    match kind {
        SearchKind::Exa => {
            headers.push(("accept", "application/json, text/event-stream".to_owned()));
            let address = match key {
                Some(key) => address.with_query(&[("exaApiKey", key)]),
                None => address.clone(),
            };
            Request { address, headers, body: Some(call(query.exa_tool, &query.exa_arguments)) }
        }
        SearchKind::Parallel => {
            headers.push(("accept", "application/json, text/event-stream".to_owned()));
            headers.extend(key.iter().map(|key| ("authorization", format!("Bearer {key}"))));
            let arguments = json!({
                "objective": query.words,
                "search_queries": [query.words],
                "session_id": ctx.web.session(),
            });
            Request { address: address.clone(), headers, body: Some(call("web_search", &arguments)) }
        }
        SearchKind::Searxng => {
            headers.push(("accept", "application/json".to_owned()));
            let address = address.below(&["search"]).with_query(&[("q", &query.words), ("format", "json")]);
            Request { address, headers, body: None }
        }
    }
}

/// The first text of the reply, which is the body or an event of a stream. The error is what the service says.
fn mcp_text(answer: &HttpAnswer) -> Result<Option<String>, String> {
    let body = text_of(answer);
    let whole = serde_json::from_str(&body).ok().and_then(reply);
    let reply = whole.or_else(|| events(&body).iter().find_map(|data| reply(serde_json::from_str(data).ok()?)));
    let Some(reply) = reply else { return Err("the answer is not what its protocol says".to_owned()) };
    if let Some(error) = reply.get("error").filter(|error| !error.is_null()) {
        let message = error.get("message").unwrap_or(error);
        return Err(escaped_line(&message.as_str().map_or_else(|| message.to_string(), str::to_owned)));
    }
    let pieces = reply.pointer("/result/content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut texts = pieces.iter().filter_map(|piece| piece.get("text")?.as_str());
    let text = texts.find(|text| !text.trim().is_empty()).map(str::to_owned);
    match reply.pointer("/result/isError") {
        Some(Value::Bool(true)) => Err(text.unwrap_or_else(|| "the search failed".to_owned())),
        _ => Ok(text),
    }
}

/// The value where it is a reply, or the first of a list that is one.
fn reply(value: Value) -> Option<Value> {
    let is_reply = |value: &Value| {
        value.get("result").is_some_and(Value::is_object) || value.get("error").is_some_and(|error| !error.is_null())
    };
    match value {
        Value::Array(list) => list.into_iter().find(is_reply),
        value => is_reply(&value).then_some(value),
    }
}

fn text_of(answer: &HttpAnswer) -> String {
    let text = String::from_utf8_lossy(&answer.body);
    text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned()
}

/// The data of server-sent events.
fn events(body: &str) -> Vec<String> {
    let mut events = vec![String::new()];
    for line in body.lines() {
        match line.strip_prefix("data:") {
            Some(data) => {
                if let Some(event) = events.last_mut() {
                    event.push_str(data.strip_prefix(' ').unwrap_or(data));
                    event.push('\n');
                }
            }
            None if line.is_empty() => events.push(String::new()),
            None => {}
        }
    }
    events
}

/// Engines of an instance also answer with what has no address, or with other types than most: each field is taken or left by itself.
fn searxng_text(answer: &HttpAnswer, most: usize) -> Result<Option<String>, String> {
    let page: Option<Value> = serde_json::from_str(&text_of(answer)).ok();
    let Some(hits) = page.as_ref().and_then(|page| page.get("results")?.as_array()) else {
        return Err("the answer is no list of results; is the address that of an instance?".to_owned());
    };
    let mut text = String::new();
    let with_address = hits.iter().filter_map(|hit| Some((hit, hit.get("url")?.as_str()?)));
    for (hit, url) in with_address.take(most) {
        let field = |name: &str| hit.get(name).and_then(Value::as_str).map(str::trim).filter(|field| !field.is_empty());
        let _ = writeln!(text, "Title: {}\nURL: {url}", field("title").unwrap_or_default());
        for (name, value) in [("Published", field("publishedDate")), ("Text", field("content"))] {
            if let Some(value) = value {
                let _ = writeln!(text, "{name}: {value}");
            }
        }
        text.push('\n');
    }
    Ok((!text.is_empty()).then(|| text.trim_end().to_owned()))
}
