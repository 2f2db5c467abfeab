//! The token that client and server share. Only proofs of it are sent, never the token.

use std::fs::File;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use zc_kernel::named_file;
use zc_run::{Error, Result, shell_word, without_bom};

/// Longest content of a token file.
const MOST_BYTES: usize = 4 << 10;

/// Shortest token. An eavesdropper on a handshake can test guesses offline, about 10^8 per second
/// and CPU. No memorable word withstands that; the limit excludes those that are found at once.
const FEWEST_BYTES: usize = 16;

/// Random bytes of a one-time token: 160 bits.
const ONE_TIME_BYTES: usize = 20;

/// Crockford's base 32: no letter looks like a digit, and a double click selects the whole token.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Bytes of a nonce and of a proof.
pub const BYTES: usize = 32;

/// A token, or none.
#[derive(Clone)]
pub struct Secret {
    /// Empty if no token is required.
    key: Vec<u8>,
    one_time: bool,
}

/// Label of a session's key (docs/protocol.md).
const FLOWS: &[u8] = b"zc flows\0";

/// Key with which the server proves, on each connection of a flow, that it is the server of the
/// session.
#[derive(Clone, Copy, Default)]
pub struct SessionKey([u8; BYTES]);

impl std::fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionKey(..)")
    }
}

impl SessionKey {
    /// The server's answer to a greeting: HMAC-SHA256(key, greeting), RFC 2104.
    pub fn answer(&self, greeting: &[u8]) -> [u8; BYTES] {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of every length");
        mac.update(greeting);
        mac.finalize().into_bytes().into()
    }
}

/// Leaves out the token, which belongs in no log.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_open() { "Secret(open)" } else { "Secret(..)" })
    }
}

impl Secret {
    /// No token: every client that reaches the socket is admitted. For loopback only.
    pub fn open() -> Self {
        Self { key: Vec::new(), one_time: false }
    }

    /// A random token that opens one session, and its text for the client.
    ///
    /// # Errors
    /// The kernel gives no random bytes. Only a seccomp filter is known to cause that
    /// (getrandom(2)).
    pub fn one_time() -> Result<(Self, String)> {
        let word: String = random::<ONE_TIME_BYTES>()?
            .chunks(5)
            .flat_map(|five| {
                let bits = five.iter().fold(0_u64, |bits, &byte| bits << 8 | u64::from(byte));
                (0..8)
                    .rev()
                    .map(move |place| char::from(ALPHABET[(bits >> (5 * place) & 31) as usize]))
            })
            .collect();
        Ok((Self { key: word.clone().into_bytes(), one_time: true }, word))
    }

    /// A token that was typed or pasted. Surrounding white space is ignored.
    ///
    /// # Errors
    /// It is empty, too short to be a secret, or too long.
    pub fn from_word(word: &str) -> Result<Self> {
        Self::from_bytes(word.trim().as_bytes(), "the token")
    }

    /// The token in the first line of a file.
    ///
    /// # Errors
    /// The file cannot be read, others than its owner may read or write it, or it is longer than 4
    /// KiB. It holds no token, or one that is too short.
    pub fn from_file(path: &Path) -> Result<Self> {
        let name = format!("token file \"{}\"", path.display());
        let read = |error| Error::os(format!("read {name}"), error).kind(zc_run::ErrorKind::Input);
        let file = File::open(path).map_err(read)?;
        // Metadata of the opened file, not of the name, which may lead elsewhere by then.
        let meta = file.metadata().map_err(read)?;
        let mode = meta.permissions().mode();
        // The service manager gives a credential to this service alone: by its owner, or by an
        // access list, whose mask stat(2) shows as the rights of the group.
        let checked = meta.is_file() && !is_credential(path);
        if checked && mode & 0o077 != 0 {
            return Err(Error::input(
                "token-file-readable-by-others",
                format!("{name} can be used by others than its owner (mode {:04o})", mode & 0o7777),
            )
            .help(format!("chmod 600 {}", shell_word(&path.display().to_string()))));
        }
        let us = zc_kernel::process::euid();
        if checked && meta.uid() != us && us != 0 {
            return Err(Error::input(
                "token-file-of-another-user",
                format!("{name} belongs to another user (uid {})", meta.uid()),
            )
            .help("a token is for one's own eyes: have it in a file of your own"));
        }
        let Some(bytes) = named_file::bytes(file, MOST_BYTES as u64).map_err(read)? else {
            return Err(Error::input("token-too-long", format!("{name} is longer than 4 KiB"))
                .help("its first line is the token"));
        };
        let line = without_bom(&bytes).split(|&byte| byte == b'\n').next().unwrap_or_default();
        Self::from_bytes(line.trim_ascii(), &name)
    }

    fn from_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        let help = "head -c 20 /dev/urandom | od -An -tx1 | tr -d ' \\n' makes a good one";
        if bytes.is_empty() {
            return Err(Error::input("token-empty", format!("{name} is empty")).help(help));
        }
        if bytes.len() < FEWEST_BYTES {
            let error = format!(
                "{name} is too short to be a secret: it has {} bytes, not {FEWEST_BYTES}",
                bytes.len()
            );
            return Err(Error::input("token-too-short", error).help(help));
        }
        if bytes.len() > MOST_BYTES {
            return Err(
                Error::input("token-too-long", format!("{name} is longer than 4 KiB")).help(help)
            );
        }
        Ok(Self { key: bytes.to_vec(), one_time: false })
    }

    /// Whether no token is required.
    pub fn is_open(&self) -> bool {
        self.key.is_empty()
    }

    /// Whether it opens one session only.
    pub fn is_one_time(&self) -> bool {
        self.one_time
    }

    /// Proof of knowing the token: HMAC-SHA256(token, label, nonces), RFC 2104.
    pub(super) fn proof(&self, label: &[u8], nonces: &[[u8; BYTES]; 2]) -> [u8; BYTES] {
        self.mac(label, nonces).finalize().into_bytes().into()
    }

    /// The key of the session that a handshake with these nonces opens. Both ends have it, and
    /// nobody else.
    pub(super) fn session_key(&self, nonces: &[[u8; BYTES]; 2]) -> SessionKey {
        SessionKey(self.proof(FLOWS, nonces))
    }

    /// Whether `proof` is correct. The comparison takes constant time.
    pub(super) fn is_proven(
        &self,
        label: &[u8],
        nonces: &[[u8; BYTES]; 2],
        proof: &[u8; BYTES],
    ) -> bool {
        self.mac(label, nonces).verify_slice(proof).is_ok()
    }

    fn mac(&self, label: &[u8], nonces: &[[u8; BYTES]; 2]) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes keys of every length");
        mac.update(label);
        nonces.iter().for_each(|nonce| mac.update(nonce));
        mac
    }
}

/// Unpredictable bytes from the kernel.
///
/// # Errors
/// A seccomp filter forbids it.
pub(super) fn random<const N: usize>() -> Result<[u8; N]> {
    zc_kernel::random::array().map_err(|error| Error::os("get random bytes", error))
}

/// Whether a file is a credential that the service manager put into this service's own folder
/// (systemd.exec(5), `LoadCredential=`).
fn is_credential(path: &Path) -> bool {
    std::env::var_os("CREDENTIALS_DIRECTORY").is_some_and(|folder| {
        let folder = Path::new(&folder);
        folder.is_absolute() && path.parent() == Some(folder)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const NONCES: [[u8; BYTES]; 2] = [[1; BYTES], [2; BYTES]];

    fn file(text: &[u8], mode: u32) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it's a token");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        (folder, path)
    }

    #[test]
    fn the_proof_is_hmac_sha256() {
        // RFC 4231, test case 2.
        let secret = Secret { key: b"Jefe".to_vec(), one_time: false };
        let mut mac = Hmac::<Sha256>::new_from_slice(&secret.key).unwrap();
        mac.update(b"what do ya want for nothing?");
        let proof: [u8; 32] = mac.finalize().into_bytes().into();
        assert_eq!(proof[..4], [0x5b, 0xdc, 0xc1, 0x46]);
    }

    #[test]
    fn a_proof_is_valid_only_for_its_token_label_and_nonces() {
        let secret = Secret::from_word("sixteen letters.").unwrap();
        let proof = secret.proof(b"label", &NONCES);
        assert!(secret.is_proven(b"label", &NONCES, &proof));
        assert!(!secret.is_proven(b"other", &NONCES, &proof));
        assert!(!secret.is_proven(b"label", &[NONCES[1], NONCES[0]], &proof));
        assert!(!Secret::open().is_proven(b"label", &NONCES, &proof));
        assert!(
            !Secret::from_word("sixteen letters,").unwrap().is_proven(b"label", &NONCES, &proof)
        );
    }

    #[test]
    fn a_one_time_token_is_the_word_that_comes_with_it_and_no_two_are_the_same() {
        let (secret, word) = Secret::one_time().unwrap();
        let (_, other) = Secret::one_time().unwrap();
        assert!(
            word.len() == 32 && word.bytes().all(|byte| ALPHABET.contains(&byte)) && word != other,
            "{word} {other}"
        );
        assert_eq!(Secret::from_word(&format!(" {word}\n")).unwrap().key, secret.key);
        assert!(secret.is_one_time() && !secret.is_open());
        assert_eq!(format!("{secret:?}"), "Secret(..)");
    }

    #[test]
    fn words_that_are_unfit_as_a_secret_are_refused() {
        let long = "x".repeat(5000);
        for (word, is) in
            [("", "empty"), (" \n", "empty"), ("short", "too-short"), (&long, "too-long")]
        {
            let error = Secret::from_word(word).unwrap_err();
            assert_eq!(error.id, format!("token-{is}"));
            assert!(error.help.is_some());
        }
    }

    #[test]
    fn the_token_is_the_first_line_of_its_file() {
        let (_folder, path) = file(b"  sixteen letters.\r\nand notes\n", 0o600);
        assert_eq!(Secret::from_file(&path).unwrap().key, b"sixteen letters.");
        let (_folder, path) = file(b"\xef\xbb\xbfsixteen letters.\r\n", 0o600);
        let after_a_mark = Secret::from_file(&path).unwrap();
        assert_eq!(after_a_mark.key, b"sixteen letters.", "a byte order mark is no part of it");
    }

    #[test]
    fn a_token_file_that_others_may_read_is_refused_with_the_command_that_helps() {
        for mode in [0o640, 0o604, 0o620] {
            let (_folder, path) = file(b"sixteen letters.\n", mode);
            let error = Secret::from_file(&path).unwrap_err();
            assert_eq!(error.id, "token-file-readable-by-others");
            assert!(error.message.contains(&format!("{mode:04o}")), "{error}");
            let help = error.help.unwrap();
            assert!(
                help.starts_with("chmod 600 '") && help.ends_with(r"/it'\''s a token'"),
                "{help}"
            );
        }
    }

    #[test]
    fn a_file_without_a_token_is_an_error_that_names_it() {
        for (text, id) in [
            (&b"\ntoken in the second line\n"[..], "token-empty"),
            (&[b'x'; 4097], "token-too-long"),
        ] {
            let (_folder, path) = file(text, 0o600);
            let error = Secret::from_file(&path).unwrap_err();
            assert!(error.id == id && error.message.contains("it's a token"), "{error:?}");
        }
        let error = Secret::from_file(Path::new("/nonexistent")).unwrap_err();
        assert!(error.message.contains("\"/nonexistent\""), "{error}");
        assert!(Secret::from_file(Path::new("/proc")).is_err());
    }
}
