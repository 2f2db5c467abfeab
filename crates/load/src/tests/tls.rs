//! HTTPS servers, and whose certificates are accepted.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::server::{Server, response, start, until};
use crate::{Fault, LoadOptions, Origin, Pace, Reuse, Trust};
use zc_run::ErrorKind;

/// Certificates of one key for the name `a.test`, which `testdata/make` has made.
const SERVER: &str = include_str!("testdata/server.pem");
const AUTHORITY: &str = include_str!("testdata/authority.pem");
const EXPIRED: &str = include_str!("testdata/expired.pem");
const EARLY: &str = include_str!("testdata/early.pem");
const COMMON_NAME: &str = include_str!("testdata/common-name.pem");

/// The same of another key.
const OTHER: &str = include_str!("testdata/other.pem");

/// An HTTPS server that does as `script` says with each session.
fn with(
    certificate: &str,
    script: impl Fn(StreamOwned<ServerConnection, TcpStream>) + Send + Sync + 'static,
) -> Server {
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let private = PrivateKeyDer::from_pem_slice(include_bytes!("testdata/key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], private)
        .unwrap();
    let config = Arc::new(config);
    Server::with(move |connection, _| {
        let session = ServerConnection::new(Arc::clone(&config)).unwrap();
        script(StreamOwned::new(session, connection));
    })
}

/// One that answers with a body of so many bytes.
fn serve(certificate: &str, body_bytes: usize) -> Server {
    let answer = response("200 OK", body_bytes);
    with(certificate, move |mut stream| {
        let mut head = Vec::new();
        let mut byte = [0];
        while matches!(stream.read(&mut byte), Ok(1)) {
            head.push(byte[0]);
            if head.ends_with(b"\r\n\r\n") {
                if stream.write_all(&answer).and_then(|()| stream.flush()).is_err() {
                    return;
                }
                if String::from_utf8_lossy(&head).contains("Connection: close") {
                    stream.conn.send_close_notify();
                    drop(stream.flush());
                    return;
                }
                head.clear();
            }
        }
    })
}

fn options(server: &Server, name: &str, trust: Trust) -> LoadOptions {
    let origin = Origin::at(&format!("https://{name}/file"), server.address).unwrap();
    LoadOptions { origins: vec![origin], trust, ..server.options() }
}

#[test]
fn a_load_of_https_is_answered_with_and_without_keep_alive() {
    let server = serve(SERVER, 300_000);
    let body: Vec<u8> = (0..300_000).map(|index| index as u8).collect();
    for reuse in [Reuse::KeepAlive, Reuse::Close] {
        let options =
            LoadOptions { reuse, connections: 2, ..options(&server, "b.test", Trust::Anybody) };
        let load = start(options).unwrap();
        assert_eq!(load.fetch(0).unwrap().crc32, crc32fast::hash(&body));
        load.go_for(0, Pace::Unpaced, 0, 10);
        until("all are answered", || load.counts().responses == 11);
        let phase = load.pause().unwrap();
        assert_eq!(phase.counts.faults().count(), 0, "{:?}", phase.first_fault);
        assert_eq!(phase.counts.body_bytes, 10 * 300_000);
        assert!(phase.counts.received_bytes > phase.counts.body_bytes);
        let connects = if reuse == Reuse::Close { 10 } else { 0 };
        assert_eq!(phase.counts.connects, connects);
    }
}

#[test]
fn a_certificate_is_accepted_if_its_file_is_given_and_its_name_is_right() {
    let server = serve(SERVER, 10);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cert.pem");
    // Some editors begin a text with a byte order mark.
    std::fs::write(&file, format!("\u{feff}{SERVER}")).unwrap();
    let trust = Trust::File(file.clone());
    let load = start(options(&server, "a.test", trust.clone())).unwrap();
    assert_eq!(load.fetch(0).unwrap().body_bytes, 10);

    let refused = |name: &str, trust: Trust| start(options(&server, name, trust)).unwrap_err();
    let error = refused("b.test", trust);
    assert_eq!(error.id, "certificate-for-another-name");
    assert_eq!(error.kind, ErrorKind::Remote);

    std::fs::write(&file, OTHER).unwrap();
    let error = refused("a.test", Trust::File(file.clone()));
    assert_eq!(error.id, "certificate-not-trusted");
    assert!(error.help.unwrap().contains("--insecure"));

    for nonsense in [
        "",
        "nonsense",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nAAAA\n",
        "-----BEGIN CERTIFICATE-----\n????\n-----END CERTIFICATE-----\n",
    ] {
        std::fs::write(&file, nonsense).unwrap();
        let error = refused("a.test", Trust::File(file.clone()));
        assert_eq!(error.id, "certificates-unusable");
        // Neither bytes as a list of numbers nor names of types.
        assert!(!error.message.contains(['[', '{', '(']), "{}", error.message);
    }
    let error = refused("a.test", Trust::File(folder.path().join("none")));
    assert_eq!(error.id, "certificates-unusable");
}

#[test]
fn a_certificate_of_an_authority_that_is_the_servers_own_is_accepted_until_it_expires() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cert.pem");
    // As of `openssl req -x509`. webpki takes no authority's for a server's.
    let server = serve(AUTHORITY, 10);
    std::fs::write(&file, AUTHORITY).unwrap();
    let trust = Trust::File(file.clone());
    let load = start(options(&server, "a.test", trust.clone())).unwrap();
    assert_eq!(load.fetch(0).unwrap().body_bytes, 10);
    let error = start(options(&server, "b.test", trust.clone())).unwrap_err();
    assert_eq!(error.id, "certificate-for-another-name");

    let refused = |certificate: &str| {
        let server = serve(certificate, 10);
        std::fs::write(&file, certificate).unwrap();
        start(options(&server, "a.test", trust.clone())).unwrap_err().id
    };
    assert_eq!(refused(EXPIRED), "certificate-expired");
    assert_eq!(refused(EARLY), "certificate-not-yet-valid");
}

#[test]
fn a_certificate_with_a_common_name_alone_names_no_host() {
    let server = serve(COMMON_NAME, 10);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cert.pem");
    std::fs::write(&file, COMMON_NAME).unwrap();
    let error = start(options(&server, "a.test", Trust::File(file))).unwrap_err();
    assert_eq!(error.id, "certificate-without-host");
    // Not what was done.
    let help = error.help.unwrap();
    assert!(help.contains("subjectAltName") && !help.contains("--cacert"), "{help}");
}

#[test]
fn a_system_that_does_not_trust_it_says_so() {
    let server = serve(SERVER, 10);
    let error = start(options(&server, "a.test", Trust::System)).unwrap_err();
    if error.kind == ErrorKind::Unsupported {
        eprintln!("skipped: {}", error.message);
        return;
    }
    assert_eq!(error.kind, ErrorKind::Remote);
    assert_eq!(error.id, "certificate-not-trusted");
}

#[test]
fn what_does_not_speak_tls_says_so() {
    let server = Server::with(|mut connection, _| {
        drop(connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
        drop(connection.read(&mut [0; 1000]));
    });
    let error = start(options(&server, "a.test", Trust::Anybody)).unwrap_err();
    assert_eq!(error.id, "not-tls");
    assert!(error.help.unwrap().contains("http://"));

    // Later it is a fault of each request.
    let options = LoadOptions { reuse: Reuse::Close, ..options(&server, "a.test", Trust::Anybody) };
    let load = start(options).unwrap();
    load.go_for(0, Pace::Unpaced, 0, 2);
    until("both have come out", || load.counts().unanswered() == 2);
    let phase = load.pause().unwrap();
    assert_eq!(phase.counts.fault_count(Fault::Tls), 2);
}

#[test]
fn a_body_that_ends_with_a_session_that_was_cut_is_not_whole() {
    // Without a close_notify.
    let server = with(SERVER, |mut stream| {
        drop(stream.read(&mut [0; 4096]));
        drop(stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nsome of it"));
        drop(stream.flush());
    });
    let load = start(options(&server, "a.test", Trust::Anybody)).unwrap();
    let error = load.fetch(0).unwrap_err();
    assert_eq!(error.id, "no-answer", "{error}");
}
