//! One body to one message, and back. Tolerant where peers really err, strict where an answer would be ambiguous.

use std::fmt;

use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::error::RpcError;
use super::framing::{MAX_BODY, Skim};

/// The id of a request of the other side, kept as it was written: it is echoed exactly, `1.0` and numbers beyond 64 bits included.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RequestId {
    Null,
    String(String),
    /// The digits, as they came.
    Number(Box<str>),
}

impl RequestId {
    /// `None`: neither a number, nor a string, nor null.
    fn parse(raw: &str) -> Option<Self> {
        match raw.as_bytes().first()? {
            b'n' => Some(Self::Null),
            b'"' => serde_json::from_str(raw).ok().map(Self::String),
            b'-' | b'0'..=b'9' => Some(Self::Number(raw.into())),
            _ => None,
        }
    }

    pub(super) fn from_value(value: &Value) -> Option<Self> {
        Self::parse(&value.to_string())
    }

    /// The number of a request of ours; some peers write it as a float.
    fn as_own(&self) -> Option<u64> {
        let Self::Number(digits) = self else { return None };
        let digits = digits.strip_suffix(".0").unwrap_or(digits);
        digits.parse().ok()
    }
}

impl From<i64> for RequestId {
    fn from(number: i64) -> Self {
        Self::Number(number.to_string().into())
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::String(text) => serializer.serialize_str(text),
            Self::Number(digits) => {
                RawValue::from_string(digits.to_string()).map_err(serde::ser::Error::custom)?.serialize(serializer)
            }
        }
    }
}

/// As JSON.
impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::String(text) => write!(f, "{}", Value::from(text.as_str())),
            Self::Number(digits) => f.write_str(digits),
        }
    }
}

#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    Request {
        id: RequestId,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    Response {
        /// Of a request of ours; `None`: nothing that we ever sent.
        id: Option<u64>,
        outcome: Result<Value, RpcError>,
    },
    /// To be answered with this error.
    Invalid {
        id: RequestId,
        error: RpcError,
    },
    /// Not to be answered: a notification that cannot be taken.
    Ignored {
        reason: &'static str,
    },
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present_raw")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present_raw")]
    id: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "present")]
    method: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    params: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    error: Option<Value>,
}

pub(super) fn parse(body: &[u8]) -> Incoming {
    let refused = |error| Incoming::Invalid { id: RequestId::Null, error };
    let Ok(text) = std::str::from_utf8(body) else {
        return refused(RpcError::parse_error("the message is not UTF-8"));
    };
    if text.trim_start().starts_with('[') {
        return refused(RpcError::invalid_request("batches are not supported: send each message alone"));
    }
    match serde_json::from_str::<Envelope<'_>>(text) {
        Ok(envelope) => envelope.into_message(),
        Err(error) if error.is_data() => refused(RpcError::invalid_request("the message is not a JSON-RPC object")),
        Err(error) => match replace_lone_surrogates(text) {
            Some(text) => parse(text.as_bytes()),
            None => refused(RpcError::parse_error(format!("the message is not JSON: {error}"))),
        },
    }
}

impl Envelope<'_> {
    fn into_message(self) -> Incoming {
        let id = match self.id.map(|raw| RequestId::parse(raw.get())) {
            Some(None) => return invalid(RequestId::Null, "`id` must be a number, a string or null"),
            Some(Some(id)) => Some(id),
            None => None,
        };
        if self.jsonrpc.is_some_and(|version| version.get() != r#""2.0""#) {
            return invalid(id.unwrap_or(RequestId::Null), "`jsonrpc` must be \"2.0\"");
        }
        let Some(method) = self.method else {
            return response(id, self.result, self.error);
        };
        let Value::String(method) = method else {
            return invalid(id.unwrap_or(RequestId::Null), "`method` must be a string");
        };
        let params = self.params.unwrap_or(Value::Null);
        let structured = matches!(params, Value::Null | Value::Object(_) | Value::Array(_));
        match id {
            Some(id) if structured => Incoming::Request { id, method, params },
            Some(id) => invalid(id, "`params` must be an object or an array"),
            None if structured => Incoming::Notification { method, params },
            None => Incoming::Ignored { reason: "its `params` are neither an object nor an array" },
        }
    }
}

fn response(id: Option<RequestId>, result: Option<Value>, error: Option<Value>) -> Incoming {
    // Some peers send both, with a null in place of the one that is meant to be absent.
    let outcome = match (result, error) {
        (None, None) => return invalid(id.unwrap_or(RequestId::Null), "there is no `method`"),
        (Some(result), None | Some(Value::Null)) => Ok(result),
        (None, Some(Value::Null)) => Ok(Value::Null),
        (_, Some(error)) => Err(serde_json::from_value(error.clone()).unwrap_or_else(|_| RpcError {
            code: RpcError::INTERNAL_ERROR,
            message: "the answer is an error without a code and a message".to_owned(),
            data: Some(error),
        })),
    };
    Incoming::Response { id: id.and_then(|id| id.as_own()), outcome }
}

/// Of a message that was skipped for its length: whoever waits for an answer gets one, on either side.
pub(super) fn too_large(skim: &Skim) -> Incoming {
    let text = |raw: &Option<Vec<u8>>| raw.as_deref().and_then(|raw| std::str::from_utf8(raw).ok().map(str::to_owned));
    let id = text(&skim.id).and_then(|raw| RequestId::parse(&raw));
    let error = RpcError::invalid_request(format!("the message is longer than {MAX_BODY} bytes and was skipped"));
    match id {
        Some(id) if skim.answers && skim.method.is_none() => {
            Incoming::Response { id: id.as_own(), outcome: Err(error) }
        }
        Some(id) => Incoming::Invalid { id, error },
        None => Incoming::Invalid { id: RequestId::Null, error },
    }
}

fn invalid(id: RequestId, message: &str) -> Incoming {
    Incoming::Invalid { id, error: RpcError::invalid_request(message) }
}

/// Editors whose strings are UTF-16 may send half of a surrogate pair, which no Rust string can hold. Losing the whole message would lose an edit, so each half
/// becomes U+FFFD, one UTF-16 unit like itself: positions stay right. `None`: there was none.
fn replace_lone_surrogates(text: &str) -> Option<String> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut repaired = String::with_capacity(text.len());
    let (mut at, mut copied, mut found) = (0, 0, false);
    while let Some(escape) = text[at..].find('\\') {
        at += escape;
        let Some(value) = unit(at) else {
            // Another escape: its second character may be a backslash.
            at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8);
            continue;
        };
        match value {
            0xD800..0xDC00 if unit(at + 6).is_some_and(|low| (0xDC00..0xE000).contains(&low)) => at += 12,
            0xD800..0xE000 => {
                repaired.push_str(&text[copied..at]);
                repaired.push_str("\\ufffd");
                at += 6;
                copied = at;
                found = true;
            }
            _ => at += 6,
        }
    }
    repaired.push_str(&text[copied..]);
    found.then_some(repaired)
}

#[derive(Serialize)]
struct OutgoingCall<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    #[serde(skip_serializing_if = "Value::is_null")]
    params: Value,
}

/// A request with an id, a notification without.
pub(super) fn call(id: Option<u64>, method: &str, params: Value) -> Vec<u8> {
    to_json(&OutgoingCall { jsonrpc: "2.0", id, method, params })
}

#[derive(Serialize)]
struct OutgoingResult<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    result: Value,
}

#[derive(Serialize)]
struct OutgoingError<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    error: RpcError,
}

/// The result is there even where it is null: without it some clients end the connection.
pub(super) fn answer(id: &RequestId, outcome: Result<Value, RpcError>) -> Vec<u8> {
    match outcome {
        Ok(result) => to_json(&OutgoingResult { jsonrpc: "2.0", id, result }),
        Err(error) => to_json(&OutgoingError { jsonrpc: "2.0", id, error }),
    }
}

fn to_json(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_else(|error| {
        tracing::error!(%error, "a message cannot be written");
        Vec::new()
    })
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn present_raw<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
