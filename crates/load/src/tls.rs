//! TLS sessions: whose certificates are accepted, and why there is no session.
//!
//! rustls with the provider `ring`, TLS 1.3 and 1.2. Sessions are resumed, as browsers do: with a
//! connection for each request most handshakes are short ones.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, PeerIncompatible, RootCertStore,
    SignatureScheme,
};

use super::options::{LoadOptions, Trust};
use super::origin::Origin;
use super::wire::Wire;
use zc_kernel::named_file;
use zc_run::address::without_zone;
use zc_run::{Error, Result, escape, in_words, without_bom};

/// The longest file of certificates. That of all authorities of a system has some 200 KiB.
const MOST_CERTIFICATES: u64 = 16 << 20;

/// Sessions of a server that are remembered: rustls's own number.
const SESSIONS: usize = 256;

/// The sessions of a load.
#[derive(Debug)]
pub(super) struct Sessions {
    /// The name of each server and the configuration of its sessions, by origin; `None`: without
    /// TLS.
    servers: Vec<Option<(ServerName<'static>, Arc<ClientConfig>)>>,
}

impl Sessions {
    /// `None` if no origin has TLS.
    ///
    /// # Errors
    /// Same as [`config`] and [`name`].
    pub(super) fn new(options: &LoadOptions) -> Result<Option<Self>> {
        if !options.origins.iter().any(|origin| origin.is_https) {
            return Ok(None);
        }
        let config = config(&options.trust)?;
        let server = |origin: &Origin| {
            let name = name(origin)?;
            // Servers of one name on several ports do not know each other's sessions.
            let mut config = config.clone();
            config.resumption = Resumption::in_memory_sessions(SESSIONS);
            Ok((name, Arc::new(config)))
        };
        let servers = options.origins.iter().map(|it| it.is_https.then(|| server(it)).transpose());
        Ok(Some(Self { servers: servers.collect::<Result<_>>()? }))
    }

    /// A connection to `origin` over `socket`.
    ///
    /// # Errors
    /// There can be no session, as a `rustls::Error` within.
    pub(super) fn wire(&self, socket: OwnedFd, origin: usize) -> io::Result<Wire> {
        match &self.servers[origin] {
            Some((name, config)) => Wire::with_tls(socket, config, name),
            None => Ok(Wire::new(socket)),
        }
    }
}

/// What the sessions of a load have in common.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): the file of certificates cannot be read or has none.
/// [`ErrorKind::Unsupported`](zc_run::ErrorKind): this system trusts nobody.
fn config(trust: &Trust) -> Result<ClientConfig> {
    let (roots, listed) = match trust {
        Trust::Anybody => (None, Vec::new()),
        Trust::System => (Some(roots_of_system()?), Vec::new()),
        Trust::File(path) => {
            let listed = certificates(path)?;
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(listed.iter().cloned());
            if roots.is_empty() {
                return Err(no_certificate(path, "it contains no certificate that can be used"));
            }
            (Some(roots), listed)
        }
    };
    let failed = |error: &dyn std::fmt::Display| {
        Error::failed("tls-unavailable", format!("cannot use TLS: {error}"))
    };
    let provider = Arc::new(ring::default_provider());
    let by = |roots| {
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build()
    };
    let authorities = roots.map(by).transpose().map_err(|error| failed(&error))?;
    let algorithms = provider.signature_verification_algorithms;
    let verifier = Verifier { authorities, listed, algorithms };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// The name that the certificate of `origin` must have.
///
/// # Errors
/// [`ErrorKind::Usage`](zc_run::ErrorKind): no certificate could have such a name.
fn name(origin: &Origin) -> Result<ServerName<'static>> {
    ServerName::try_from(without_zone(&origin.host).to_owned()).map_err(|_| {
        Error::usage(
            "tls-host-not-nameable",
            format!("{}: no certificate can name this host", origin.quoted()),
        )
        .help("use a DNS name or an address")
    })
}

/// Why there is no session, if that is why: the id of the error, what completes "no TLS with HOST:
/// ", and a hint.
pub(super) fn why(error: &io::Error) -> Option<(&'static str, String, &'static str)> {
    const TRUST: &str = "name its authority with --cacert FILE, or accept anybody with --insecure";
    const NAMES: &str = "a certificate is made for a host with openssl req -addext \
                         subjectAltName=DNS:HOST; --insecure accepts any";
    const OTHERWISE: &str = "openssl s_client -connect HOST:PORT shows it; --insecure accepts any";
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    let said = match error {
        rustls::Error::InvalidCertificate(error) => {
            let (id, what, help) = match error {
                // The latter: by somebody else of the same name.
                CertificateError::UnknownIssuer | CertificateError::BadSignature => (
                    "certificate-not-trusted",
                    "its certificate is signed by nobody that is trusted",
                    TRUST,
                ),
                // The common name of its subject is not looked at: RFC 9525, 2.
                CertificateError::NotValidForNameContext { presented, .. }
                    if presented.is_empty() =>
                {
                    (
                        "certificate-without-host",
                        "its certificate names no host (no subjectAltName)",
                        NAMES,
                    )
                }
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => {
                    ("certificate-for-another-name", "its certificate is for another name", NAMES)
                }
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    ("certificate-expired", "its certificate has expired", OTHERWISE)
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    ("certificate-not-yet-valid", "its certificate is not valid yet", OTHERWISE)
                }
                other => {
                    let what = format!("its certificate is not accepted: {}", refusal(other));
                    return Some(("certificate-not-accepted", what, OTHERWISE));
                }
            };
            return Some((id, what.to_owned(), help));
        }
        rustls::Error::InvalidMessage(_) => {
            let what = "what it sends is not TLS".to_owned();
            return Some(("not-tls", what, "does that port serve http:// instead?"));
        }
        rustls::Error::PeerIncompatible(PeerIncompatible::ServerDoesNotSupportTls12Or13) => {
            "it has neither TLS 1.2 nor TLS 1.3".to_owned()
        }
        rustls::Error::AlertReceived(alert) => {
            format!("it refuses with the alert \"{}\"", words_of(alert))
        }
        rustls::Error::PeerIncompatible(why) => format!("it offers too little: {}", words_of(why)),
        rustls::Error::PeerMisbehaved(why) => format!("it breaks the protocol: {}", words_of(why)),
        rustls::Error::InappropriateMessage { .. }
        | rustls::Error::InappropriateHandshakeMessage { .. } => {
            "it sends a message out of turn".to_owned()
        }
        rustls::Error::Other(error) => words_of(&error.0),
        other => other.to_string(),
    };
    Some(("tls-failed", said, "openssl s_client -connect HOST:PORT shows what the server offers"))
}

/// Why a certificate is not accepted.
fn refusal(error: &CertificateError) -> String {
    match error {
        CertificateError::BadEncoding => "it is no valid X.509".to_owned(),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it is not one for servers (extendedKeyUsage)".to_owned()
        }
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "it is signed by an algorithm that is not accepted".to_owned()
        }
        // What webpki says beyond that has no type here.
        CertificateError::Other(error) => match words_of(&error.0).as_str() {
            "ca used as end entity" => {
                "it is an authority's, and not a server's (basicConstraints)".to_owned()
            }
            "end entity used as ca" => "its issuer is no authority (basicConstraints)".to_owned(),
            words => words.to_owned(),
        },
        other => words_of(other),
    }
}

/// The name of a variant as words: `PathLenConstraintViolated` is "path len constraint violated".
/// Libraries have no text for these but that.
fn words_of(variant: &impl std::fmt::Debug) -> String {
    let text = format!("{variant:?}");
    let name = text.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let mut words = String::new();
    let mut before = None;
    for c in name.chars() {
        if c.is_ascii_uppercase() && before.is_some_and(|before: char| !before.is_ascii_uppercase())
        {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
        before = Some(c);
    }
    words
}

fn roots_of_system() -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
        return Err(Error::unsupported(
            "no-trusted-certificates",
            format!("this system has no trusted certificates{why}"),
        )
        .help(
            "install ca-certificates, name a file with --cacert, or accept anybody with \
                 --insecure",
        ));
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let text = File::open(path).and_then(|file| named_file::bytes(file, MOST_CERTIFICATES));
    let text = text.map_err(|error| no_certificate(path, &in_words(&error)))?;
    let text = text.ok_or_else(|| no_certificate(path, "it is longer than 16 MiB"))?;
    CertificateDer::pem_slice_iter(without_bom(&text))
        .collect::<std::result::Result<_, _>>()
        .map_err(|error| no_certificate(path, no_pem(&error)))
}

fn no_pem(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::MissingSectionEnd { .. } => "a certificate in it has no last line",
        pem::Error::IllegalSectionStart { .. } => "a certificate in it has no valid first line",
        pem::Error::Base64Decode(_) => "a certificate in it is not in base64",
        _ => "it is no valid PEM",
    }
}

fn no_certificate(path: &Path, why: &str) -> Error {
    let path = escape(&path.to_string_lossy(), 400);
    Error::input(
        "certificates-unusable",
        format!("cannot use the certificates of \"{path}\": {why}"),
    )
    .help("it has to hold certificates in PEM: -----BEGIN CERTIFICATE-----")
}

fn is_out_of_time(refused: &rustls::Error) -> bool {
    use rustls::CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    matches!(
        refused,
        rustls::Error::InvalidCertificate(
            Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. }
        )
    )
}

/// Decides which certificates are accepted. In every case the server must have the certificate's
/// key.
#[derive(Debug)]
struct Verifier {
    /// Accepts what authorities have signed; `None`: every certificate is accepted.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    /// Accepted themselves: self-signed certificates of test servers are often both an authority's
    /// and a server's, which webpki refuses.
    listed: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let Some(authorities) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        let refused = match authorities.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        ) {
            Ok(verified) => return Ok(verified),
            Err(error) => error,
        };
        // webpki looks at the time before it looks at what the certificate is for.
        if !self.listed.contains(end_entity) || is_out_of_time(&refused) {
            return Err(refused);
        }
        verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rustls::{AlertDescription, OtherError, PeerMisbehaved};

    use super::*;

    /// Same as webpki's, which has no text but its name.
    #[derive(Debug)]
    enum Unsaid {
        CaUsedAsEndEntity,
        PathLenConstraintViolated,
    }

    impl std::fmt::Display for Unsaid {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{self:?}")
        }
    }

    impl std::error::Error for Unsaid {}

    #[test]
    fn no_name_of_a_type_is_in_a_sentence() {
        let other = |error| CertificateError::Other(OtherError(Arc::new(error)));
        for (error, said) in [
            (
                rustls::Error::InvalidCertificate(other(Unsaid::CaUsedAsEndEntity)),
                "its certificate is not accepted: it is an authority's, and not a server's \
                 (basicConstraints)",
            ),
            (
                rustls::Error::InvalidCertificate(other(Unsaid::PathLenConstraintViolated)),
                "its certificate is not accepted: path len constraint violated",
            ),
            (
                rustls::Error::InvalidCertificate(CertificateError::Revoked),
                "its certificate is not accepted: revoked",
            ),
            (
                rustls::Error::AlertReceived(AlertDescription::HandshakeFailure),
                "it refuses with the alert \"handshake failure\"",
            ),
            (
                rustls::Error::PeerMisbehaved(PeerMisbehaved::TooManyEmptyFragments),
                "it breaks the protocol: too many empty fragments",
            ),
        ] {
            let (_, what, _) = why(&io::Error::other(error)).unwrap();
            assert_eq!(what, said);
        }
    }
}
