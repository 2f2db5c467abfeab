//! READs of NFS by another machine, as a rig has them made.

use super::client::{Client, Transport};
use super::protocol::{FarFile, NfsWanted};
use zc_load::Fetched;
use zc_run::{Error, Result};
use zc_servers::{AskedFor, CallsOf, Opened, RemoteLoad};

/// A client of NFS on another machine.
#[derive(Debug)]
pub struct FarReads<T> {
    client: Client<T>,
    /// The origins.
    calls: Vec<CallsOf>,
    depth: usize,
    same_machine: bool,
}

impl<T: Transport> FarReads<T> {
    /// Has the other machine start it.
    ///
    /// # Errors
    /// It refuses, or cannot.
    pub fn start(mut client: Client<T>, wanted: NfsWanted) -> Result<Self> {
        let same_machine = client.nfs(wanted)?;
        Ok(Self { client, calls: Vec::new(), depth: 1, same_machine })
    }

    /// Whether it is this machine.
    pub fn same_machine(&self) -> bool {
        self.same_machine
    }

    /// Has it open a file, which gets the next number, like
    /// [`Reader::open`](zc_servers::Reader::open).
    ///
    /// # Errors
    /// Same as there.
    pub fn open(&mut self, file: FarFile) -> Result<Opened> {
        self.client.open_nfs(file)
    }

    /// The load that makes these calls, `depth` of them at a time at most.
    pub fn into_load(self, calls: Vec<CallsOf>, depth: usize) -> Self {
        Self { calls, depth, ..self }
    }
}

impl<T: Transport> RemoteLoad for FarReads<T> {
    fn fetch(&mut self, _: usize) -> Result<Fetched> {
        Err(Error::failed("not-http", "a READ of NFS is no response of HTTP"))
    }

    /// It is seen by the next calls.
    fn look(&mut self) -> Result<()> {
        Ok(())
    }

    fn go(&mut self, origin: usize, per_s: Option<f64>, begins_in_ns: u64) -> Result<()> {
        let calls = self.calls.get(origin).copied();
        let calls = calls.ok_or_else(|| Error::failed("protocol", "there is no such file"))?;
        self.client.go_nfs(calls, self.depth, per_s, begins_in_ns)
    }

    fn pause(&mut self) -> Result<AskedFor> {
        self.client.pause()
    }
}
