//! Patterns of rules for addresses: brought into the spelling of addresses, so that they meet what they mean, and held against hosts. Judges nothing.

use url::Host;

use super::WebAddress;
use crate::permission::wildcard_match;

/// A pattern cut where the host of an address ends.
struct Parts<'a> {
    /// Up to the host: `https://`, `*://`, or nothing.
    scheme: &'a str,
    /// With the port.
    host: &'a str,
    /// From the slash on; nothing where the pattern says nothing of a path.
    rest: &'a str,
}

/// As the address that it means would be written: `https://Bücher.example:443/*` is `https://xn--bcher-kva.example/*`.
pub(crate) fn spelled(pattern: &str) -> String {
    let Parts { scheme, host, rest } = parts(pattern);
    let is_host = !host.is_empty() && (!scheme.is_empty() || !rest.is_empty());
    if !is_host {
        return pattern.to_owned();
    }
    let scheme = scheme.to_ascii_lowercase();
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => (name, Some(port)),
        _ => (host, None),
    };
    let usual = match scheme.as_str() {
        "http://" => Some("80"),
        "https://" => Some("443"),
        _ => None,
    };
    let port = port.filter(|port| Some(*port) != usual).map(|port| format!(":{port}")).unwrap_or_default();
    format!("{scheme}{}{port}{rest}", spelled_host(name))
}

/// Whether the host of an address is one that the pattern speaks of. Wildcards cross slashes, and behind the host of an address anybody can write anything.
pub(crate) fn is_of_host(pattern: &str, address: &WebAddress) -> bool {
    let Parts { scheme, host, rest } = parts(pattern);
    rest.is_empty() || wildcard_match(&address.origin(), &format!("{scheme}{host}"))
}

fn parts(pattern: &str) -> Parts<'_> {
    let first = pattern.find('/').unwrap_or(pattern.len());
    let start = if pattern[first..].starts_with("//") { first + 2 } else { 0 };
    let end = pattern[start..].find('/').map_or(pattern.len(), |end| start + end);
    Parts { scheme: &pattern[..start], host: &pattern[start..end], rest: &pattern[end..] }
}

fn spelled_host(host: &str) -> String {
    let host = host.strip_suffix('.').unwrap_or(host);
    if !host.contains(['*', '?']) {
        return Host::parse(host).map_or_else(|_| host.to_lowercase(), |host| host.to_string());
    }
    // A label with a wildcard has no other spelling.
    let label = |label: &str| match Host::parse(label) {
        Ok(Host::Domain(label)) if !label.is_ascii() || !label.contains(['*', '?']) => label,
        _ => label.to_lowercase(),
    };
    host.split('.').map(label).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_spelled_as_addresses_are() {
        let check = |pattern: &str, expected: &str| assert_eq!(spelled(pattern), expected, "{pattern}");
        check("*", "*");
        check("", "");
        check("https://*", "https://*");
        check("HTTPS://X.Example./A", "https://x.example/A");
        check("https://x.example:443/*", "https://x.example/*");
        check("http://x.example:443/*", "http://x.example:443/*");
        check("*://X.example:443/*", "*://x.example:443/*");
        check("https://*.B\u{fc}cher.example/*", "https://*.xn--bcher-kva.example/*");
        check("http://0x7f.1:80/*", "http://127.0.0.1/*");
        check("http://[0::1]:8080/*", "http://[::1]:8080/*");
        check("*/Docs/*", "*/Docs/*");
        check("X.example/*", "x.example/*");
        check("https://a?c.Example", "https://a?c.example");
    }

    #[test]
    fn r19_2_the_host_of_a_pattern_ends_at_its_slash() {
        let check = |pattern: &str, address: &str, expected: bool| {
            assert_eq!(is_of_host(pattern, &WebAddress::parse(address).unwrap()), expected, "{pattern} {address}");
        };
        check("*", "https://x.example/", true);
        check("https://x.example/*", "https://x.example/a", true);
        check("https://x.example:8443/*", "https://x.example:8443/a", true);
        check("https://*.example/*", "https://evil.test/x.example/", false);
        check("https://x?example/*", "https://x/example/", false);
        check("*/a/*", "https://evil.test/a/", true);
    }
}
