//! Loading the programs of an object, and the errors.

use std::error::Error;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use aya::maps::Map;
use aya::programs::{Program, ProgramError};
use aya::{Ebpf, EbpfLoader};

/// Step of loading and attaching a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Creating the map.
    Map,
    /// Loading the program, which the kernel verifies.
    Load,
    /// Attaching the program to the device.
    Attach,
    /// Mapping the map into this process.
    Mmap,
}

/// Failure to load or attach a program.
#[derive(Debug)]
pub struct BpfError {
    /// Step that failed.
    pub stage: Stage,
    /// Answer of the kernel.
    pub error: io::Error,
    /// Message of aya.
    pub detail: String,
}

impl fmt::Display for BpfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.detail, self.error)
    }
}

impl Error for BpfError {}

/// Creates the maps of an object. Programs and maps live as long as what is returned, or as they
/// are attached.
pub(super) fn object(bytes: &[u8]) -> Result<Ebpf, BpfError> {
    // `Ebpf::load` reads the kernel's types twice.
    EbpfLoader::new().load(bytes).map_err(|error| innermost_error(Stage::Map, &error))
}

/// A program of an object, by its type.
pub(super) fn program<'e, P>(ebpf: &'e mut Ebpf, name: &str) -> Result<&'e mut P, BpfError>
where
    &'e mut P: TryFrom<&'e mut Program, Error = ProgramError>,
{
    ebpf.program_mut(name)
        .ok_or_else(|| missing(Stage::Load, format!("the object has no program \"{name}\"")))?
        .try_into()
        .map_err(|error| innermost_error(Stage::Load, &error))
}

pub(super) fn array<'e>(ebpf: &'e Ebpf, name: &str) -> Result<BorrowedFd<'e>, BpfError> {
    match ebpf.map(name) {
        Some(Map::Array(map)) => Ok(map.fd().as_fd()),
        _ => Err(missing(Stage::Mmap, format!("the object has no array \"{name}\""))),
    }
}

/// Whether the kernel still has the program with this id, by bpf(2), BPF_PROG_GET_NEXT_ID.
///
/// # Errors
/// - EPERM: CAP_SYS_ADMIN is needed.
///
/// # References
/// [bpf(2)]
///
/// [bpf(2)]: https://man7.org/linux/man-pages/man2/bpf.2.html
#[doc(alias = "bpf")]
#[doc(alias = "BPF_PROG_GET_NEXT_ID")]
pub fn is_loaded(program_id: u32) -> io::Result<bool> {
    for program in aya::programs::loaded_programs() {
        match program.map_err(|error| innermost_error(Stage::Load, &error).error) {
            Ok(program) if program.id() == program_id => return Ok(true),
            Ok(_) => {}
            // It was unloaded between listing and reading it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

pub(super) fn missing(stage: Stage, message: String) -> BpfError {
    BpfError { stage, error: io::Error::from(io::ErrorKind::InvalidData), detail: message }
}

/// The error of the innermost system call in aya's error.
pub(super) fn innermost_error(stage: Stage, error: &(dyn Error + 'static)) -> BpfError {
    let mut found = None;
    let mut next = Some(error);
    while let Some(error) = next {
        found = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error).or(found);
        next = error.source();
    }
    let bottom =
        found.map_or_else(|| io::Error::from(io::ErrorKind::Other), io::Error::from_raw_os_error);
    BpfError { stage, error: bottom, detail: error.to_string() }
}
