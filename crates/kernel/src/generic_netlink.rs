//! Families of generic netlink, which the kernel numbers when their module is loaded.
//!
//! # References
//! Documentation/userspace-api/netlink/intro.rst, section "Generic Netlink"

use std::io;

use netlink_packet_core::DefaultNla;
use netlink_sys::protocols::NETLINK_GENERIC;

use crate::attributes::{child, text};
use crate::netlink_channel::{Channel, Message, undecodable};

/// Size of `struct genlmsghdr`: the command, its version, and two bytes of nothing.
const HEADER_BYTES: usize = 4;
// include/uapi/linux/genetlink.h
const CTRL_ID: u16 = libc::GENL_ID_CTRL as u16;
const CTRL_CMD_GETFAMILY: u8 = libc::CTRL_CMD_GETFAMILY as u8;
const CTRL_VERSION: u8 = 2;
const CTRL_A_FAMILY_ID: u16 = libc::CTRL_ATTR_FAMILY_ID as u16;
const CTRL_A_FAMILY_NAME: u16 = libc::CTRL_ATTR_FAMILY_NAME as u16;

/// A generic netlink socket in a network namespace, for the messages of one family.
#[derive(Debug)]
pub(crate) struct Family {
    channel: Channel,
    number: u16,
    version: u8,
}

impl Family {
    /// Opens a socket in the calling thread's network namespace, and looks up the family `name`.
    ///
    /// # Errors
    /// ENOENT: the kernel has no such family, or its module is not loaded.
    pub(crate) fn open(name: &str, version: u8) -> io::Result<Self> {
        let channel = Channel::open(NETLINK_GENERIC)?;
        let name = text(CTRL_A_FAMILY_NAME, name);
        let request = Message::new(CTRL_ID, &[CTRL_CMD_GETFAMILY, CTRL_VERSION, 0, 0], &[name]);
        let number = number_in(&channel.request(request, 0)?)?;
        Ok(Self { channel, number, version })
    }

    /// Sends a command, and returns its answers.
    ///
    /// # Errors
    /// Errors of the command.
    pub(crate) fn request(
        &self,
        command: u8,
        attributes: &[DefaultNla],
        flags: u16,
    ) -> io::Result<Vec<Message>> {
        let header = [command, self.version, 0, 0];
        self.channel.request(Message::new(self.number, &header, attributes), flags)
    }
}

/// The number of the family in the answer to CTRL_CMD_GETFAMILY.
fn number_in(answers: &[Message]) -> io::Result<u16> {
    let answer = answers.first().ok_or_else(|| undecodable("no family in it"))?;
    let id = child(attributes_of(answer)?, CTRL_A_FAMILY_ID).map_err(undecodable)?;
    let id = id.and_then(|id| <[u8; 2]>::try_from(id).ok()).map(u16::from_ne_bytes);
    id.ok_or_else(|| undecodable("a family without a number"))
}

/// The attributes after the header of generic netlink.
pub(crate) fn attributes_of(message: &Message) -> io::Result<&[u8]> {
    Ok(message.split::<HEADER_BYTES>()?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_family_of_families_is_known_and_one_that_is_not_there_is_enoent() {
        assert_eq!(Family::open("nlctrl", CTRL_VERSION).unwrap().number, CTRL_ID);
        let error = Family::open("zc-no-such", 1).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }
}
