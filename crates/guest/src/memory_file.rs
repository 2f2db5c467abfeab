//! Files without names: what a guest needs and leaves is gone with the processes that hold it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};

use rustix::fs::{MemfdFlags, memfd_create};

/// A file in memory.
pub(crate) struct MemoryFile(File);

impl MemoryFile {
    /// # Errors
    /// memfd_create(2) failed.
    pub(crate) fn create(name: &str) -> io::Result<Self> {
        Ok(Self(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?)))
    }

    pub(crate) fn file(&self) -> &File {
        &self.0
    }

    /// Its contents as text.
    pub(crate) fn text(&self) -> String {
        let mut bytes = Vec::new();
        let mut file = &self.0;
        // A file in memory can be read.
        let _ = file.rewind().and_then(|()| file.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
