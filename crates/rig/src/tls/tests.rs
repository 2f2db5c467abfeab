//! Records against themselves, against rustls and against OpenSSL.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use proptest::prelude::*;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    ClientConfig, ClientConnection, ConnectionTrafficSecrets, RootCertStore, ServerConfig,
    ServerConnection, SupportedCipherSuite,
};

use super::*;
use zc_run::{Cipher, LONGEST_RECORD, TlsRecords, TlsVersion};

/// Every cipher in every version.
fn all() -> impl Iterator<Item = TlsRecords> {
    let ciphers = Cipher::ALL.iter().filter(|cipher| **cipher != Cipher::Clear);
    ciphers.flat_map(|&cipher| {
        let versions = TlsVersion::ALL.iter();
        versions.map(move |&version| TlsRecords { cipher, version, payload_bytes: LONGEST_RECORD })
    })
}

fn ends(records: TlsRecords) -> (Sealer, Opener) {
    let keying = TlsKeying { records, secret: TlsSecret::new().unwrap() };
    (Sealer::new(&keying.session(3)), Opener::new(&keying.session(3)))
}

/// The record of this payload.
fn sealed(sealer: &mut Sealer, records: TlsRecords, payload: &[u8]) -> Vec<u8> {
    let layout = Layout::new(records);
    let mut record = vec![0; payload.len() + layout.overhead()];
    record[layout.before()..][..payload.len()].copy_from_slice(payload);
    sealer.seal(&mut record);
    record
}

/// The payload of the record that `bytes` are.
fn opened(opener: &mut Opener, bytes: &mut [u8]) -> Vec<u8> {
    let (length, payload) = opener.open(bytes).unwrap().expect("it is whole");
    assert_eq!(length, bytes.len());
    bytes[payload].to_vec()
}

#[test]
fn what_is_sealed_is_opened_in_order_and_nothing_else_is() {
    for records in all() {
        let (mut sealer, mut opener) = ends(records);
        for payload in [&b"first"[..], b"", &[7; LONGEST_RECORD], b"last"] {
            let mut record = sealed(&mut sealer, records, payload);
            assert!(record.windows(5).all(|window| payload.is_empty() || window != b"first"));
            assert!(opened(&mut opener, &mut record) == payload, "{records:?}");
        }
        // One that was lost, and one of another connection.
        drop(sealed(&mut sealer, records, b"lost"));
        let mut next = sealed(&mut sealer, records, b"next");
        assert_eq!(opener.open(&mut next).unwrap_err().id, "not-decrypted", "{records:?}");
        let mut other = sealed(&mut ends(records).0, records, b"first");
        assert_eq!(ends(records).1.open(&mut other).unwrap_err().id, "not-decrypted");
    }
}

#[test]
fn connections_of_a_trial_have_keys_of_their_own() {
    let records = all().next().unwrap();
    let keying = TlsKeying { records, secret: TlsSecret::new().unwrap() };
    let mut record = sealed(&mut Sealer::new(&keying.session(0)), records, b"payload");
    let error = Opener::new(&keying.session(1)).open(&mut record).unwrap_err();
    assert_eq!(error.id, "not-decrypted");
}

proptest! {
    #[test]
    fn a_record_with_any_byte_changed_is_an_error_and_one_that_is_cut_is_waited_for(
        which in 0_usize..6,
        payload in prop::collection::vec(any::<u8>(), 0..200),
        place in any::<prop::sample::Index>(),
        change in 1..=255_u8,
    ) {
        let records = all().nth(which).unwrap();
        let (mut sealer, mut opener) = ends(records);
        let record = sealed(&mut sealer, records, &payload);
        let mut cut = record[..place.index(record.len())].to_vec();
        prop_assert_eq!(opener.open(&mut cut).unwrap(), None);
        let mut changed = record.clone();
        changed[place.index(record.len())] ^= change;
        // A length that grew is that of a record which has not arrived as a whole.
        prop_assert!(matches!(opener.open(&mut changed), Ok(None) | Err(_)));
    }

    #[test]
    fn bytes_of_anybody_are_an_error_and_no_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for records in all() {
            prop_assert!(matches!(ends(records).1.open(&mut bytes), Ok(None) | Err(_)));
        }
    }
}

fn test_data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../load/src/tests/testdata").join(name)
}

fn suite(records: TlsRecords) -> SupportedCipherSuite {
    use rustls::crypto::ring::cipher_suite::*;
    match (records.version, records.cipher) {
        (TlsVersion::V13, Cipher::Aes128Gcm) => TLS13_AES_128_GCM_SHA256,
        (TlsVersion::V13, Cipher::Aes256Gcm) => TLS13_AES_256_GCM_SHA384,
        (TlsVersion::V13, _) => TLS13_CHACHA20_POLY1305_SHA256,
        (TlsVersion::V12, Cipher::Aes128Gcm) => TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        (TlsVersion::V12, Cipher::Aes256Gcm) => TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        (TlsVersion::V12, _) => TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    }
}

/// A client that speaks nothing else than this, and gives its keys away.
fn client(records: TlsRecords) -> ClientConnection {
    let certificate = CertificateDer::from_pem_file(test_data("server.pem")).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let provider = rustls::crypto::CryptoProvider {
        cipher_suites: vec![suite(records)],
        ..rustls::crypto::ring::default_provider()
    };
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.enable_secret_extraction = true;
    ClientConnection::new(Arc::new(config), "a.test".try_into().unwrap()).unwrap()
}

fn server() -> ServerConnection {
    let certificate = CertificateDer::from_pem_file(test_data("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(test_data("key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.send_tls13_tickets = 0; // they would be the first records
    ServerConnection::new(Arc::new(config)).unwrap()
}

/// The two halves of a client that has shaken hands.
fn halves(records: TlsRecords, client: ClientConnection) -> (Sealer, Opener) {
    let secrets = client.dangerous_extract_secrets().unwrap();
    let session = |secrets: &ConnectionTrafficSecrets| match secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv }
        | ConnectionTrafficSecrets::Aes256Gcm { key, iv }
        | ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
            TlsSession::with_keys(records, key.as_ref(), iv.as_ref().try_into().unwrap())
        }
        _ => panic!("a cipher that is not zc's"),
    };
    let ((sent, sending), (received, receiving)) = (secrets.tx, secrets.rx);
    let (mut sealer, mut opener) =
        (Sealer::new(&session(&sending)), Opener::new(&session(&receiving)));
    (sealer.number, opener.number) = (sent, received);
    (sealer, opener)
}

#[test]
fn rustls_reads_what_is_sealed_with_the_keys_of_its_handshake_and_is_read() {
    for records in all() {
        let (mut client, mut server) = (client(records), server());
        while client.is_handshaking() || server.is_handshaking() {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).unwrap();
            server.read_tls(&mut &*wire).unwrap();
            server.process_new_packets().unwrap();
            wire.clear();
            server.write_tls(&mut wire).unwrap();
            if !wire.is_empty() {
                client.read_tls(&mut &*wire).unwrap();
                client.process_new_packets().unwrap();
            }
        }
        let (mut sealer, mut opener) = halves(records, client);
        for payload in [&b"to rustls"[..], &[42; 12_345]] {
            let record = sealed(&mut sealer, records, payload);
            let mut wire = &*record;
            while !wire.is_empty() {
                server.read_tls(&mut wire).unwrap();
                server.process_new_packets().unwrap_or_else(|error| panic!("{records:?}: {error}"));
            }
            let mut read = vec![0; payload.len()];
            server.reader().read_exact(&mut read).unwrap();
            assert!(read == payload, "{records:?}");

            server.writer().write_all(payload).unwrap();
            let mut record = Vec::new();
            server.write_tls(&mut record).unwrap();
            assert!(opened(&mut opener, &mut record) == payload, "{records:?}");
        }
    }
}

#[test]
fn openssl_reads_what_is_sealed_with_the_keys_of_its_handshake() {
    for records in all() {
        let mut command = Command::new("openssl");
        command
            .args(["s_server", "-accept", "127.0.0.1:0", "-naccept", "1", "-cert"])
            .arg(test_data("server.pem"))
            .arg("-key")
            .arg(test_data("key.pem"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let Ok(mut openssl) = command.spawn() else {
            return eprintln!("skipped: there is no openssl(1) here");
        };
        let mut lines = BufReader::new(openssl.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("ACCEPT ") {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it has ended");
        }
        let address = line.trim_start_matches("ACCEPT ").trim();
        let mut socket = TcpStream::connect(address).unwrap();
        let mut client = client(records);
        while client.is_handshaking() {
            client.complete_io(&mut socket).unwrap();
        }
        let (mut sealer, _) = halves(records, client);
        for payload in [&b"sealed by zc, "[..], b"read by OpenSSL\n"] {
            socket.write_all(&sealed(&mut sealer, records, payload)).unwrap();
        }
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let mut read = String::new();
        lines.read_to_string(&mut read).unwrap();
        openssl.wait().unwrap();
        assert!(read.contains("sealed by zc, read by OpenSSL\n"), "{records:?}: {read}");
    }
}
