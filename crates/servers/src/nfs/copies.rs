//! Whether the kernel's NFS server copies what it sends: it splices pages of the page cache into
//! its answer, or reads the file into a buffer of its own.
//!
//! It passes another trace point for each (Linux, fs/nfsd/trace.h). It copies what it signs or
//! encrypts (Kerberos, krb5i and krb5p), and files of file systems that cannot be spliced.

use std::fs;

use zc_kernel::netns::mount_own_tracefs;
use zc_kernel::perf::TracePoint;

/// The trace points of the READs that are spliced, and of those that are copied.
const POINTS: [&str; 2] = ["nfsd_read_splice", "nfsd_read_vector"];

/// Counts of the READs of a CPU.
#[derive(Debug)]
pub struct Copies {
    cpu: usize,
    points: Option<[TracePoint; 2]>,
}

impl Copies {
    /// Counts on the server's CPU.
    pub fn on(cpu: usize) -> Self {
        Self { cpu, points: None }
    }

    /// Begins to count, if the kernel has the trace points by now and this process may: they come
    /// with the server's module. Returns [`counts`](Self::counts).
    pub fn watch(&mut self) -> Option<[u64; 2]> {
        if self.points.is_none() {
            self.points = self.open();
        }
        self.counts()
    }

    fn open(&self) -> Option<[TracePoint; 2]> {
        // In a thread of its own, which leaves this process where it is.
        let ids = || {
            mount_own_tracefs().ok()?;
            let id = |name: &str| {
                let place = format!("/sys/kernel/tracing/events/nfsd/{name}/id");
                fs::read_to_string(place).ok()?.trim().parse::<u64>().ok()
            };
            Some([id(POINTS[0])?, id(POINTS[1])?])
        };
        let ids = std::thread::scope(|scope| {
            std::thread::Builder::new().spawn_scoped(scope, ids).ok()?.join().ok()?
        });
        let [spliced, copied] = ids?.map(|id| TracePoint::open(id, self.cpu).ok());
        Some([spliced?, copied?])
    }

    /// READs that were spliced and copied since then; `None`: it is not known.
    pub fn counts(&self) -> Option<[u64; 2]> {
        let [spliced, copied] = self.points.as_ref()?;
        Some([spliced.passed().ok()?, copied.passed().ok()?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_server_nothing_is_known() {
        let mut copies = Copies::on(0);
        assert_eq!(copies.counts(), None);
        let watched = copies.watch();
        if !super::super::program::has_file_system("nfsd") {
            assert_eq!(watched, None);
        }
    }
}
