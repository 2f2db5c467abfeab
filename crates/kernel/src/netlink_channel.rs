//! Requests over a netlink socket: one blocking socket, one request with its answer at a time. The
//! content of a message after its header is decoded by the module of its family: `netlink`,
//! `ethtool`, `nftables`, `inet_diag`.
//!
//! netlink-packet-core encodes headers and attributes; it is not visible outside this crate.
//!
//! # References
//! netlink(7)

use std::convert::Infallible;
use std::io;
use std::sync::{Mutex, PoisonError};

use netlink_packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage,
    NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::{Socket, SocketAddr};

use crate::attributes::bytes;

/// A message: its type, and what follows the netlink header, which is the header of its family and
/// then attributes.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) kind: u16,
    pub(crate) payload: Vec<u8>,
}

impl Message {
    pub(crate) fn new(kind: u16, header: &[u8], attributes: &[DefaultNla]) -> Self {
        Self { kind, payload: [header, &bytes(attributes)].concat() }
    }

    /// The header of the family, of so many bytes, and the attributes that follow it.
    pub(crate) fn split<const HEADER_BYTES: usize>(
        &self,
    ) -> io::Result<(&[u8; HEADER_BYTES], &[u8])> {
        self.payload.split_first_chunk().ok_or_else(|| undecodable("a message without its header"))
    }
}

impl NetlinkSerializable for Message {
    fn message_type(&self) -> u16 {
        self.kind
    }

    fn buffer_len(&self) -> usize {
        self.payload.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer[..self.payload.len()].copy_from_slice(&self.payload);
    }
}

impl NetlinkDeserializable for Message {
    type Error = Infallible;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, Infallible> {
        Ok(Self { kind: header.message_type, payload: payload.to_vec() })
    }
}

/// A netlink socket of one protocol, and the sequence number of the last request.
#[derive(Debug)]
pub(crate) struct Channel {
    inner: Mutex<(Socket, u32)>,
}

impl Channel {
    pub(crate) fn open(protocol: isize) -> io::Result<Self> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        // Errors then come without a copy of the request.
        socket.set_cap_ack(true)?;
        Ok(Self { inner: Mutex::new((socket, 0)) })
    }

    /// Sends one request and returns the messages that answer it, up to its acknowledgement.
    pub(crate) fn request(&self, request: Message, flags: u16) -> io::Result<Vec<Message>> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.1 = inner.1.wrapping_add(1);
        let sequence = inner.1;
        let socket = &inner.0;

        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        header.sequence_number = sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(request));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        socket.send(&bytes, 0)?;

        let mut answers = Vec::new();
        // The description of a link takes about 2 KiB. The kernel answers in buffers of at most 32
        // KiB.
        let mut buffer = vec![0_u8; 32 * 1024];
        loop {
            let length = socket.recv(&mut &mut buffer[..], 0)?.min(buffer.len());
            if take(&buffer[..length], sequence, &mut answers)? {
                return Ok(answers);
            }
        }
    }
}

/// Takes the messages of one datagram that answer the request `sequence`. Returns whether the
/// answer is complete: what follows its end is ignored.
pub(crate) fn take(
    mut datagram: &[u8],
    sequence: u32,
    answers: &mut Vec<Message>,
) -> io::Result<bool> {
    while !datagram.is_empty() {
        let answer = NetlinkMessage::<Message>::deserialize(datagram).map_err(undecodable)?;
        // Messages are aligned to 4 bytes (NLMSG_ALIGNTO).
        let taken = (answer.header.length as usize).next_multiple_of(4).min(datagram.len());
        datagram = &datagram[taken..];
        if answer.header.sequence_number != sequence {
            continue;
        }
        match answer.payload {
            NetlinkPayload::InnerMessage(inner) => answers.push(inner),
            NetlinkPayload::Error(error) if error.code.is_some() => {
                return Err(io::Error::from_raw_os_error(error.raw_code().saturating_neg()));
            }
            // An error of 0 is the acknowledgement.
            NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(true),
            _ => {}
        }
    }
    Ok(false)
}

/// Four bytes of a header as a number.
pub(crate) fn word_at<const HEADER_BYTES: usize>(header: &[u8; HEADER_BYTES], place: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&header[place..place + 4]);
    u32::from_ne_bytes(word)
}

/// The error for a message of the kernel that could not be decoded.
pub(crate) fn undecodable(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("netlink answer not understood: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes::text;

    #[test]
    fn a_message_is_its_header_and_its_attributes() {
        let message = Message::new(7, &[1, 0, 2, 0, 0, 0], &[text(3, "abc")]);
        let (header, attributes) = message.split::<6>().unwrap();
        assert_eq!((header[0], word_at(header, 2)), (1, u32::from_ne_bytes([2, 0, 0, 0])));
        assert_eq!(attributes, bytes(&[text(3, "abc")]));
        assert!(message.split::<15>().is_err(), "{message:?}");
    }
}
