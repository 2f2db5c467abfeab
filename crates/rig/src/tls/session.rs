//! Secret and keys of a connection.

use ring::aead::UnboundKey;
use ring::aead::quic::{self, HeaderProtectionKey};
use ring::aead::{AES_128_GCM, AES_256_GCM, Algorithm, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk};
use serde::{Deserialize, Serialize};

use zc_kernel::{ktls, random};
use zc_run::{Cipher, Error, Result, TlsRecords, TlsVersion};

/// The longest key of a cipher.
const LONGEST_KEY: usize = 32;

/// What the keys of a trial's connections are derived from. It is made for the trial, and encrypts
/// nothing but the files that other trials send in the clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsSecret([u8; 32]);

impl TlsSecret {
    /// One that everybody knows, where only the speed of a cipher is at issue.
    pub(crate) const KNOWN: Self = Self([0; 32]);

    /// A new one.
    ///
    /// # Errors
    /// The kernel gives no random bytes.
    pub(crate) fn new() -> Result<Self> {
        let bytes = random::array().map_err(|error| Error::os("read random bytes", error))?;
        Ok(Self(bytes))
    }
}

/// How the connections of a trial are encrypted: both ends are given it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsKeying {
    /// The form of the records.
    pub records: TlsRecords,
    /// What the keys are derived from.
    pub secret: TlsSecret,
}

impl TlsKeying {
    /// Keys of connection number `index` of the trial, which no other has.
    pub(crate) fn session(&self, index: usize) -> TlsSession {
        let Self { records, secret } = *self;
        let prk = Prk::new_less_safe(HKDF_SHA256, &secret.0);
        let mut bytes = [0; 2 * LONGEST_KEY + NONCE_LEN];
        let index = index.to_be_bytes();
        let info = [b"zc connection".as_slice(), &index];
        // The length is far below the 255 hashes that HKDF has at most.
        let expanded = prk.expand(&info, Length(bytes.len()));
        if expanded.and_then(|okm| okm.fill(&mut bytes)).is_err() {
            unreachable!("HKDF-SHA256 gives up to 8160 bytes");
        }
        let (mut key, mut header_key, mut iv) =
            ([0; LONGEST_KEY], [0; LONGEST_KEY], [0; NONCE_LEN]);
        key.copy_from_slice(&bytes[..LONGEST_KEY]);
        iv.copy_from_slice(&bytes[LONGEST_KEY..][..NONCE_LEN]);
        header_key.copy_from_slice(&bytes[LONGEST_KEY + NONCE_LEN..]);
        TlsSession { records, key, iv, header_key }
    }
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// Keys of one direction of a connection.
#[derive(Clone, Copy)]
pub struct TlsSession {
    pub(crate) records: TlsRecords,
    key: [u8; LONGEST_KEY],
    /// What every nonce is made of.
    pub(crate) iv: [u8; NONCE_LEN],
    /// Key of the headers of QUIC's packets.
    header_key: [u8; LONGEST_KEY],
}

impl TlsSession {
    /// Keys that were agreed upon elsewhere.
    #[cfg(test)]
    pub(super) fn with_keys(records: TlsRecords, key: &[u8], iv: [u8; NONCE_LEN]) -> Self {
        let mut padded = [0; LONGEST_KEY];
        padded[..key.len()].copy_from_slice(key);
        Self { records, key: padded, iv, header_key: [0; LONGEST_KEY] }
    }

    /// The name of a connection of QUIC, which both ends know.
    pub(crate) fn name<const BYTES: usize>(&self) -> [u8; BYTES] {
        std::array::from_fn(|at| self.iv[at % NONCE_LEN] ^ self.header_key[at % LONGEST_KEY])
    }

    /// The key of the headers of QUIC's packets (RFC 9001, section 5.4).
    pub(crate) fn header_key(&self) -> HeaderProtectionKey {
        let algorithm = match self.records.cipher {
            Cipher::Aes128Gcm | Cipher::Clear => &quic::AES_128,
            Cipher::Aes256Gcm => &quic::AES_256,
            Cipher::Chacha20Poly1305 => &quic::CHACHA20,
        };
        match HeaderProtectionKey::new(algorithm, &self.header_key[..algorithm.key_len()]) {
            Ok(key) => key,
            Err(_) => unreachable!("the key has the cipher's length"),
        }
    }

    /// The key for ring.
    pub(crate) fn aead(&self) -> LessSafeKey {
        let algorithm = self.algorithm();
        match UnboundKey::new(algorithm, self.key(algorithm)) {
            Ok(key) => LessSafeKey::new(key),
            Err(_) => unreachable!("the key has the cipher's length"),
        }
    }

    fn algorithm(&self) -> &'static Algorithm {
        match self.records.cipher {
            // A transfer in the clear has no session.
            Cipher::Aes128Gcm | Cipher::Clear => &AES_128_GCM,
            Cipher::Aes256Gcm => &AES_256_GCM,
            Cipher::Chacha20Poly1305 => &CHACHA20_POLY1305,
        }
    }

    fn key(&self, algorithm: &Algorithm) -> &[u8] {
        &self.key[..algorithm.key_len()]
    }

    /// The keys for the kernel.
    pub(crate) fn for_kernel(&self) -> ktls::Keys<'_> {
        let cipher = match self.records.cipher {
            Cipher::Aes128Gcm | Cipher::Clear => ktls::Cipher::Aes128Gcm,
            Cipher::Aes256Gcm => ktls::Cipher::Aes256Gcm,
            Cipher::Chacha20Poly1305 => ktls::Cipher::Chacha20Poly1305,
        };
        let version = match self.records.version {
            TlsVersion::V12 => 0x0303,
            TlsVersion::V13 => 0x0304,
        };
        ktls::Keys { version, cipher, key: self.key(self.algorithm()), iv: self.iv }
    }
}

impl std::fmt::Debug for TlsSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsSession").field("records", &self.records).finish_non_exhaustive()
    }
}
