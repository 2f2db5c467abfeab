//! The resident copy: the file set in anonymous memory, for paths that send from memory. It is read
//! once and never changed, so no page is reused while the kernel may still read it.
//!
//! Every file begins on a page of its own, as in the page cache, so that a piece spans as few pages
//! here as there.
//!
//! The kind of pages matters. The kernel merges pages that are adjacent in physical memory into one
//! fragment of a packet (`skb_can_coalesce`, include/linux/skbuff.h), and paths that send from here
//! cost up to a quarter less then. Whether pages touched in order are adjacent is a matter of
//! chance: 4 to 74 % of them were in runs on one machine. So the kind is chosen: scattered pages,
//! as those of a program that has run for a while ([`CopyPages::Scattered`]), or huge pages. Where
//! all memory gets huge pages (`/sys/kernel/mm/transparent_hugepage/enabled` is `always`), the
//! scattered ones are huge too, as a server's own would be.

use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::huge_pages;
use crate::workload::{FileSet, Piece, available_bytes};
use zc_kernel::pages::Pages;
use zc_run::{CopyPages, Unavailable};

/// Alignment of the files, so that a piece spans no more pages than in the page cache.
const ALIGNMENT: usize = 4096;

/// The resident copies of a file set, one for each kind of pages. Each is made on first use and
/// shared by all paths and trials of a run.
#[derive(Debug, Default)]
pub struct Resident {
    scattered: Copied,
    huge: Copied,
}

type Copied = OnceLock<Result<Arc<ResidentCopy>, Unavailable>>;

/// The bytes of a file set in memory.
#[derive(Debug)]
pub struct ResidentCopy {
    pages: Arc<Pages>,
    /// Offset of each file.
    starts: Vec<usize>,
}

impl Resident {
    /// The copy of `files` in these pages, which the first call makes. All calls must pass the same
    /// file set.
    ///
    /// # Errors
    /// The set does not fit into half of the memory that is available, a file could not be read
    /// whole, or there are no huge pages. The result is final: later calls return the same one.
    pub fn copy_of(
        &self,
        files: &FileSet,
        pages: CopyPages,
    ) -> Result<&Arc<ResidentCopy>, Unavailable> {
        let copied = match pages {
            CopyPages::Scattered => &self.scattered,
            CopyPages::Huge => &self.huge,
        };
        let read = || ResidentCopy::read(files, pages, available_bytes()).map(Arc::new);
        copied.get_or_init(read).as_ref().map_err(Clone::clone)
    }
}

impl ResidentCopy {
    fn read(files: &FileSet, kind: CopyPages, available: Option<u64>) -> Result<Self, Unavailable> {
        let mut starts = Vec::with_capacity(files.files.len());
        let mut total = 0_u64;
        for file in files.files.iter() {
            starts.push(total);
            total = total
                .saturating_add(file.len)
                .div_ceil(ALIGNMENT as u64)
                .saturating_mul(ALIGNMENT as u64);
        }
        let too_big = |room: &str| {
            Unavailable::refused(format!("the file set needs {total} bytes of memory, and {room}"))
                .remedy("give fewer or smaller files with --files")
        };
        if let Some(available) = available
            && total > available / 2
        {
            return Err(too_big(&format!("half of what is available is {}", available / 2)));
        }
        let mut pages = usize::try_from(total)
            .map_err(|_| too_big("this machine cannot address it"))
            .and_then(|len| {
                let no_room = |_| too_big("the kernel did not give it");
                match kind {
                    CopyPages::Scattered => Pages::new(len).map_err(no_room),
                    CopyPages::Huge => Pages::huge(len, huge_pages::size()?).map_err(no_room),
                }
            })?;
        let memory = pages.as_mut_slice();
        touch_in_no_order(memory);
        if kind == CopyPages::Huge {
            huge_pages::given(memory)?;
        }
        // Every start is at most `total`, which has just been found to fit.
        let starts: Vec<usize> = starts.into_iter().map(|start| start as usize).collect();
        for (file, &start) in files.files.iter().zip(&starts) {
            let place = &mut memory[start..start + file.len as usize];
            file.file.read_exact_at(place, 0).map_err(|error| {
                Unavailable::failed(if error.kind() == std::io::ErrorKind::UnexpectedEof {
                    format!(
                        "file \"{}\" has become shorter than the {} bytes it had",
                        file.name, file.len
                    )
                } else {
                    format!("cannot read file \"{}\": {error}", file.name)
                })
            })?;
        }
        Ok(Self { pages: Arc::new(pages), starts })
    }

    /// The memory of all files.
    pub fn pages(&self) -> &Arc<Pages> {
        &self.pages
    }

    /// Offset of `piece` in [`pages`](Self::pages).
    pub fn offset(&self, piece: Piece) -> usize {
        // The piece is within its file, and the file within an allocation, so it is addressable.
        self.starts[piece.file] + piece.offset as usize
    }

    /// The bytes of `piece`.
    pub fn bytes(&self, piece: Piece) -> &[u8] {
        let start = self.offset(piece);
        &self.pages.as_slice()[start..start + piece.len]
    }
}

/// Touches the pages in random order, so that neighbours are not adjacent in physical memory.
fn touch_in_no_order(memory: &mut [u8]) {
    let mut firsts: Vec<usize> = (0..memory.len()).step_by(ALIGNMENT).collect();
    firsts.shuffle(&mut Pcg64::seed_from_u64(0)); // the same in every run
    for first in firsts {
        memory[first] = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::workload::SourceFile;

    fn set_of(contents: &[&[u8]]) -> FileSet {
        let files = contents
            .iter()
            .enumerate()
            .map(|(at, bytes)| {
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(bytes).unwrap();
                SourceFile { name: format!("file{at}"), file, len: bytes.len() as u64 }
            })
            .collect();
        FileSet::new(files)
    }

    #[test]
    fn the_copy_holds_every_file_on_pages_of_its_own() {
        let big = vec![3_u8; 5000];
        let files = set_of(&[b"a", &big, b"xyz"]);
        let resident = Resident::default();
        let copy = resident.copy_of(&files, CopyPages::Scattered).unwrap();
        for (piece, expected) in [
            (Piece { file: 0, offset: 0, len: 1 }, &b"a"[..]),
            (Piece { file: 1, offset: 4990, len: 10 }, &big[4990..]),
            (Piece { file: 2, offset: 1, len: 2 }, &b"yz"[..]),
        ] {
            assert_eq!(copy.bytes(piece), expected);
        }
        assert_eq!(copy.offset(Piece { file: 1, offset: 0, len: 1 }), 4096);
        assert_eq!(copy.offset(Piece { file: 2, offset: 0, len: 1 }), 4096 + 8192);
    }

    #[test]
    fn threads_that_ask_at_once_share_one_copy() {
        let files = set_of(&[b"abc"]);
        let resident = Resident::default();
        let bases: Vec<usize> = std::thread::scope(|scope| {
            let askers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        resident
                            .copy_of(&files, CopyPages::Scattered)
                            .unwrap()
                            .pages()
                            .as_slice()
                            .as_ptr() as usize
                    })
                })
                .collect();
            askers.into_iter().map(|asker| asker.join().unwrap()).collect()
        });
        assert!(bases.iter().all(|&base| base == bases[0]));
    }

    /// Page frame numbers, or why they cannot be read: a user without CAP_SYS_ADMIN gets zeros
    /// (Documentation/admin-guide/mm/pagemap.rst).
    fn frames(memory: &[u8]) -> Result<Vec<u64>, &'static str> {
        let pagemap = std::fs::File::open("/proc/self/pagemap")
            .map_err(|_| "there is no /proc/self/pagemap")?;
        let mut entries = vec![0; memory.len() / ALIGNMENT * 8];
        let from = memory.as_ptr() as u64 / ALIGNMENT as u64 * 8;
        pagemap.read_exact_at(&mut entries, from).map_err(|_| "pagemap cannot be read")?;
        let frames: Vec<u64> = entries
            .as_chunks::<8>()
            .0
            .iter()
            .map(|entry| u64::from_ne_bytes(*entry) & ((1 << 55) - 1))
            .collect();
        if frames.contains(&0) {
            Err("pagemap shows no physical addresses to this user")
        } else {
            Ok(frames)
        }
    }

    /// Whether memory gets huge pages without asking, including those of less than 2 MiB (since
    /// Linux 6.8; transhuge.rst).
    fn gives_larger_pages_to_all() -> bool {
        let folder = std::path::Path::new("/sys/kernel/mm/transparent_hugepage");
        let policy = |folder: &std::path::Path| {
            std::fs::read_to_string(folder.join("enabled")).unwrap_or_default()
        };
        let all = policy(folder).contains("[always]");
        let sizes = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let own = sizes.map(|size| policy(&size.path()));
        let given =
            |policy: &str| policy.contains("[always]") || (all && policy.contains("[inherit]"));
        all || own.into_iter().any(|policy| given(&policy))
    }

    #[test]
    fn neighbours_in_the_copy_are_not_adjacent_in_physical_memory() {
        if gives_larger_pages_to_all() {
            eprintln!("skipped: this machine gives huge pages to all");
            return;
        }
        let files = set_of(&[&vec![1; 8 << 20]]);
        let resident = Resident::default();
        let pages = resident.copy_of(&files, CopyPages::Scattered).unwrap().pages();
        match frames(pages.as_slice()) {
            Ok(frames) => {
                let beside =
                    frames.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) == 1).count();
                assert!(beside * 20 < frames.len(), "{beside} of {}", frames.len());
            }
            Err(why) => eprintln!("skipped: {why}"),
        }
    }

    #[test]
    fn huge_pages_are_adjacent_in_physical_memory() {
        let files = set_of(&[&vec![1; 8 << 20], b"x"]);
        let resident = Resident::default();
        let copy = match resident.copy_of(&files, CopyPages::Huge) {
            Ok(copy) => copy,
            Err(no) => {
                eprintln!("skipped: {}", no.reason);
                return;
            }
        };
        assert_eq!(copy.bytes(Piece { file: 1, offset: 0, len: 1 }), b"x");
        assert_ne!(copy.pages().as_slice().as_ptr(), {
            let other = resident.copy_of(&files, CopyPages::Scattered).unwrap();
            other.pages().as_slice().as_ptr()
        });
        match frames(copy.pages().as_slice()) {
            Ok(frames) => {
                let beside = frames.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
                assert!(beside * 100 > 99 * (frames.len() - 1), "{beside} of {}", frames.len());
            }
            Err(why) => eprintln!("skipped: {why}"),
        }
    }

    #[test]
    fn a_set_larger_than_half_of_the_memory_is_refused_with_both_figures() {
        let files = set_of(&[b"a", b"b"]);
        let no = ResidentCopy::read(&files, CopyPages::Scattered, Some(8192)).unwrap_err();
        assert_eq!(no.kind.name(), "refused");
        assert!(no.reason.contains("8192") && no.reason.contains("4096"), "{}", no.reason);
        assert!(no.remedy.as_deref().unwrap().contains("--files"));
    }

    #[test]
    fn a_file_that_has_become_shorter_is_named() {
        let files = set_of(&[b"abc"]);
        files.files[0].file.set_len(1).unwrap();
        let no = Resident::default().copy_of(&files, CopyPages::Scattered).unwrap_err();
        assert!(no.reason.contains("\"file0\""), "{}", no.reason);
    }
}
