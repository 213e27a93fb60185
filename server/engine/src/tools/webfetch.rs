//! `webfetch`: what stands at an address. Where it may lead is the runner's to judge, what is connected to the port's.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::described;
use crate::escape::escaped_line;
use crate::image::Image;
use crate::media::Media;
use crate::ports::{HttpAnswer, HttpError, HttpLimits, Preview, Readable};
use crate::tool::{Access, CommitError, Facts, Gate, Prepared, Tool, ToolContext, ToolError, ToolKind, ToolOutput};
use crate::web::{Content, WebAddress, content};

/// Bytes of an answer that are read: opencode's limit.
const MOST_BYTES: usize = 5 << 20;
/// Seconds.
const DEFAULT_TIMEOUT: f64 = 30.0;
const LONGEST_TIMEOUT: f64 = 120.0;
/// Between two pieces.
const IDLE: Duration = Duration::from_secs(15);

/// Says who asks, in the form in which servers expect it.
const AGENT: &str = concat!("Mozilla/5.0 (compatible; copydesk/", env!("CARGO_PKG_VERSION"), ")");
/// For servers that suspect everything that looks like a browser.
const PLAIN_AGENT: &str = concat!("copydesk/", env!("CARGO_PKG_VERSION"));

pub(super) struct WebFetch;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// The address, with http:// or https://.
    url: String,
    /// How a page is given; `markdown` if not set.
    format: Option<Format>,
    /// Seconds that each request may take: 30 if not set, 120 at most.
    timeout: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    Markdown,
    Text,
    Html,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Text => "text",
            Self::Html => "html",
        }
    }
}

#[derive(Debug)]
pub(super) struct Fetch {
    address: WebAddress,
    /// What the call named, where it led elsewhere.
    from: Option<WebAddress>,
    format: Format,
    limits: HttpLimits,
}

impl Tool for WebFetch {
    type Input = Input;
    type Prepared = Fetch;

    const NAME: &'static str = "webfetch";
    const KIND: ToolKind = ToolKind::Fetch;
    const GATE: Gate = Gate::Parallel;

    fn description(&self, facts: &Facts) -> String {
        described(include_str!("webfetch.txt"), facts).replace("{limit}", &(MOST_BYTES >> 20).to_string())
    }

    fn title(&self, partial: &Value, _facts: &Facts) -> String {
        let url = partial.get("url").and_then(Value::as_str).map(str::trim).unwrap_or_default();
        format!("Fetch {url}").trim_end().to_owned()
    }

    fn access(&self, input: &Input, _facts: &Facts) -> Result<Vec<Access>, ToolError> {
        Ok(vec![Access::Fetch(address(input)?)])
    }

    async fn prepare(&self, input: &Input, ctx: &ToolContext) -> Result<Prepared<Fetch>, ToolError> {
        let named = address(input)?;
        let address = ctx.web.address().cloned().unwrap_or_else(|| named.clone());
        ctx.web.refuse_inside(&address).map_err(|error| told(&error, &address))?;
        let shown = escaped_line(&address.to_string());
        let from = (named != address).then_some(named);
        let preview = match &from {
            Some(from) => format!("{shown}\n(redirected from {})", escaped_line(&from.to_string())),
            None => shown,
        };
        let limits = HttpLimits { bytes: MOST_BYTES, total: timeout(input)?, idle: IDLE };
        let value = Fetch { address, from, format: input.format.unwrap_or(Format::Markdown), limits };
        Ok(Prepared { value, preview: Preview::Access(preview) })
    }

    async fn commit(&self, fetch: Fetch, ctx: &ToolContext) -> Result<ToolOutput, CommitError> {
        let mut answer = exchange(&fetch, AGENT, ctx).await?;
        if answer.status == 403 && answer.header("cf-mitigated") == Some("challenge") {
            answer = exchange(&fetch, PLAIN_AGENT, ctx).await?;
        }
        if let Some(next) = redirect(&answer, &fetch.address)? {
            return Err(CommitError::Leads(Access::Fetch(next)));
        }
        if !(200..300).contains(&answer.status) {
            let text = format!("{} answered with status {}; nothing was fetched", fetch.address, answer.status);
            return Err(ToolError::Tell(text).into());
        }
        let declared = answer.header("content-type").map(str::to_owned);
        let Shown { text, media } = shown(&answer, &fetch, ctx).await;
        let metadata = json!({
            "url": fetch.address.to_string(),
            "format": fetch.format.name(),
            "contentType": declared,
            "bytes": answer.body.len(),
        });
        Ok(ToolOutput { text: format!("{}{text}", head(&fetch, &answer)), media, metadata, ..ToolOutput::default() })
    }
}

fn address(input: &Input) -> Result<WebAddress, ToolError> {
    WebAddress::parse(&input.url).map_err(|error| ToolError::Tell(format!("`url`: {error}")))
}

fn timeout(input: &Input) -> Result<Duration, ToolError> {
    let seconds = input.timeout.unwrap_or(DEFAULT_TIMEOUT);
    if seconds <= 0.0 || seconds.is_nan() {
        return Err(ToolError::Tell("`timeout` must be a number of seconds above 0".to_owned()));
    }
    Ok(Duration::from_secs_f64(seconds.min(LONGEST_TIMEOUT)))
}

async fn exchange(fetch: &Fetch, agent: &str, ctx: &ToolContext) -> Result<HttpAnswer, ToolError> {
    let accept = match fetch.format {
        Format::Markdown => "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.1",
        Format::Text => "text/plain, text/markdown;q=0.9, text/html;q=0.8, */*;q=0.1",
        Format::Html => "text/html, application/xhtml+xml;q=0.9, text/plain;q=0.8, */*;q=0.1",
    };
    let headers = vec![
        ("user-agent", agent.to_owned()),
        ("accept", accept.to_owned()),
        ("accept-language", "en-US,en;q=0.9".to_owned()),
    ];
    match ctx.web.get(headers, fetch.limits).await {
        Some(answer) => answer.map_err(|error| told(&error, &fetch.address)),
        // Only a fault of the runner's leads here.
        None => Err(ToolError::Tell("the address was not granted to this call".to_owned())),
    }
}

fn told(error: &HttpError, address: &WebAddress) -> ToolError {
    let advice = if error.retry() { " It may work a little later." } else { "" };
    ToolError::Tell(format!("{address} was not fetched: {error}.{advice}"))
}

/// `None` where the answer is no redirect. One without a place to go to is an answer like others.
fn redirect(answer: &HttpAnswer, from: &WebAddress) -> Result<Option<WebAddress>, ToolError> {
    if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = answer.header("location") else { return Ok(None) };
    match from.join(location) {
        Ok(next) => Ok(Some(next)),
        Err(error) => {
            let location = escaped_line(location);
            Err(ToolError::Tell(format!("{from} redirects to {location}, which is not followed: {error}")))
        }
    }
}

/// What the model reads first, since the rest of it may be cut.
fn head(fetch: &Fetch, answer: &HttpAnswer) -> String {
    let mut notes = Vec::new();
    if let Some(from) = &fetch.from {
        notes.push(format!("{from} redirects to {}.", fetch.address));
    }
    if answer.is_cut {
        notes.push(format!("It goes on: only its first {} bytes were read.", answer.body.len()));
    }
    if notes.is_empty() { String::new() } else { format!("({})\n\n", notes.join(" ")) }
}

struct Shown {
    text: String,
    media: Vec<Media>,
}

async fn shown(answer: &HttpAnswer, fetch: &Fetch, ctx: &ToolContext) -> Shown {
    let bytes = answer.body.len();
    if let Some(encoding) = unknown_encoding(answer) {
        let text = format!("{bytes} bytes, compressed as {}. They are not shown.", escaped_line(encoding));
        return Shown { text, media: Vec::new() };
    }
    let text = match content(answer.header("content-type"), &answer.body) {
        Content::Page(page) => match fetch.format {
            Format::Markdown => ctx.web.readable(page, Readable::Markdown).await,
            Format::Text => ctx.web.readable(page, Readable::Text).await,
            Format::Html => page,
        },
        Content::Text(text) => text,
        Content::Image { mime, size } => {
            let size = size.map(|(width, height)| format!(", {width} × {height} pixels")).unwrap_or_default();
            let what = format!("An image ({mime}{size}, {bytes} bytes).");
            return match image(answer, ctx.largest_image) {
                Ok(image) => Shown { text: what, media: vec![image.into()] },
                Err(reason) => Shown { text: format!("{what} It is not shown: {reason}."), media: Vec::new() },
            };
        }
        Content::Binary { mime } => format!("Binary content ({mime}, {bytes} bytes). It is not shown."),
    };
    Shown { text, media: Vec::new() }
}

/// What the server has done to the bytes without being asked, which nothing has taken back. Servers also name there what is no compression: a charset, or how
/// a file came to them.
fn unknown_encoding(answer: &HttpAnswer) -> Option<&str> {
    const COMPRESSED: [&str; 8] = ["br", "compress", "dcb", "dcz", "deflate", "gzip", "x-gzip", "zstd"];
    let encoding = answer.header("content-encoding")?.trim();
    let is_compressed = |part: &str| COMPRESSED.iter().any(|known| part.trim().eq_ignore_ascii_case(known));
    encoding.split(',').any(is_compressed).then_some(encoding)
}

/// As models take it, else why they do not.
fn image(answer: &HttpAnswer, largest: u64) -> Result<Image, String> {
    if answer.is_cut {
        return Err("its end was not read".to_owned());
    }
    let image = Image::new(answer.body.clone()).map_err(|error| error.to_string())?;
    image.check_size(largest).map_err(|error| error.to_string())?;
    Ok(image)
}

#[cfg(test)]
#[path = "webfetch_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
