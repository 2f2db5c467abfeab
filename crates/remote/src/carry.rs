//! Carries zc to a far end that has none: the script there asks for it (via.sh), and it is sent
//! over the same stream. What can be carried is decided here, from what the far end has said about
//! itself and from the program's own header.
//!
//! A program that needs libraries of this machine may not find them at the far end. That shows when
//! it is started there, by way of trial, and the error says so.

mod elf;

use std::fmt;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use elf::Elf;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

use super::hex::hex;
use zc_run::{Error, Result, in_words};

/// This program, also where its file has been replaced or removed since it was started.
const OWN: &str = "/proc/self/exe";

/// Longest program that is carried. A static zc has 15 MB, one with debug information 90 MB.
const MOST_BYTES: u64 = 256 << 20;

/// The rate below which a stream is given up.
const SLOWEST_BYTES_PER_S: u64 = 16 << 10;

/// Action when the far end has no zc of this protocol.
#[derive(Debug, Clone)]
pub enum Carry {
    /// This program is carried there, if it can run there.
    Own,
    /// The user has named a program to carry.
    Named(Program),
    /// Nothing is carried.
    Never,
}

/// A program in memory.
#[derive(Clone)]
pub struct Program {
    bytes: Arc<[u8]>,
    elf: Elf,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({} bytes, {:?})", self.bytes.len(), self.elf)
    }
}

impl Program {
    /// The program in a file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a program.
    pub fn of_file(path: &Path) -> Result<Self> {
        let name = format!("\"{}\"", path.display());
        let cannot = |error| {
            let error = Error::os(format!("read the program {name}"), error);
            error.id("cannot-read-file").kind(zc_run::ErrorKind::Input)
        };
        let meta = std::fs::metadata(path).map_err(cannot)?;
        let no_program = || {
            Error::input("not-an-elf-file", format!("{name} is not a program (an ELF file)"))
                .help("a zc for the far machine, statically linked: docs/install.md")
        };
        if !meta.is_file() || meta.len() > MOST_BYTES {
            return Err(no_program());
        }
        let bytes = std::fs::read(path).map_err(cannot)?;
        let elf = Elf::parse(&bytes).ok_or_else(no_program)?;
        Ok(Self { bytes: bytes.into(), elf })
    }

    fn own() -> std::result::Result<Self, Refusal> {
        let unreadable = |why: &str| Refusal::Unreadable(why.to_owned());
        let bytes = std::fs::read(OWN).map_err(|error| unreadable(&in_words(&error)))?;
        let elf = Elf::parse(&bytes).ok_or_else(|| unreadable("it is not an ELF file"))?;
        Ok(Self { bytes: bytes.into(), elf })
    }

    /// A program of these bytes for an unknown processor, as if linked statically.
    #[cfg(test)]
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        Self { bytes: bytes.into(), elf: Elf { machine: None, is_static: true } }
    }
}

/// The far end's description of itself in its request for a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// It can unpack gzip.
    pub(super) unpacks: bool,
    /// Kernel and processor, as `uname -s -m` names them.
    pub(super) system: String,
    /// Tools, or /proc, that it needs to take a program but does not have.
    pub(super) lacks: String,
}

/// Why nothing is carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The user does not want it.
    Never,
    /// The program is for another kernel or processor: its own, and that of the far end.
    OtherSystem { own: String, far: String },
    /// The far end lacks tools.
    Lacks(String),
    /// This program cannot read itself.
    Unreadable(String),
}

impl Refusal {
    /// The reason in words; `None` where the user knows it.
    pub(super) fn reason(&self) -> Option<String> {
        match self {
            Self::Never => None,
            Self::OtherSystem { own, far } => {
                let far = if far.is_empty() { "of an unknown kind" } else { far };
                Some(format!("it is for {own}, the far end is {far}"))
            }
            Self::Lacks(tools) => Some(format!("the far end lacks {}", tools.replace(' ', ", "))),
            Self::Unreadable(why) => Some(format!("it cannot read itself ({why})")),
        }
    }

    /// The remedy with which it would be carried; `None` if there is none.
    pub(super) fn remedy(&self) -> Option<String> {
        match self {
            Self::Never => Some("leave out --no-carry, and this zc is carried there".to_owned()),
            Self::OtherSystem { far, .. } if far.starts_with("Linux ") => {
                Some(format!("name a static zc for {far} by --carry (docs/install.md)"))
            }
            Self::OtherSystem { .. } | Self::Lacks(_) | Self::Unreadable(_) => None,
        }
    }
}

/// A program as it is sent.
#[derive(Debug)]
pub(super) struct Offer {
    /// The bytes of the stream.
    pub(super) sent: Vec<u8>,
    /// It needs no libraries.
    pub(super) is_static: bool,
    /// Bytes of the program.
    bytes: usize,
    sha256: String,
}

/// A program that was carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// Its size in bytes.
    pub bytes: usize,
    /// Bytes sent for it; fewer where they are compressed.
    pub sent_bytes: usize,
    /// The folder in which its file is made.
    pub place: String,
}

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mb = |bytes: usize| bytes as f64 / 1e6;
        write!(
            f,
            "zc is carried to the far end, which has none of this protocol: {:.1} MB to \"{}\", \
             {:.1} MB of them sent; the file has no name there and is gone when zc ends",
            mb(self.bytes),
            self.place,
            mb(self.sent_bytes)
        )
    }
}

impl Carry {
    /// The program for a far end that has asked for one.
    ///
    /// # Errors
    /// None can be carried, or none is to be.
    pub(super) fn offer(&self, wanted: &Wanted) -> std::result::Result<Offer, Refusal> {
        let program = match self {
            Self::Never => return Err(Refusal::Never),
            Self::Own => Program::own()?,
            Self::Named(program) => program.clone(),
        };
        // A processor that is not known here may be the right one: the far end will see.
        if let Some(machine) = program.elf.machine
            && wanted.system != format!("Linux {machine}")
        {
            let own = format!("Linux {machine}");
            return Err(Refusal::OtherSystem { own, far: wanted.system.clone() });
        }
        if !wanted.lacks.is_empty() {
            return Err(Refusal::Lacks(wanted.lacks.clone()));
        }
        Ok(Offer {
            sent: if wanted.unpacks { packed(&program.bytes) } else { program.bytes.to_vec() },
            is_static: program.elf.is_static,
            bytes: program.bytes.len(),
            sha256: hex(&Sha256::digest(&program.bytes)),
        })
    }
}

impl Offer {
    /// The line that announces it.
    pub(super) fn line(&self) -> String {
        format!("carry {} {} {}\n", self.sent.len(), self.bytes, self.sha256)
    }

    /// Report on the carried program, once its place is known.
    pub(super) fn carried_to(&self, place: &str) -> Carried {
        Carried { bytes: self.bytes, sent_bytes: self.sent.len(), place: place.to_owned() }
    }

    /// Time that sending it may take.
    pub(super) fn patience(&self) -> Duration {
        Duration::from_secs(self.sent.len() as u64 / SLOWEST_BYTES_PER_S)
    }
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to a Vec cannot fail.
    let _ = gzip.write_all(bytes);
    gzip.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(machine: &'static str) -> Carry {
        let elf = Elf { machine: Some(machine), is_static: false };
        Carry::Named(Program { bytes: vec![7; 100_000].into(), elf })
    }

    fn far(system: &str) -> Wanted {
        Wanted { unpacks: true, system: system.to_owned(), lacks: String::new() }
    }

    #[test]
    fn a_program_goes_only_to_its_own_kernel_and_processor() {
        assert!(named("aarch64").offer(&far("Linux aarch64")).is_ok());
        for system in ["Linux x86_64", "Linux armv8l", "FreeBSD aarch64", "aarch64", ""] {
            let refusal = named("aarch64").offer(&far(system)).unwrap_err();
            let expected =
                Refusal::OtherSystem { own: "Linux aarch64".to_owned(), far: system.to_owned() };
            assert_eq!(refusal, expected);
        }
        let unknown = Carry::Named(Program::of_bytes(b"x"));
        assert!(unknown.offer(&far("Linux m68k")).is_ok());
    }

    #[test]
    fn nothing_goes_where_it_is_not_wanted_or_tools_are_missing() {
        assert_eq!(Carry::Never.offer(&far("Linux x86_64")).unwrap_err(), Refusal::Never);
        let wanted = Wanted { lacks: "mktemp /proc".to_owned(), ..far("Linux aarch64") };
        let refusal = named("aarch64").offer(&wanted).unwrap_err();
        assert_eq!(refusal, Refusal::Lacks("mktemp /proc".to_owned()));
    }

    #[test]
    fn this_program_is_carried_and_it_is_known_whether_it_needs_libraries() {
        let machine = rustix::system::uname().machine().to_string_lossy().into_owned();
        let offered = Carry::Own.offer(&far(&format!("Linux {machine}"))).unwrap();
        assert_eq!(offered.is_static, cfg!(target_feature = "crt-static"));
    }

    #[test]
    fn it_is_sent_in_gzip_where_that_can_be_unpacked() {
        use std::io::Read as _;
        let offer = named("aarch64").offer(&far("Linux aarch64")).unwrap();
        assert!(offer.sent.len() < 1000);
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(&offer.sent[..]).read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, [7; 100_000]);
        let digest = hex(&Sha256::digest(&bytes));
        assert_eq!(offer.line(), format!("carry {} 100000 {digest}\n", offer.sent.len()));
        let plain = Wanted { unpacks: false, ..far("Linux aarch64") };
        assert_eq!(named("aarch64").offer(&plain).unwrap().sent, bytes);
    }

    #[test]
    fn a_file_that_is_no_program_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("zc.sh");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        for path in [script.as_path(), folder.path(), Path::new("/dev/zero")] {
            let error = Program::of_file(path).unwrap_err();
            assert_eq!((error.kind, &*error.id), (zc_run::ErrorKind::Input, "not-an-elf-file"));
        }
        let error = Program::of_file(&folder.path().join("missing")).unwrap_err();
        assert_eq!(error.kind, zc_run::ErrorKind::Input);
        assert!(Program::of_file(Path::new(OWN)).is_ok());
    }
}
