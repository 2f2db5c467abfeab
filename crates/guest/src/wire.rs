//! A wire between two guests: a virtio network card in each, whose frames QEMU hands on to the
//! other guest's QEMU through a socket (qemu(1), `-netdev`). Nothing of it is on the host's network.
//!
//! A socket has no room for virtio_net_hdr, so the cards have no offloads
//! (`virtio_net_get_features` in QEMU's hw/net/virtio-net.c): the guests cut their packets and add
//! up checksums themselves.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Arc;

use zc_run::{Error, Result};

use crate::passed::{WIRE, pass};

/// The module of the card's driver.
pub(crate) const MODULE: &str = "virtio_net";

/// The address of the far guest of a pair, which has the second end.
pub const FAR_ADDRESS: &str = "10.9.0.2";

/// One end of a wire.
#[derive(Debug, Clone)]
pub struct WireEnd {
    /// 1 or 2.
    end: u8,
    socket: Socket,
}

#[derive(Debug, Clone)]
enum Socket {
    /// An abstract one (unix(7)), on which the first end listens.
    Named(String),
    /// One of two that are connected, and that nobody else can find.
    Connected(Arc<OwnedFd>),
}

impl WireEnd {
    /// An end, 1 or 2, of a wire of this name, whose other end another process has.
    pub fn named(name: String, end: u8) -> Self {
        Self { end, socket: Socket::Named(name) }
    }

    /// Both ends of a wire of this process.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`](zc_run::ErrorKind): no descriptor is free.
    pub(crate) fn both() -> Result<[Self; 2]> {
        let (first, second) =
            UnixStream::pair().map_err(|error| Error::os("connect two guests", error))?;
        let end = |end, socket: UnixStream| Self {
            end,
            socket: Socket::Connected(Arc::new(OwnedFd::from(socket))),
        };
        Ok([end(1, first), end(2, second)])
    }

    /// The address of the guest, and the bits of its network.
    pub(crate) fn address(&self) -> String {
        format!("10.9.0.{}/24", self.end)
    }
}

/// Gives QEMU the network card of a guest; none without a wire.
///
/// # Errors
/// No descriptor is free.
pub(crate) fn attach(wire: Option<&WireEnd>, qemu: &mut Command) -> Result<()> {
    let Some(WireEnd { end, socket }) = wire else {
        qemu.args(["-nic", "none"]);
        return Ok(());
    };
    let back = match socket {
        Socket::Named(name) => {
            let server = if *end == 1 { "on" } else { "off" };
            format!(
                "stream,id=wire,server={server},addr.type=unix,addr.path={name},addr.abstract=on"
            )
        }
        Socket::Connected(socket) => {
            pass(qemu, socket, WIRE)?;
            format!("socket,id=wire,fd={WIRE}")
        }
    };
    let card = format!("virtio-net-pci,netdev=wire,romfile=,mac=52:54:00:09:00:0{end}");
    qemu.args(["-netdev", &back, "-device", &card]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(wire: Option<&WireEnd>) -> String {
        let mut qemu = Command::new("qemu");
        attach(wire, &mut qemu).unwrap();
        let words: Vec<&str> = qemu.get_args().map(|word| word.to_str().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn a_guest_has_a_card_on_its_end_of_the_wire_or_none() {
        assert_eq!(words(None), "-nic none");
        let [first, second] = WireEnd::both().unwrap();
        assert!(words(Some(&first)).starts_with("-netdev socket,id=wire,fd=6 "), "{first:?}");
        for (end, mac) in [(&first, "mac=52:54:00:09:00:01"), (&second, "mac=52:54:00:09:00:02")] {
            assert!(words(Some(end)).ends_with(mac), "{end:?}");
        }
        assert_eq!(second.address(), format!("{FAR_ADDRESS}/24"));
        assert_ne!(first.address(), second.address());
        let named = words(Some(&WireEnd::named("x".to_owned(), 2)));
        assert!(named.contains("server=off") && named.contains("addr.path=x,"), "{named}");
    }
}
