//! TCP options of the sender that a factor's definition in `zc-run` names
//! ([`zc_run::factor::Definition::tcp_option`]).

use std::net::TcpStream;

use zc_kernel::tcp;
use zc_run::{Error, Factor, FixedParams, Result};

/// Sets the TCP options that the factors' levels ask for, before the first byte of a file. The
/// greeting has been sent by then: it must not wait for a cork.
///
/// # Errors
/// The kernel refuses an option.
pub(crate) fn set_tcp_options(socket: &TcpStream, fixed: &FixedParams) -> Result<()> {
    for option in Factor::ALL.iter().filter_map(|factor| factor.definition().tcp_option(fixed)) {
        tcp::set_option(socket, option.number, option.value)
            .map_err(|error| Error::os(format!("set {}", option.name), error))?;
    }
    Ok(())
}

/// The name of a TCP option that the factors' levels ask for, if there is one: datagrams have none.
pub(crate) fn option_of_streams(fixed: &FixedParams) -> Option<&'static str> {
    let options = Factor::ALL.iter().filter_map(|factor| factor.definition().tcp_option(fixed));
    options.map(|option| option.name).next()
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::fixed;
    use super::*;
    use zc_run::{Cell, Level, RecvPath, SendPath};

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
        assert!(["TCP_CORK", "TCP_NODELAY"].iter().all(|name| tried.contains(name)), "{tried:?}");
    }

    #[test]
    fn an_option_that_the_kernel_does_not_have_is_an_error_with_its_name() {
        let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(tcp::set_option(&udp, 3, 1).is_err() && tcp::option(&udp, 3).is_err());
    }
}
