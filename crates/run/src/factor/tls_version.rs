//! `tls`: the version of TLS, which decides the form of a record.

use super::definition::{Definition, FactorOption};
use super::value::Value;
use crate::Result;
use crate::names::names;

names! {
    /// Version of TLS.
    TlsVersion, "version of TLS", {
        /// RFC 5246, with AEAD ciphers only.
        V12 = "1.2",
        /// RFC 8446.
        V13 = "1.3",
    }
}

pub(super) struct TlsVersionFactor;

impl Definition for TlsVersionFactor {
    fn name(&self) -> &'static str {
        "tls"
    }

    fn levels(&self) -> &'static str {
        "`1.2`, `1.3`: the version of TLS; no effect on paths that do not encrypt"
    }

    fn examples(&self) -> &'static [&'static str] {
        TlsVersion::NAMES
    }

    fn parse(&self, text: &str) -> Result<Value> {
        Value::known::<TlsVersion>(text)
    }

    fn default(&self) -> Value {
        Value::Name(TlsVersion::V13.to_string())
    }

    fn option(&self) -> Option<FactorOption> {
        let help = "Version of TLS, of paths that encrypt: 1.2 or 1.3 [default: 1.3]";
        Some(FactorOption::sent("tls", "VERSION", "record", help).with_names(TlsVersion::NAMES))
    }

    fn heading(&self) -> Option<&'static str> {
        Some("TLS")
    }
}
