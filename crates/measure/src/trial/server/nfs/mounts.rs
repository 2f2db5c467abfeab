//! The kernel's client of NFS: a process that mounts what a server exports, once for each version and size
//! of a READ, and reads a file there past the page cache. `zc --internal nfs-read ORDERS ANSWERS COUNTS`.
//!
//! It is told what reader.c is told, and says what it says. What is opened is SOURCE OPTIONS FILE. That
//! its calls are READs, and not answered from a cache, is checked by the kernel's count of the mount.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::mountstats;
use super::place;
use super::reading::Reading;
use super::words::{NEVER, NO, OPEN, Opened, Order, READY, STOP};
use zc_kernel::words::SharedWords;
use zc_run::{Error, in_words};

/// Hidden by an empty file system, below which the mounts are.
const AT: &str = "/run";

/// Bytes of a call in which a file is read once.
const STEP: usize = 1 << 20;

/// The whole life of the process that mounts and reads.
///
/// # Errors
/// The files cannot be opened, or it may not mount anything.
pub fn read(orders: &Path, answers: &Path, counts: &Path) -> zc_run::Result<()> {
    let cannot = |error| Error::os("open what the NFS reader is told by", error);
    // For both directions: they have no end then.
    let open = |path| OpenOptions::new().read(true).write(true).open(path).map_err(cannot);
    let (orders, mut answers, counts) = (open(orders)?, open(answers)?, open(counts)?);
    let counts = Arc::new(SharedWords::map(&counts).map_err(cannot)?);
    place::enter(&[AT])?;
    let mut client = Client { counts, files: Vec::new(), goes_on: None };
    let mut say = |line: &str| answers.write_all(format!("{line}\n").as_bytes()).map_err(cannot);
    say(READY)?;
    for order in BufReader::new(orders).lines() {
        if let Some(answer) = client.hear(&order.map_err(cannot)?) {
            say(&answer)?;
        }
    }
    Ok(())
}

struct Client {
    counts: Arc<SharedWords>,
    files: Vec<Mounted>,
    /// READs that go on, or why they did not begin.
    goes_on: Option<Result<GoesOn, String>>,
}

/// READs of one of the files.
struct GoesOn {
    reading: Reading,
    /// Its mount, and the READs that were counted of it before.
    at: String,
    before: u64,
}

/// A file of a mount.
struct Mounted {
    at: String,
    file: Arc<File>,
    bytes: u64,
}

impl Client {
    /// Does what a line orders. Returns the answer, if it gets one.
    fn hear(&mut self, line: &str) -> Option<String> {
        let no = |words: String| format!("{NO}{}", words.replace('\n', " "));
        if let Some(what) = line.strip_prefix(OPEN) {
            return Some(self.open(what).unwrap_or_else(|error| match error {
                NotOpened::Never(words) => format!("{NEVER}{words}"),
                NotOpened::No(words) => no(words),
            }));
        }
        if line == STOP {
            return Some(self.stop().unwrap_or_else(no));
        }
        match Order::of_line(line) {
            Some(order) => {
                self.goes_on = Some(self.begin(order));
                None
            }
            None => Some(no(format!("the order is not understood: {line}"))),
        }
    }

    /// Mounts, and reads the file once.
    fn open(&mut self, what: &str) -> Result<String, NotOpened> {
        let words: Vec<&str> = what.split(' ').collect();
        let [source, options, name] = words[..] else {
            return Err(NotOpened::No(format!("what is to be mounted is not understood: {what}")));
        };
        let at = format!("{AT}/zc-nfs-{}", self.files.len());
        drop(fs::create_dir(&at)); // an attempt that failed has left it
        let options = CString::new(options).unwrap_or_default();
        let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
        mount(source, &at, "nfs", flags, options.as_c_str()).map_err(NotOpened::of_mount)?;
        let opened = read_once(&Path::new(&at).join(name));
        let (file, bytes, crc32) = opened.map_err(|error| {
            // Otherwise each attempt would leave one.
            let _ = unmount(&at, UnmountFlags::DETACH);
            NotOpened::No(format!("the file cannot be read: {}", in_words(&error)))
        })?;
        let largest_read = mountstats::rsize(&at)
            .ok_or_else(|| NotOpened::No("the mount is not listed".to_owned()))?;
        self.files.push(Mounted { at, file: Arc::new(file), bytes });
        Ok(Opened { bytes, largest_read, crc32 }.line())
    }

    fn begin(&self, order: Order) -> Result<GoesOn, String> {
        let of = self.files.get(order.file).ok_or("there is no such file")?;
        let before = mountstats::reads(&of.at).ok_or("the mount is not listed")?;
        let reading =
            Reading::begin(Arc::clone(&of.file), of.bytes, order, Arc::clone(&self.counts))
                .map_err(|error| in_words(&error))?;
        Ok(GoesOn { reading, at: of.at.clone(), before })
    }

    fn stop(&mut self) -> Result<String, String> {
        let Some(goes_on) = self.goes_on.take() else {
            return Err("nothing is being read".to_owned());
        };
        let GoesOn { reading, at, before } = goes_on?;
        let done = reading.end()?;
        let sent = mountstats::reads(&at).map(|after| after.wrapping_sub(before));
        match sent == Some(done.latency.count()) {
            true => Ok(done.line()),
            false => Err(format!(
                "the kernel has sent {} READs for {} calls",
                sent.unwrap_or_default(),
                done.latency.count()
            )),
        }
    }
}

/// Why a file was not opened.
enum NotOpened {
    /// It may be later.
    No(String),
    /// It will never be.
    Never(String),
}

impl NotOpened {
    fn of_mount(errno: Errno) -> Self {
        let words = in_words(&io::Error::from(errno));
        match errno {
            Errno::PROTONOSUPPORT | Errno::NODEV => Self::Never(
                "the kernel's client and the server have no such version in common".into(),
            ),
            Errno::INVAL => Self::Never("the kernel refuses the mount's options".into()),
            _ => Self::No(format!("the export cannot be mounted: {words}")),
        }
    }
}

/// Opens a file past the page cache and reads it once: its length in bytes and CRC-32.
fn read_once(path: &Path) -> io::Result<(File, u64, u32)> {
    let direct = OFlags::DIRECT.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(direct).open(path)?;
    let mut crc = crc32fast::Hasher::new();
    let mut buffer = vec![0; STEP];
    let mut bytes = 0;
    loop {
        let got = file.read_at(&mut buffer, bytes)?;
        if got == 0 {
            return Ok((file, bytes, crc.finalize()));
        }
        crc.update(&buffer[..got]);
        bytes += got as u64;
    }
}
