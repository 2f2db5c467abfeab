//! `ktls-recv`: recv(2) from a socket whose kernel decrypts.

use super::definition::Definition;
use super::recv_copy;
use crate::tls::keyed_socket;
use zc_kernel::ktls::Direction;

pub(super) const PATH: Definition = Definition {
    open: |socket, setup| {
        keyed_socket(socket, Direction::Receive, setup.session()?)?;
        (recv_copy::PATH.open)(socket, setup)
    },
    ..recv_copy::PATH
};
