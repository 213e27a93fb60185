//! Addresses of the web in the spelling of the URL standard: what rules are held against is what is connected to.

use std::fmt;
use std::net::IpAddr;

use percent_encoding::percent_decode_str;
use url::{Host, Url};

/// `http` or `https`, with a host, without a user's name or password, without the dot that may end a host, and without a fragment, which no server sees.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct WebAddress(Url);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("an address begins with http:// or https://")]
    Scheme,
    #[error("an address with a user's name or password in it is not fetched")]
    Credentials,
    #[error("this is no valid address: {0}")]
    Malformed(String),
}

impl WebAddress {
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        let begins = |scheme: &str| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
        if !begins("http://") && !begins("https://") {
            return Err(AddressError::Scheme);
        }
        Self::of(Url::parse(text).map_err(|error| AddressError::Malformed(error.to_string()))?)
    }

    /// What a `Location` of this address means.
    pub fn join(&self, location: &str) -> Result<Self, AddressError> {
        Self::of(self.0.join(location.trim()).map_err(|error| AddressError::Malformed(error.to_string()))?)
    }

    fn of(mut url: Url) -> Result<Self, AddressError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(AddressError::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressError::Credentials);
        }
        url.set_fragment(None);
        if let Some(host) = url.host_str().and_then(|host| host.strip_suffix('.')).map(str::to_owned) {
            url.set_host(Some(&host)).map_err(|error| AddressError::Malformed(error.to_string()))?;
        }
        Ok(Self(url))
    }

    pub fn url(&self) -> &Url {
        &self.0
    }

    /// Scheme, host and port, without a slash behind: `https://docs.rs`.
    pub fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// As it is connected to: in lower case and in the ASCII form of foreign letters; a number in its usual spelling, in brackets where it has colons.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Where the host is a number and no name.
    pub fn ip(&self) -> Option<IpAddr> {
        match self.0.host()? {
            Host::Ipv4(ip) => Some(ip.into()),
            Host::Ipv6(ip) => Some(ip.into()),
            Host::Domain(_) => None,
        }
    }

    /// With the scheme's own where none is written.
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// What a server may take it for, for rules that deny or ask: `/%70rivate`, `/x/..%2fprivate` and `//private` are `/private`.
    pub fn other_spellings(&self) -> Vec<String> {
        let decoded = percent_decode_str(self.0.as_str()).decode_utf8_lossy().into_owned();
        let resolved = Self::parse(&decoded).map(|address| address.to_string());
        let mut spellings = vec![decoded];
        spellings.extend(resolved);
        let merged: Vec<String> = spellings.iter().chain([&self.to_string()]).map(|text| self.merged(text)).collect();
        spellings.extend(merged);
        spellings.sort();
        spellings.dedup();
        spellings.retain(|spelling| spelling != self.0.as_str());
        spellings
    }

    /// With one slash for several in a row, up to the query.
    fn merged(&self, text: &str) -> String {
        let origin = self.origin();
        let Some(rest) = text.strip_prefix(&origin) else { return text.to_owned() };
        let (path, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
        let mut merged = origin;
        for c in path.chars() {
            if !(c == '/' && merged.ends_with('/')) {
                merged.push(c);
            }
        }
        merged + query
    }

    /// With further parts of a query.
    pub fn with_query(&self, pairs: &[(&str, &str)]) -> Self {
        let mut url = self.0.clone();
        url.query_pairs_mut().extend_pairs(pairs);
        Self(url)
    }

    /// One step further down: `https://x/y` and `https://x/y/` with `z` are `https://x/y/z`.
    pub fn below(&self, names: &[&str]) -> Self {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(names);
        }
        Self(url)
    }
}

impl fmt::Display for WebAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// Without the query: keys of services stand there.
impl fmt::Debug for WebAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.0.path())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests {
    use super::*;

    #[test]
    fn one_place_has_one_spelling() {
        let check = |text: &str, expected: &str| assert_eq!(WebAddress::parse(text).unwrap().to_string(), expected);
        check(" HTTPS://Docs.RS:443/a/../b?q#part ", "https://docs.rs/b?q");
        check("http://example.com", "http://example.com/");
        check("http://0x7f.1/", "http://127.0.0.1/");
        check("http://2130706433/", "http://127.0.0.1/");
        check("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/");
        check("https://b\u{fc}cher.example/", "https://xn--bcher-kva.example/");
        // Full-width letters are those that they stand for.
        check("http://\u{ff4c}ocalhost/", "http://localhost/");
    }

    #[test]
    fn r19_2_only_http_and_no_passwords() {
        let check = |text: &str, expected: &AddressError| assert_eq!(&WebAddress::parse(text).unwrap_err(), expected);
        for text in ["file:///etc/hostname", "ftp://x/", "docs.rs", "javascript:alert(1)", "data:text/plain,x", ""] {
            check(text, &AddressError::Scheme);
        }
        check("https://docs.rs@evil.example/", &AddressError::Credentials);
        check("https://u:p@evil.example/", &AddressError::Credentials);
        // No address with eight parts: the standard wants brackets (C66).
        assert!(matches!(WebAddress::parse("http://0:0:0:0:0:0:0:1/"), Err(AddressError::Malformed(_))));
        let base = WebAddress::parse("https://x.example/a/b").unwrap();
        assert_eq!(base.join("../c").unwrap().to_string(), "https://x.example/c");
        assert_eq!(base.join("//y.example/").unwrap().to_string(), "https://y.example/");
        assert_eq!(base.join("file:///etc/hostname").unwrap_err(), AddressError::Scheme);
    }
}
