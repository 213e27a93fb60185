//! Which addresses lie in the user's own network rather than in the public one, and which of them the user lets be fetched from all the same (R19.2).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::WebAddress;

/// IANA's registry of special IPv4 addresses, with multicast, what is reserved, and a cloud's own: start, and length of the prefix in bits.
const SPECIAL_V4: [([u8; 4], u8); 17] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    // Carriers' networks (RFC 6598).
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    // Of Azure's hosts, which answer there with the keys of their machines: public by its number alone.
    ([168, 63, 129, 16], 32),
    // Link-local; clouds answer there with keys.
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 31, 196, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// What within the public space of IPv6 (2000::/3) is none: the IETF's own with Teredo, documentation, and 6to4, which embeds an IPv4 address.
const SPECIAL_V6: [(u128, u8); 4] =
    [(0x2001 << 112, 23), (0x2001_0db8 << 96, 32), (0x2002 << 112, 16), (0x3fff << 112, 20)];

/// Whether it can be reached by everybody. IPv4 addresses within IPv6 ones (mapped, NAT64, 6to4) are never public: they have a spelling of their own.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = u32::from(address);
    let is_in = |(start, length): &([u8; 4], u8)| (bits ^ u32::from_be_bytes(*start)) >> (32 - length) == 0;
    !SPECIAL_V4.iter().any(is_in)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let bits = u128::from(address);
    let is_in = |(start, length): &(u128, u8)| (bits ^ start) >> (128 - length) == 0;
    bits >> 125 == 0b001 && !SPECIAL_V6.iter().any(is_in)
}

/// A host as the user lists it: `wiki.corp`, `*.corp` (all below it), `localhost:3000` (that port alone), `10.0.0.7`, `[::1]:8080`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    /// In the spelling of addresses.
    host: String,
    below: bool,
    port: Option<u16>,
}

impl HostPattern {
    /// `None` where it is not of such a form.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (below, text) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if text.is_empty() || text.contains(['/', '*', '?', '#', '@', '\\']) {
            return None;
        }
        let address = WebAddress::parse(&format!("http://{text}/")).ok()?;
        if below && address.ip().is_some() {
            return None;
        }
        let port = text.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        Some(Self { host: address.host().to_owned(), below, port })
    }

    pub fn matches(&self, address: &WebAddress) -> bool {
        let is_host = if self.below {
            address.host().strip_suffix(&self.host).is_some_and(|rest| rest.ends_with('.'))
        } else {
            address.host() == self.host
        };
        is_host && self.port.is_none_or(|port| port == address.port())
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, below, port } = self;
        write!(f, "{}{host}", if *below { "*." } else { "" })?;
        port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests {
    use super::*;

    #[test]
    fn r19_2_what_lies_inside_is_not_public() {
        let inside = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.8.8.8",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::808:808",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ];
        for address in inside {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        let outside = [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "126.255.255.255",
            "168.63.129.15",
            "168.63.129.17",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "192.167.0.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2001:4860:4860::8888",
            "2606:4700::1111",
            "2a00:1450::1",
            "2001:200::1",
        ];
        for address in outside {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn hosts_are_listed_with_and_without_ports() {
        let check = |pattern: &str, address: &str, expected: bool| {
            let pattern = HostPattern::parse(pattern).unwrap();
            assert_eq!(pattern.matches(&WebAddress::parse(address).unwrap()), expected, "{pattern} {address}");
        };
        check("localhost", "http://localhost:3000/x", true);
        check("Localhost:3000", "http://localhost:3000/x", true);
        check("localhost:3000", "http://localhost/x", false);
        check("localhost:80", "http://localhost/x", true);
        check("localhost", "http://notlocalhost/", false);
        check("*.corp", "https://wiki.corp/", true);
        check("*.corp", "https://a.wiki.corp/", true);
        check("*.corp", "https://corp/", false);
        check("*.corp", "https://evilcorp/", false);
        check("127.0.0.1", "http://0x7f.1/", true);
        check("[::1]:8080", "http://[0:0::1]:8080/", true);
        for text in ["", "*", "*.", "http://x/", "a/b", "*.127.0.0.1", "u@x"] {
            assert_eq!(HostPattern::parse(text), None, "{text}");
        }
    }
}
