//! Certificates that stand in for a site's own where this user may not read its key. Handshakes are
//! in no window, as connections are kept, so only which ciphers there can be depends on the key's
//! kind. The keys protect nothing: they are served in a namespace of zc's, and are in every zc.

use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// A certificate and its key, as PEM.
pub(super) struct StandIn {
    /// The kind of key in words.
    pub(super) kind: &'static str,
    pub(super) certificate: &'static str,
    pub(super) key: &'static str,
}

const RSA: StandIn = StandIn {
    kind: "RSA, 2048 bits",
    certificate: include_str!("stand_in/rsa.pem"),
    key: include_str!("stand_in/rsa-key.pem"),
};

const EC: StandIn = StandIn {
    kind: "P-256",
    certificate: include_str!("stand_in/ec.pem"),
    key: include_str!("stand_in/ec-key.pem"),
};

/// `rsaEncryption`, 1.2.840.113549.1.1.1, as a value of DER (RFC 8017, A.1), which a certificate
/// has in its public key, or in its signature by another one.
const RSA_ENCRYPTION: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

/// `id-ecPublicKey`, 1.2.840.10045.2.1 (RFC 5480, 2.1.1).
const EC_PUBLIC_KEY: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];

/// The one with a key of the kind of a certificate's, of P-256 where that cannot be read.
pub(super) fn for_certificate(path: Option<&Path>) -> StandIn {
    let certificate = path.and_then(|path| CertificateDer::from_pem_file(path).ok());
    let has = |oid: &[u8]| {
        certificate.as_ref().is_some_and(|der| der.windows(oid.len()).any(|part| part == oid))
    };
    match has(RSA_ENCRYPTION) && !has(EC_PUBLIC_KEY) {
        true => RSA,
        false => EC,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stand_in_has_the_kind_of_key_of_the_certificate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("site.pem");
        for known in [RSA, EC] {
            std::fs::write(&path, known.certificate).unwrap();
            assert_eq!(for_certificate(Some(&path)).kind, known.kind);
        }
        assert_eq!(for_certificate(None).kind, EC.kind);
        std::fs::write(&path, "no certificate").unwrap();
        assert_eq!(for_certificate(Some(&path)).kind, EC.kind);
    }
}
