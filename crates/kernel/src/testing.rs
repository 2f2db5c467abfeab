//! Helpers for tests: a connected pair of sockets, a file with given bytes, and a network
//! namespace.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use crate::netns::NetNs;

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

/// Runs a test in a network namespace of its own, in a thread of its own, because a namespace
/// belongs to a thread. Says why where that is not permitted.
pub(crate) fn in_a_namespace(test: impl FnOnce(NetNs) + Send + 'static) {
    let thread = std::thread::spawn(|| match NetNs::unshare() {
        Ok(namespace) => test(namespace),
        Err(_) => eprintln!("skipped: needs CAP_SYS_ADMIN"),
    });
    thread.join().unwrap();
}
