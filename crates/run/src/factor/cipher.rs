//! `cipher`: what the records of a TLS connection are encrypted with.

use super::definition::{Definition, FactorOption, Parameter};
use super::value::Value;
use crate::names::names;
use crate::{Cell, Result};

names! {
    /// An AEAD cipher of TLS, or none.
    Cipher, "cipher", {
        /// The bytes travel in the clear.
        Clear = "clear",
        /// AEAD_AES_128_GCM (RFC 5116).
        Aes128Gcm = "aes-128-gcm",
        /// AEAD_AES_256_GCM (RFC 5116).
        Aes256Gcm = "aes-256-gcm",
        /// AEAD_CHACHA20_POLY1305 (RFC 8439).
        Chacha20Poly1305 = "chacha20-poly1305",
    }
}

impl Cipher {
    /// The cipher of paths that encrypt, where nothing else is asked for: the one that every
    /// implementation of TLS 1.3 has (RFC 8446, section 9.1).
    pub const DEFAULT: Self = Self::Aes128Gcm;
}

pub(super) struct CipherFactor;

impl Definition for CipherFactor {
    fn name(&self) -> &'static str {
        "cipher"
    }

    fn levels(&self) -> &'static str {
        "`clear`, which is the level of all paths that do not encrypt; `aes-128-gcm`, \
         `aes-256-gcm`, `chacha20-poly1305`. Cells whose path and cipher do not go together are left \
         out"
    }

    fn examples(&self) -> &'static [&'static str] {
        Cipher::NAMES
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::known::<Cipher>(text)
    }

    fn default(&self) -> Value {
        Value::Name(Cipher::DEFAULT.to_string())
    }

    /// Paths that encrypt have a cipher, and others have none.
    fn suits(&self, level: &Value, cell: &Cell) -> bool {
        (level.name() != Some(Cipher::Clear)) == cell.transfer.encrypts()
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "Ciphers of the paths that encrypt, separated by commas: aes-128-gcm, \
            aes-256-gcm, chacha20-poly1305 [default: aes-128-gcm, or the plan's]";
        Some(
            FactorOption::sent("cipher", "NAMES", "recv", help).with_names(Cipher::NAMES).several(),
        )
    }

    fn typed(&self, text: &str) -> Result<Vec<(&'static str, Value)>> {
        let names = text.split(',').map(|name| self.parse(name.trim()));
        names.map(|value| value.map(|value| (self.name(), value))).collect()
    }

    fn parameter(&self) -> Parameter {
        Parameter::disqualifying("cipher", "cipher")
    }
}
