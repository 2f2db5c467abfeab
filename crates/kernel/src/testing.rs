//! Helpers for tests: a connected pair of sockets, and a file with given bytes.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

/// A TCP connection over loopback: the connecting and the accepted side.
pub(crate) fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connecting = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (connecting, listener.accept().unwrap().0)
}

/// A temporary file with these bytes.
pub(crate) fn file_of(bytes: &[u8]) -> std::fs::File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}
