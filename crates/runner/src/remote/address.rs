//! Which addresses a request may lead to.
//!
//! A link is given by whoever wrote it, and a host may redirect. Neither may reach into this
//! machine or its network, unless the user named that host as a forge.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Resolves names, and leaves out the addresses that are not on the public internet. The names of
/// `trusted` may be anywhere.
#[derive(Clone, Debug)]
pub(super) struct PublicOnly {
    pub(super) trusted: Option<String>,
}

/// A name leads nowhere that may be reached.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` leads only to addresses inside this machine or network")]
struct OnlyPrivate(String);

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let trusted = self.trusted.clone();
        Box::pin(async move {
            let name = name.as_str().to_owned();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let free = trusted.as_deref() == Some(name.as_str());
            let allowed: Vec<SocketAddr> = found.iter().copied().filter(|address| free || is_public(address.ip())).collect();
            if allowed.is_empty() && !found.is_empty() {
                return Err(OnlyPrivate(name).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// The host of a URL when it is an address by itself, which no resolver sees.
pub(super) fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Whether an address is on the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded_v4(address) {
            Some(inner) => is_public_v4(inner),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let special = a == 0 || a >= 240 || (a == 192 && b == 0 && c == 0) || (a == 198 && (18..20).contains(&b));
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || shared
        || special)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // Only 2000::/3 is given out; of it, 2001:db8::/32 is for documents.
    let [first, second, ..] = address.segments();
    (first & 0xe000) == 0x2000 && !(first == 0x2001 && second == 0x0db8)
}

/// The IPv4 address inside a mapped, translated (64:ff9b::/96) or 6to4 (2002::/16) one.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    if a == 0x2002 {
        return Some(v4(b, c));
    }
    let translated = [a, b, c, d, e, f] == [0x64, 0xff9b, 0, 0, 0, 0];
    address.to_ipv4_mapped().or_else(|| translated.then(|| v4(g, h)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_is_told_from_outside() {
        for inside in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "192.0.2.1",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "2001:db8::1",
        ] {
            assert!(!is_public(inside.parse().unwrap()), "{inside}");
        }
        for outside in ["1.1.1.1", "140.82.112.3", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"] {
            assert!(is_public(outside.parse().unwrap()), "{outside}");
        }
    }

    #[tokio::test]
    async fn a_name_inside_is_resolved_only_when_it_was_named() {
        let localhost = || "localhost".parse::<Name>().unwrap();
        let error = PublicOnly { trusted: None }.resolve(localhost()).await.err().unwrap();
        assert!(error.to_string().contains("inside this machine"), "{error}");
        assert!(PublicOnly { trusted: Some("localhost".into()) }.resolve(localhost()).await.unwrap().count() > 0);
    }
}
