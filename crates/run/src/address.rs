//! Hosts and ports as users and URLs write them. An IPv6 address may have a zone, the interface on
//! which a link-local one is: `fe80::1%eth0` (RFC 4007), in URLs `fe80::1%25eth0` (RFC 6874).

use std::borrow::Cow;
use std::net::{Ipv6Addr, SocketAddr};

/// Whether a text is an IPv6 address, with a zone or without one.
pub fn is_ipv6(text: &str) -> bool {
    let (address, zone) = text.split_once('%').map_or((text, None), |(at, zone)| (at, Some(zone)));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._~-".contains(c);
    address.parse::<Ipv6Addr>().is_ok()
        && zone.is_none_or(|zone| !zone.is_empty() && zone.chars().all(is_plain))
}

/// Takes `[ADDRESS]` or `[ADDRESS]:PORT` apart; `None` if a text is neither.
pub fn in_brackets(text: &str) -> Option<(&str, Option<&str>)> {
    let (host, after) = text.strip_prefix('[')?.split_once(']')?;
    let port = match after.strip_prefix(':') {
        None if !after.is_empty() => return None,
        port => port,
    };
    is_ipv6(host).then_some((host, port))
}

/// The authority of a URL with the `%` of a zone in place of `%25`.
pub fn with_plain_zone(authority: &str) -> Cow<'_, str> {
    match authority.split_once("%25") {
        Some((address, zone)) if authority.starts_with('[') && !zone.starts_with(']') => {
            format!("{address}%{zone}").into()
        }
        _ => authority.into(),
    }
}

/// A host without the zone of its address. The zone means something on one machine only.
pub fn without_zone(host: &str) -> &str {
    if is_ipv6(host) { host.split('%').next().unwrap_or(host) } else { host }
}

/// Whether an address has a zone, and so means something on one machine only.
pub fn has_zone(address: SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(six) if six.scope_id() != 0)
}

/// The text of an address without its port, with its zone as a number: `fe80::1%2`.
pub fn ip_text(address: SocketAddr) -> String {
    match address {
        SocketAddr::V6(six) if six.scope_id() != 0 => format!("{}%{}", six.ip(), six.scope_id()),
        _ => address.ip().to_string(),
    }
}

/// The same address as of IPv4, if it is one that an IPv6 socket shows as IPv6.
pub fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        four if four.is_ipv4() => SocketAddr::new(four, address.port()),
        _ => address,
    }
}

/// The same address with another port.
pub fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddrV6;

    use super::*;

    #[test]
    fn an_address_of_ipv6_may_have_a_zone() {
        for text in ["::1", "fe80::1%eth0", "fe80::1%2", "fe80::1%br-0a1b.7", "fe80::1%25"] {
            assert!(is_ipv6(text), "{text}");
            assert_eq!(in_brackets(&format!("[{text}]")), Some((text, None)));
            assert_eq!(in_brackets(&format!("[{text}]:80")), Some((text, Some("80"))));
        }
        for text in ["", "%eth0", "fe80::1%", "fe80::1%a b", "fe80::1%a%b", "192.0.2.1%lo", "host"]
        {
            assert!(!is_ipv6(text), "{text}");
        }
        for text in ["[::1", "::1", "[::1]x", "[host]:1", "[]", "["] {
            assert_eq!(in_brackets(text), None, "{text}");
        }
    }

    #[test]
    fn a_url_may_write_the_percent_sign_of_a_zone_as_an_escape() {
        assert_eq!(with_plain_zone("[fe80::1%25lo]:80"), "[fe80::1%lo]:80");
        for same in ["[fe80::1%lo]:80", "[fe80::1%25]", "[::1]", "ho%25st"] {
            assert_eq!(with_plain_zone(same), same);
        }
        for (host, without) in [("fe80::1%lo", "fe80::1"), ("::1", "::1"), ("ho%25st", "ho%25st")] {
            assert_eq!(without_zone(host), without);
        }
    }

    #[test]
    fn the_zone_of_an_address_is_kept() {
        let zoned = SocketAddr::V6(SocketAddrV6::new("fe80::1".parse().unwrap(), 80, 0, 3));
        assert_eq!(ip_text(zoned), "fe80::1%3");
        assert_eq!(canonical(zoned), zoned);
        assert_eq!(with_port(zoned, 81).to_string(), "[fe80::1%3]:81");
        assert_eq!(canonical("[::ffff:192.0.2.1]:9".parse().unwrap()).to_string(), "192.0.2.1:9");
        assert_eq!(ip_text("192.0.2.1:9".parse().unwrap()), "192.0.2.1");
    }
}
