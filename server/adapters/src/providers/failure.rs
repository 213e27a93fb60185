//! What a provider's refusal means: status and the provider's own code become a kind, the rest a text for the user. Pure; message texts decide nothing.

use std::time::Duration;

use copydesk_engine::ports::{ModelError, ModelErrorKind, ModelRequest};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde_json::Value;

/// Characters of a provider's own words that are passed on.
const MAX_QUOTE: usize = 600;

/// An answer with a status that is no success.
#[derive(Debug, Default)]
pub(crate) struct Refusal {
    pub status: u16,
    pub retry_after: Option<Duration>,
    /// Of a redirect.
    pub location: Option<String>,
    /// As much of it as was read.
    pub body: String,
}

/// The error object of a provider, in a body or in a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProviderError {
    /// `code` and `type`, whichever are texts.
    pub codes: Vec<String>,
    /// A status that stands in the object.
    pub status: Option<u16>,
    pub message: String,
}

/// `text` is for the user: what happened, and what to do next.
pub(crate) fn error(request: &ModelRequest, kind: ModelErrorKind, text: String) -> ModelError {
    ModelError { kind, message: redact(request, text) }
}

pub(crate) fn refused(request: &ModelRequest, url: &str, refusal: &Refusal) -> ModelError {
    let body = read_body(&refusal.body);
    classify(request, url, Some(refusal.status), refusal, &body)
}

/// An error object where an answer was expected: in a stream, or with status 200.
pub(crate) fn told(request: &ModelRequest, url: &str, body: &ProviderError) -> ModelError {
    classify(request, url, body.status, &Refusal::default(), body)
}

fn classify(
    request: &ModelRequest,
    url: &str,
    status: Option<u16>,
    refusal: &Refusal,
    body: &ProviderError,
) -> ModelError {
    let provider = &request.provider.id;
    let model = &request.model.model;
    let retry_after = refusal.retry_after;
    let coded = body.codes.iter().find_map(|code| by_code(code));
    let refused = || body.codes.iter().any(|code| refuses(code)).then_some(Meaning::Refused);
    let (kind, text) = match coded.or_else(|| status.map(by_status)).or_else(refused).unwrap_or(Meaning::Broken) {
        Meaning::Auth => (
            ModelErrorKind::Auth,
            if request.provider.key.is_some() {
                format!(
                    "{provider} refuses the API key. Check where it comes from: `provider.{provider}.options.apiKey` in the configuration, \
                     a variable, or `copydesk auth list`."
                )
            } else {
                format!(
                    "{provider} wants an API key and none is set. Store one with `copydesk auth login {provider}`, or set \
                     `provider.{provider}.options.apiKey` in the configuration, e.g. to \"{{env:NAME_OF_A_VARIABLE}}\"."
                )
            },
        ),
        Meaning::NoCredit => (
            ModelErrorKind::Setup,
            format!("The account at {provider} has no credit or quota left. Top it up there, or choose another model."),
        ),
        Meaning::NotFound => (
            ModelErrorKind::Setup,
            format!(
                "{provider} knows no model \"{model}\" at {url}. Check the model's name, and whether \
                 `provider.{provider}.options.baseURL` is right (most end in /v1)."
            ),
        ),
        Meaning::Overflow => (
            ModelErrorKind::ContextOverflow,
            format!(
                "The conversation is longer than {provider}/{model} can take. Start a new session, or choose a model with a larger context."
            ),
        ),
        Meaning::RateLimited => (
            ModelErrorKind::RateLimited { retry_after },
            format!("{provider} asks to slow down (rate limit).{}", wait(retry_after)),
        ),
        Meaning::Overloaded => (
            ModelErrorKind::Overloaded { retry_after },
            format!("{provider} is overloaded or out of order just now.{}", wait(retry_after)),
        ),
        Meaning::TimedOut => {
            (ModelErrorKind::TimedOut, format!("A gateway of {provider} gave up waiting for the model. Try again."))
        }
        Meaning::Redirect => (
            ModelErrorKind::Setup,
            format!(
                "{url} redirects to {}. Set `provider.{provider}.options.baseURL` to the final address: keys are not sent along a redirect.",
                refusal.location.as_deref().unwrap_or("another address")
            ),
        ),
        Meaning::Refused => (
            ModelErrorKind::Invalid,
            format!("{provider} refuses the request for {model}. Check the model's options in the configuration."),
        ),
        Meaning::Broken => (ModelErrorKind::Broken, format!("{provider} broke off its answer with an error.")),
    };
    error(request, kind, text + &said(status, body))
}

#[derive(Clone, Copy)]
enum Meaning {
    Auth,
    NoCredit,
    NotFound,
    Overflow,
    RateLimited,
    Overloaded,
    TimedOut,
    Redirect,
    Refused,
    Broken,
}

/// Codes and types of OpenAI, Anthropic, OpenRouter, Mistral, DeepSeek, vLLM and llama.cpp that say more than the status does.
fn by_code(code: &str) -> Option<Meaning> {
    Some(match code {
        "context_length_exceeded"
        | "exceed_context_size_error"
        | "model_context_window_exceeded"
        | "request_too_large" => Meaning::Overflow,
        "invalid_api_key"
        | "authentication_error"
        | "invalid_authentication"
        | "permission_error"
        | "insufficient_permissions"
        | "account_deactivated"
        | "invalid_organization" => Meaning::Auth,
        "insufficient_quota"
        | "billing_hard_limit_reached"
        | "billing_not_active"
        | "billing_error"
        | "insufficient_balance" => Meaning::NoCredit,
        "model_not_found" | "model_not_exist" | "not_found_error" => Meaning::NotFound,
        "rate_limit_exceeded" | "rate_limit_error" | "too_many_requests" => Meaning::RateLimited,
        "timeout_error" => Meaning::TimedOut,
        "server_is_overloaded"
        | "overloaded_error"
        | "server_error"
        | "internal_server_error"
        | "api_error"
        | "service_unavailable"
        | "engine_overloaded"
        | "unavailable_error" => Meaning::Overloaded,
        _ => return None,
    })
}

/// Codes and types that say less than a status does, OpenAI's of every kind of refusal: they count where there is none.
fn refuses(code: &str) -> bool {
    matches!(
        code,
        "invalid_request_error"
            | "invalid_request"
            | "invalid_prompt"
            | "invalid_value"
            | "invalid_type"
            | "invalid_argument"
            | "unknown_parameter"
            | "unsupported_parameter"
            | "unsupported_value"
            | "missing_required_parameter"
            | "unsupported_country_region_territory"
            | "not_supported_error"
            | "content_filter"
            | "content_policy_violation"
    )
}

fn by_status(status: u16) -> Meaning {
    match status {
        300..=399 => Meaning::Redirect,
        401 | 403 => Meaning::Auth,
        402 => Meaning::NoCredit,
        404 => Meaning::NotFound,
        408 | 409 | 425 | 429 => Meaning::RateLimited,
        413 => Meaning::Overflow,
        504 | 524 => Meaning::TimedOut,
        500.. => Meaning::Overloaded,
        _ => Meaning::Refused,
    }
}

/// The error object in a body; where there is none, the body's own words.
fn read_body(body: &str) -> ProviderError {
    let parsed = serde_json::from_str::<Value>(body).ok();
    // Gemini's compatible endpoint answers with a list of one.
    let object = parsed.as_ref().map(|value| value.get(0).unwrap_or(value));
    object.and_then(provider_error).unwrap_or_else(|| ProviderError {
        message: if object.is_some() || !looks_like_html(body) { quote(body) } else { html_title(body) },
        ..ProviderError::default()
    })
}

/// The error that a JSON object carries, in the shapes seen: `{"error": {…}}`, `{"error": "text"}`, `{"object": "error", …}`, `{"type": "error", …}`,
/// `{"detail": …}`.
pub(crate) fn provider_error(value: &Value) -> Option<ProviderError> {
    let error = match value.get("error") {
        Some(Value::Null) | None => {
            let marked = value.get("object").or_else(|| value.get("type")).and_then(Value::as_str) == Some("error");
            if !marked && value.get("detail").is_none() {
                return None;
            }
            value
        }
        Some(error) => error,
    };
    if let Some(text) = error.as_str() {
        return Some(ProviderError { message: quote(text), ..ProviderError::default() });
    }
    let codes = ["code", "type", "status"]
        .iter()
        .filter_map(|key| error.get(key)?.as_str().map(str::to_ascii_lowercase))
        .collect();
    let status = ["code", "status"].iter().find_map(|key| {
        let value = error.get(key)?;
        let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
        u16::try_from(number).ok().filter(|status| (400..600).contains(status))
    });
    let message = ["message", "detail", "msg"]
        .iter()
        .find_map(|key| error.get(key))
        .map_or_else(|| error.to_string(), |value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    Some(ProviderError { codes, status, message: quote(&message) })
}

/// `retry-after-ms`, else `retry-after` in seconds or as a date (RFC 9110 §10.2.3).
pub(crate) fn retry_after(header: impl Fn(&str) -> Option<String>, now: Timestamp) -> Option<Duration> {
    let seconds = |text: String, unit: f64| {
        let value = text.trim().parse::<f64>().ok()? / unit;
        Duration::try_from_secs_f64(value).ok()
    };
    if let Some(wait) = header("retry-after-ms").and_then(|text| seconds(text, 1000.0)) {
        return Some(wait);
    }
    let text = header("retry-after")?;
    match seconds(text.clone(), 1.0) {
        Some(wait) => Some(wait),
        None => {
            let date = rfc2822::parse(text.trim()).ok()?.timestamp();
            Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
        }
    }
}

pub(crate) fn looks_like_html(body: &str) -> bool {
    body.trim_start().starts_with('<')
}

fn wait(retry_after: Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!(" It names a wait of {} s.", wait.as_secs_f64().ceil()),
        None => " Try again in a moment.".to_owned(),
    }
}

fn said(status: Option<u16>, body: &ProviderError) -> String {
    match (status, body.message.as_str()) {
        (None, "") => String::new(),
        (Some(status), "") => format!(" (status {status})"),
        (None, message) => format!(" It says: {message}"),
        (Some(status), message) => format!(" It says (status {status}): {message}"),
    }
}

fn html_title(body: &str) -> String {
    let lower = body.to_ascii_lowercase();
    let title = lower.find("<title>").map(|at| at + "<title>".len()).and_then(|start| {
        let end = start + lower[start..].find('<')?;
        Some(body[start..end].trim())
    });
    match title {
        Some(title) if !title.is_empty() => format!("a web page, \"{}\"", quote(title)),
        _ => "a web page".to_owned(),
    }
}

/// One line, cut.
pub(crate) fn quote(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Providers repeat the key or a header in their errors; the user's log is no place for it.
fn redact(request: &ModelRequest, mut text: String) -> String {
    let secrets = request.provider.key.iter().chain(request.provider.headers.values());
    for secret in secrets.map(|secret| secret.trim()).filter(|secret| secret.len() >= 8) {
        if text.contains(secret) {
            text = text.replace(secret, "[secret]");
        }
    }
    text
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
