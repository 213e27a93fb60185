//! `file:` URIs to paths and back (R18.2). Other schemes are named, never guessed at; links are not resolved here.

use std::path::PathBuf;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use crate::path::AbsPath;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    #[error("the URI scheme of {0} is not `file`")]
    NotAFile(String),
    #[error("{0} is not a valid file URI")]
    Invalid(String),
}

/// The path of a `file:` URI: percent-escapes decoded, drive letters upper-case, query and fragment left out.
///
/// Where paths have no drives, a URI of one (`file:///c:/x`) is the path `/C:/x`, so that it still has one spelling and goes back as it came; a URI of
/// another host is refused there.
pub fn path_from_uri(uri: &str) -> Result<AbsPath, UriError> {
    let invalid = || UriError::Invalid(uri.to_owned());
    let rest = match uri.split_once(':') {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => rest,
        Some((scheme, _)) if !scheme.is_empty() && !scheme.contains(['/', '\\']) => {
            return Err(UriError::NotAFile(uri.to_owned()));
        }
        _ => return Err(invalid()),
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').ok_or_else(invalid)?),
        None => ("", rest),
    };
    if !path.starts_with('/') {
        return Err(invalid());
    }
    let host = if host.eq_ignore_ascii_case("localhost") { "" } else { host };
    let bytes = with_upper_drive(decode(path).ok_or_else(invalid)?);
    if bytes.contains(&0) {
        return Err(invalid());
    }
    let path = if cfg!(windows) {
        PathBuf::from(windows_path(host, &String::from_utf8(bytes).map_err(|_| invalid())?))
    } else if host.is_empty() {
        path_from_bytes(bytes).ok_or_else(invalid)?
    } else {
        return Err(invalid());
    };
    AbsPath::new(path).ok_or_else(invalid)
}

/// The URI of a path, escaped as RFC 3986 asks.
pub fn uri_from_path(path: &AbsPath) -> String {
    let bytes = path.as_path().as_os_str().as_encoded_bytes();
    let (host, bytes) = if cfg!(windows) {
        windows_uri_parts(&String::from_utf8_lossy(bytes))
    } else {
        (String::new(), with_upper_drive(bytes.to_vec()))
    };
    format!("file://{host}{}", percent_encode(&bytes, ESCAPED))
}

/// Everything but the characters that a path segment of RFC 3986 may hold (`pchar`), and the slash.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@')
    .remove(b'/');

/// `None` where a `%` is not followed by two hexadecimal digits.
fn decode(text: &str) -> Option<Vec<u8>> {
    let whole = text.split('%').skip(1).all(|rest| {
        let digits = rest.as_bytes();
        digits.len() >= 2 && digits[..2].iter().all(u8::is_ascii_hexdigit)
    });
    whole.then(|| percent_decode_str(text).collect())
}

/// `/c:` and `/c:/x` with a capital letter: both cases name one drive.
fn with_upper_drive(mut path: Vec<u8>) -> Vec<u8> {
    if let [b'/', letter, b':', rest @ ..] = path.as_mut_slice()
        && letter.is_ascii_alphabetic()
        && rest.first().is_none_or(|next| *next == b'/')
    {
        letter.make_ascii_uppercase();
    }
    path
}

/// `/C:/x` is `C:\x`; with a host it is the share `\\host\x`.
fn windows_path(host: &str, path: &str) -> String {
    let back = path.replace('/', "\\");
    if !host.is_empty() {
        return format!("\\\\{host}{back}");
    }
    match path.as_bytes() {
        [b'/', letter, b':'] if letter.is_ascii_alphabetic() => format!("{}\\", &back[1..]),
        [b'/', letter, b':', b'/', ..] if letter.is_ascii_alphabetic() => back[1..].to_owned(),
        _ => back,
    }
}

/// The inverse of `windows_path`: host and path.
fn windows_uri_parts(path: &str) -> (String, Vec<u8>) {
    let path = path.strip_prefix("\\\\?\\").unwrap_or(path).replace('\\', "/");
    match path.strip_prefix("//") {
        Some(share) => {
            let (host, rest) = share.split_at(share.find('/').unwrap_or(share.len()));
            (host.to_owned(), rest.as_bytes().to_vec())
        }
        None => (String::new(), with_upper_drive(format!("/{}", path.trim_start_matches('/')).into_bytes())),
    }
}

#[cfg(unix)]
fn path_from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

#[cfg(not(unix))]
fn path_from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
#[path = "uri_tests.rs"]
mod tests;
