//! What factors change in a trial, beyond what the saved run can say of them: one file to a factor that needs code for it.
//!
//! Each implements the hooks of [`Effect`] that it needs; the trial calls the hooks of all. A factor that sets one TCP option of the
//! sender needs no file here: its definition in `zc-run` says which ([`zc_run::factor::Definition::tcp_option`]). `flows`, `rate`, `recv`
//! and `send` are what a trial is made of, and `mtu` and `offloads` choose its link (`trial::links`).

mod align;
mod congestion;
mod message;
mod pages;
pub(super) mod placement;
mod push;
mod sockbuf;

use std::net::TcpStream;

use zc_kernel::tcp::{self, Unconnected};

use super::cell_config::CellConfig;
use crate::path::SendSetup;
use zc_run::{Cell, Error, Factor, FixedParams, LinkKind, Result, Unavailable};

/// The hooks of one factor, in the order in which a trial comes to them. `fixed` is what holds for the cell.
pub(super) trait Effect: Sync {
    /// Changes what the cell's send path is built from.
    fn set_up(&self, _cell: &Cell, _fixed: &FixedParams, _setup: &mut SendSetup) {}

    /// Why the cell cannot run over such a link.
    fn refuse(&self, _config: &CellConfig, _link: LinkKind) -> Option<Unavailable> {
        None
    }

    /// Prepares the sender's socket before it connects.
    ///
    /// # Errors
    /// The kernel refuses.
    fn before_connect(&self, _socket: &Unconnected, _fixed: &FixedParams) -> Result<()> {
        Ok(())
    }

    /// Prepares the sender's socket once it is connected, before it sends anything.
    ///
    /// # Errors
    /// The kernel refuses.
    fn connected(&self, _socket: &TcpStream, _fixed: &FixedParams) -> Result<()> {
        Ok(())
    }

    /// After the last piece, before the path drains.
    ///
    /// # Errors
    /// The kernel refuses.
    fn before_drain(&self, _socket: &TcpStream, _fixed: &FixedParams) -> Result<()> {
        Ok(())
    }
}

/// All of them.
pub(super) const EFFECTS: [&dyn Effect; 7] = [
    &placement::Placement,
    &message::Message,
    &sockbuf::Sockbuf,
    &push::Push,
    &align::Align,
    &pages::Pages,
    &congestion::Congestion,
];

/// Sets the TCP options that factors ask for, before the first byte of a file. (What is sent before that, the greeting, is not to wait
/// for a cork.)
///
/// # Errors
/// The kernel refuses one.
pub(super) fn set_tcp_options(socket: &TcpStream, fixed: &FixedParams) -> Result<()> {
    for option in Factor::ALL.iter().filter_map(|factor| factor.definition().tcp_option(fixed)) {
        tcp::set_option(socket, option.number, option.value)
            .map_err(|error| Error::os(format!("set {}", option.name), error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::fixed;
    use super::*;
    use zc_run::{Level, RecvPath, SendPath};

    /// Two ends of a connection over loopback.
    fn pair() -> (TcpStream, TcpStream) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one, listener.accept().unwrap().0)
    }

    #[test]
    fn the_kernel_has_every_tcp_option_that_a_level_asks_for() {
        let mut tried = Vec::new();
        for factor in Factor::ALL {
            for text in factor.definition().examples() {
                let mut cell = Cell::of_paths(SendPath::ReadSend, RecvPath::Recv);
                Level::parse(*factor, text).unwrap().put(&mut cell);
                let fixed = fixed().at(&cell.levels);
                let Some(option) = factor.definition().tcp_option(&fixed) else { continue };
                let (socket, _other) = pair();
                assert_ne!(
                    tcp::option(&socket, option.number).unwrap(),
                    option.value,
                    "{} is so by itself",
                    option.name
                );
                set_tcp_options(&socket, &fixed).unwrap();
                assert_eq!(
                    tcp::option(&socket, option.number).unwrap(),
                    option.value,
                    "{factor} {text}"
                );
                tried.push(option.name);
            }
        }
        assert!(tried.starts_with(&["TCP_CORK", "TCP_NODELAY"]), "{tried:?}");
    }

    #[test]
    fn an_option_that_the_kernel_does_not_have_is_an_error_with_its_name() {
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(tcp::set_option(&udp, 3, 1).is_err() && tcp::option(&udp, 3).is_err());
    }
}
