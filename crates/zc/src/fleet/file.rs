//! Reads the file that describes a fleet.

use std::path::Path;

use crate::{read, tell};
use zc_fleet::FleetFile;
use zc_fleet::fleet_file::Engine;
use zc_run::{Error, Result, without_bom};

/// The largest file of a fleet.
pub(super) const LARGEST_BYTES: u64 = 16 << 20;

/// The fleet of a file. `engine` is in place of the file's own.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): it cannot be read, or describes none.
pub(super) fn read(path: &Path, engine: Option<Engine>) -> Result<FleetFile> {
    let name = tell::path(path);
    let bytes = read::bytes(path, LARGEST_BYTES, |what| wrong(&name, what))?
        .ok_or_else(|| wrong(&name, "it is larger than any description of a fleet"))?;
    parsed(&bytes, &name, engine)
}

/// The fleet of the content of a file.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): it describes none.
pub(super) fn parsed(bytes: &[u8], name: &str, engine: Option<Engine>) -> Result<FleetFile> {
    let text = std::str::from_utf8(without_bom(bytes));
    let text = text.map_err(|_| wrong(name, "it is no text in UTF-8"))?;
    FleetFile::parse(text, name, engine)
}

fn wrong(name: &str, what: &str) -> Error {
    Error::input("cannot-read-fleet", format!("cannot read the fleet \"{name}\": {what}"))
        .help("docs/fleet.md describes the file, with an example")
}
