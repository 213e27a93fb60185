//! `file:` URIs to paths and back (R18.2). Other schemes are named, never guessed at.

use crate::path::AbsPath;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    #[error("the URI scheme of {0} is not `file`")]
    NotAFile(String),
    #[error("{0} is not a valid file URI")]
    Invalid(String),
}

/// The path of a `file:` URI: percent-escapes decoded, drive letters upper-case.
pub fn path_from_uri(uri: &str) -> Result<AbsPath, UriError> {
    let _ = uri;
    todo!()
}

/// The URI of a path, escaped as RFC 3986 asks.
pub fn uri_from_path(path: &AbsPath) -> String {
    let _ = path;
    todo!()
}
