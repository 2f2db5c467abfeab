//! Netlink attributes: those that zc sends, and what it reads of those of the kernel.

use std::net::IpAddr;

use netlink_packet_core::{DecodeError, DefaultNla, Emitable, NLA_F_NESTED, NlasIterator};

/// Attributes in their encoded form.
pub(crate) fn bytes(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}

/// An attribute that holds attributes.
pub(crate) fn nested(kind: u16, children: &[DefaultNla]) -> DefaultNla {
    DefaultNla::new(kind | NLA_F_NESTED, bytes(children))
}

/// A string attribute, NUL-terminated.
pub(crate) fn text(kind: u16, value: &str) -> DefaultNla {
    DefaultNla::new(kind, [value.as_bytes(), &[0]].concat())
}

/// An attribute of four bytes, in the order of this machine.
pub(crate) fn word(kind: u16, value: u32) -> DefaultNla {
    DefaultNla::new(kind, value.to_ne_bytes().to_vec())
}

/// An IPv4 address of 4 bytes or an IPv6 address of 16.
pub(crate) fn address(kind: u16, value: IpAddr) -> DefaultNla {
    let octets = match value {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    DefaultNla::new(kind, octets)
}

/// AF_INET or AF_INET6.
pub(crate) fn family(address: IpAddr) -> u8 {
    if address.is_ipv6() { libc::AF_INET6 as u8 } else { libc::AF_INET as u8 }
}

/// The length of an address in bits, which is the prefix of a single host.
pub(crate) fn host_prefix_bits(address: IpAddr) -> u8 {
    if address.is_ipv6() { 128 } else { 32 }
}

/// Value of the first attribute of `kind`.
pub(crate) fn child(attributes: &[u8], kind: u16) -> Result<Option<Vec<u8>>, DecodeError> {
    for attribute in NlasIterator::new(attributes) {
        let attribute = attribute?;
        if attribute.kind() == kind {
            return Ok(Some(attribute.value().to_vec()));
        }
    }
    Ok(None)
}

/// The number in the first attribute of `kind`, of one or of four bytes. `None` too if it has
/// another length.
pub(crate) fn number(attributes: &[u8], kind: u16) -> Result<Option<u32>, DecodeError> {
    Ok(child(attributes, kind)?.and_then(|value| match *value {
        [byte] => Some(u32::from(byte)),
        [a, b, c, d] => Some(u32::from_ne_bytes([a, b, c, d])),
        _ => None,
    }))
}

/// A string without its NUL.
pub(crate) fn string(value: &[u8]) -> String {
    String::from_utf8_lossy(value).trim_end_matches('\0').to_owned()
}

/// An IP address of 4 or 16 bytes.
pub(crate) fn ip(value: &[u8]) -> Option<IpAddr> {
    if let Ok(octets) = <[u8; 4]>::try_from(value) {
        return Some(octets.into());
    }
    <[u8; 16]>::try_from(value).ok().map(IpAddr::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_byte_or_four() {
        let attributes =
            bytes(&[DefaultNla::new(1, vec![1]), word(2, 4096), DefaultNla::new(3, vec![1, 2])]);
        let found = [1, 2, 3, 4].map(|kind| number(&attributes, kind).unwrap());
        assert_eq!(found, [Some(1), Some(4096), None, None]);
    }

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for written in ["192.0.2.1", "2001:db8::1"] {
            let written: IpAddr = written.parse().unwrap();
            let value = child(&bytes(&[address(1, written)]), 1).unwrap().unwrap();
            assert_eq!(ip(&value), Some(written));
        }
        assert_eq!(ip(&[1, 2, 3]), None);
    }
}
