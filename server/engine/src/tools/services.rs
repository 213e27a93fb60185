//! How search services are spoken to: Exa and Parallel by a call of their MCP endpoint, SearXNG by its JSON. Which one is set up is the user's choice.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;
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

#[derive(Deserialize)]
struct Reply {
    result: Option<Called>,
    error: Option<Failed>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Called {
    #[serde(default)]
    content: Vec<Piece>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
struct Piece {
    text: Option<String>,
}

#[derive(Deserialize)]
struct Failed {
    message: String,
}

/// The first text of the reply, which is the body or an event of a stream. The error is what the service says.
fn mcp_text(answer: &HttpAnswer) -> Result<Option<String>, String> {
    let body = String::from_utf8_lossy(&answer.body);
    let reply = serde_json::from_str::<Reply>(&body).ok().or_else(|| {
        let events = events(&body);
        events.iter().find_map(|data| {
            let reply: Reply = serde_json::from_str(data).ok()?;
            (reply.result.is_some() || reply.error.is_some()).then_some(reply)
        })
    });
    let Some(reply) = reply else { return Err("the answer is not what its protocol says".to_owned()) };
    if let Some(Failed { message }) = reply.error {
        return Err(escaped_line(&message));
    }
    let Some(Called { content, is_error }) = reply.result else { return Ok(None) };
    let text = content.into_iter().filter_map(|piece| piece.text).find(|text| !text.trim().is_empty());
    if is_error { Err(text.unwrap_or_else(|| "the search failed".to_owned())) } else { Ok(text) }
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

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    results: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    url: String,
    title: Option<String>,
    content: Option<String>,
    #[serde(rename = "publishedDate")]
    published: Option<String>,
}

fn searxng_text(answer: &HttpAnswer, most: usize) -> Result<Option<String>, String> {
    let page: Page = serde_json::from_slice(&answer.body)
        .map_err(|_| "the answer is no list of results; is the address that of an instance?".to_owned())?;
    let mut text = String::new();
    for hit in page.results.iter().take(most) {
        let _ = writeln!(text, "Title: {}\nURL: {}", hit.title.as_deref().unwrap_or_default().trim(), hit.url);
        if let Some(published) = &hit.published {
            let _ = writeln!(text, "Published: {published}");
        }
        if let Some(content) = hit.content.as_deref().map(str::trim).filter(|content| !content.is_empty()) {
            let _ = writeln!(text, "Text: {content}");
        }
        text.push('\n');
    }
    Ok((!text.is_empty()).then(|| text.trim_end().to_owned()))
}
