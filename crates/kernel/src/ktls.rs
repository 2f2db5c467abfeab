//! TLS in the kernel: the upper-layer protocol `tls` of a TCP socket, and its keys.

use std::io;
use std::os::fd::AsFd;

use crate::sockopt::{set_bytes, set_int};

/// include/uapi/linux/tcp.h and tls.h.
const TCP_ULP: libc::c_int = 31;
const TLS_TX: libc::c_int = 1;
const TLS_RX: libc::c_int = 2;
const TLS_TX_ZEROCOPY_RO: libc::c_int = 3;
const TLS_TX_MAX_PAYLOAD_LEN: libc::c_int = 5;

/// A cipher that the kernel's TLS may have, with the numbers of include/uapi/linux/tls.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cipher {
    /// TLS_CIPHER_AES_GCM_128.
    Aes128Gcm,
    /// TLS_CIPHER_AES_GCM_256.
    Aes256Gcm,
    /// TLS_CIPHER_CHACHA20_POLY1305 (5.11).
    Chacha20Poly1305,
}

/// The direction that keys are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// TLS_TX (4.13).
    Send,
    /// TLS_RX (4.17).
    Receive,
}

/// Keys of one direction of a connection, from its first record on.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    /// Version on the wire: 0x0303 for TLS 1.2, 0x0304 for TLS 1.3.
    pub version: u16,
    /// The cipher.
    pub cipher: Cipher,
    /// Key of the cipher's length: 16 bytes, or 32.
    pub key: &'a [u8],
    /// The nonce's fixed part. Of AES-GCM in TLS 1.2 that is its first four bytes, and the others
    /// are the first explicit part.
    pub iv: [u8; 12],
}

/// Hands a connected socket to the kernel's TLS. Until keys are set, bytes go on in the clear.
///
/// # Errors
/// - ENOENT: the kernel has no TLS, or its module cannot be loaded by this user.
/// - EEXIST: the socket has an upper-layer protocol.
/// - ENOTCONN: it is not connected.
///
/// # References
/// Documentation/networking/tls.rst
#[doc(alias = "TCP_ULP")]
pub fn attach(socket: impl AsFd) -> io::Result<()> {
    set_bytes(socket, libc::IPPROTO_TCP, TCP_ULP, b"tls")
}

/// Sets the keys of a direction. All data of it is in records from here on.
///
/// # Errors
/// - ENOENT: the kernel lacks the cipher.
/// - EINVAL: it lacks the version, or the direction.
/// - EBUSY: the direction has keys.
///
/// # References
/// Documentation/networking/tls.rst
#[doc(alias = "TLS_TX")]
#[doc(alias = "TLS_RX")]
pub fn set_keys(socket: impl AsFd, direction: Direction, keys: &Keys<'_>) -> io::Result<()> {
    let option = match direction {
        Direction::Send => TLS_TX,
        Direction::Receive => TLS_RX,
    };
    set_bytes(socket, libc::SOL_TLS, option, &crypto_info(keys))
}

/// struct tls12_crypto_info_aes_gcm_128 and its like: version, cipher, iv, key, salt, number of the
/// first record.
fn crypto_info(keys: &Keys<'_>) -> Vec<u8> {
    let (number, salt_bytes) = match keys.cipher {
        Cipher::Aes128Gcm => (51_u16, 4),
        Cipher::Aes256Gcm => (52, 4),
        Cipher::Chacha20Poly1305 => (54, 0),
    };
    let (salt, iv) = keys.iv.split_at(salt_bytes);
    let (version, number) = (keys.version.to_ne_bytes(), number.to_ne_bytes());
    [&version[..], &number, iv, keys.key, salt, &[0; 8]].concat()
}

/// Lets sendfile(2) hand pages of the page cache to a network card that encrypts, without a copy
/// (5.19). Where the kernel encrypts itself it has no effect.
///
/// # Errors
/// - ENOPROTOOPT: the kernel does not have it.
///
/// # References
/// Documentation/networking/tls.rst, TLS_TX_ZEROCOPY_RO
#[doc(alias = "TLS_TX_ZEROCOPY_RO")]
pub fn set_zerocopy_sendfile(socket: impl AsFd) -> io::Result<()> {
    set_int(socket, libc::SOL_TLS, TLS_TX_ZEROCOPY_RO, 1)
}

/// Sets the most payload bytes of a record (6.19); 16 KiB otherwise.
///
/// # Errors
/// - ENOPROTOOPT: the kernel does not have it.
/// - EINVAL: not a length of a record.
///
/// # References
/// Documentation/networking/tls.rst, TLS_TX_MAX_PAYLOAD_LEN
#[doc(alias = "TLS_TX_MAX_PAYLOAD_LEN")]
pub fn set_record_bytes(socket: impl AsFd, bytes: u16) -> io::Result<()> {
    set_bytes(socket, libc::SOL_TLS, TLS_TX_MAX_PAYLOAD_LEN, &bytes.to_ne_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn keys_have_the_layout_of_the_kernel_s_structs() {
        let iv: [u8; 12] = std::array::from_fn(|at| at as u8);
        let info = |cipher, key: &[u8]| crypto_info(&Keys { version: 0x0304, cipher, key, iv });
        // sizeof struct tls12_crypto_info_aes_gcm_128, ..._256, ..._chacha20_poly1305
        let gcm = info(Cipher::Aes128Gcm, &[0xaa; 16]);
        assert_eq!(gcm.len(), 40);
        assert_eq!((&gcm[4..12], &gcm[28..32]), (&iv[4..], &iv[..4]), "iv and salt");
        assert_eq!(info(Cipher::Aes256Gcm, &[0xaa; 32]).len(), 56);
        let chacha = info(Cipher::Chacha20Poly1305, &[0xaa; 32]);
        assert_eq!((chacha.len(), &chacha[4..16]), (56, &iv[..]));
    }

    #[test]
    fn a_socket_gets_keys_once_where_the_kernel_has_tls() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        if let Err(error) = attach(&socket) {
            return eprintln!("skipped: the kernel has no TLS: {error}");
        }
        let key = [1; 16];
        let keys = Keys { version: 0x0303, cipher: Cipher::Aes128Gcm, key: &key, iv: [2; 12] };
        set_keys(&socket, Direction::Send, &keys).unwrap();
        set_keys(&socket, Direction::Receive, &keys).unwrap();
        let again = attach(&socket).unwrap_err();
        assert_eq!(again.raw_os_error(), Some(libc::EEXIST));
    }
}
