//! Netlink attributes that no crate encodes or decodes.

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

/// A string without its NUL.
pub(crate) fn string(value: &[u8]) -> String {
    String::from_utf8_lossy(value).trim_end_matches('\0').to_owned()
}
