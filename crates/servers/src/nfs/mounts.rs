//! The kernel's client of NFS: a process that mounts what a server exports, once for each version
//! and size of a call, and reads a file there past the page cache or writes it. `zc --internal
//! nfs-read ORDERS ANSWERS COUNTS`.
//!
//! It is told what reader.c is told, and says what it says. What is opened is SOURCE OPTIONS FILE,
//! or a file of a mount that is there. That its calls are READs or WRITEs, and not answered from a
//! cache, is checked by the kernel's count of the mount.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Advice, OFlags, fadvise};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::calls::Calls;
use super::words::{NEVER, NO, Opened, Order, READY, STOP, ToOpen};
use super::{mountinfo, mountstats, pattern, place};
use zc_kernel::words::SharedWords;
use zc_run::{Error, NfsOperation, in_words};

/// Hidden by an empty file system, below which the mounts are.
const AT: &str = "/run";

/// Bytes of a call in which a file is read or written once.
const STEP: usize = 1 << 20;

/// The whole life of the process that mounts and reads.
///
/// # Errors
/// The files cannot be opened.
pub fn read(orders: &Path, answers: &Path, counts: &Path) -> zc_run::Result<()> {
    let cannot = |error| Error::os("open what the NFS reader is told by", error);
    // For both directions: they have no end then.
    let open = |path| OpenOptions::new().read(true).write(true).open(path).map_err(cannot);
    let (orders, mut answers, counts) = (open(orders)?, open(answers)?, open(counts)?);
    let counts = Arc::new(SharedWords::map(&counts).map_err(cannot)?);
    let mut client = Client { counts, is_in_place: false, files: Vec::new(), goes_on: None };
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
    /// Whether this process has a place of its own to mount in.
    is_in_place: bool,
    files: Vec<Mounted>,
    /// Calls that go on, or why they did not begin.
    goes_on: Option<Result<GoesOn, String>>,
}

/// Calls of one of the files.
struct GoesOn {
    calls: Calls,
    /// The file's number, and what was counted of its mount before.
    of: usize,
    bytes: usize,
    before: u64,
}

/// A file of a mount.
struct Mounted {
    at: String,
    file: Arc<File>,
    operation: NfsOperation,
    bytes: u64,
}

impl Mounted {
    /// The kernel's count for its mount: calls, or bytes of those that go through the page cache,
    /// which the kernel's client joins and splits.
    fn sent(&self) -> Option<u64> {
        match self.operation {
            NfsOperation::Write => mountstats::written_bytes(&self.at),
            operation => mountstats::calls(&self.at, operation),
        }
    }
}

impl Client {
    /// Does what a line orders. Returns the answer, if it gets one.
    fn hear(&mut self, line: &str) -> Option<String> {
        let no = |words: String| format!("{NO}{}", words.replace('\n', " "));
        if let Some(order) = ToOpen::of_line(line) {
            return Some(self.open(order).unwrap_or_else(|error| match error {
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

    /// Mounts, if that is wanted, and reads the file once.
    fn open(&mut self, order: ToOpen<'_>) -> Result<String, NotOpened> {
        let words: Vec<&str> = order.what.split(' ').collect();
        let (at, path) = match words[..] {
            [path] => (mount_of(Path::new(path))?, Path::new(path).to_owned()),
            [source, options, name] => {
                let at = self.mount(source, options, order.operation)?;
                let path = Path::new(&at).join(name);
                (at, path)
            }
            _ => return Err(NotOpened::No(format!("what is to be opened: {}", order.what))),
        };
        let opened = open_and_read(&path, order);
        let (file, bytes, crc32) = opened.map_err(|error| {
            // Otherwise each attempt would leave one.
            if words.len() > 1 {
                let _ = unmount(&at, UnmountFlags::DETACH);
            }
            NotOpened::of_file(&error)
        })?;
        let largest = mountstats::largest(&at, order.operation)
            .ok_or_else(|| NotOpened::No("the mount is not listed".to_owned()))?;
        let operation = order.operation;
        self.files.push(Mounted { at, file: Arc::new(file), operation, bytes });
        Ok(Opened { bytes, largest, crc32 }.line())
    }

    /// Mounts, and says where.
    fn mount(
        &mut self,
        source: &str,
        options: &str,
        operation: NfsOperation,
    ) -> Result<String, NotOpened> {
        if !self.is_in_place {
            place::enter(&[AT]).map_err(|error| NotOpened::Never(error.message))?;
            self.is_in_place = true;
        }
        let at = format!("{AT}/zc-nfs-{}", self.files.len());
        drop(fs::create_dir(&at)); // an attempt that failed has left it
        let options = CString::new(options).unwrap_or_default();
        let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
        if operation == NfsOperation::Read {
            flags |= MountFlags::RDONLY;
        }
        mount(source, &at, "nfs", flags, options.as_c_str()).map_err(NotOpened::of_mount)?;
        Ok(at)
    }

    fn begin(&self, order: Order) -> Result<GoesOn, String> {
        let of = self.files.get(order.file).ok_or("there is no such file")?;
        let before = of.sent().ok_or("the mount is not listed")?;
        let (file, counts) = (Arc::clone(&of.file), Arc::clone(&self.counts));
        let calls = Calls::begin(file, of.bytes, of.operation, order, counts);
        let calls = calls.map_err(|error| in_words(&error))?;
        Ok(GoesOn { calls, of: order.file, bytes: order.bytes, before })
    }

    fn stop(&mut self) -> Result<String, String> {
        let Some(goes_on) = self.goes_on.take() else {
            return Err("nothing is being read".to_owned());
        };
        let GoesOn { calls, of, bytes, before } = goes_on?;
        let done = calls.end()?;
        let of = &self.files[of];
        if of.operation == NfsOperation::Write {
            of.file.sync_all().map_err(|error| format!("a COMMIT failed: {}", in_words(&error)))?;
        }
        let sent = of.sent().map_or(0, |after| after.wrapping_sub(before));
        let calls = done.latency.count();
        match of.operation {
            NfsOperation::Write if sent == calls * bytes as u64 => Ok(done.line()),
            NfsOperation::Write => {
                Err(format!("the kernel has sent {sent} bytes for {calls} WRITEs of {bytes}"))
            }
            _ if sent == calls => Ok(done.line()),
            _ => Err(format!(
                "the kernel has sent {sent} {}s for {calls} calls",
                of.operation.name()
            )),
        }
    }
}

/// The mount point below which a file lies.
fn mount_of(path: &Path) -> Result<String, NotOpened> {
    let mounts = mountinfo::listed().map_err(|error| NotOpened::No(in_words(&error)))?;
    match mountinfo::find_mount(&mounts, path) {
        Some(mount) => Ok(mount.at.display().to_string()),
        None => Err(NotOpened::Never(format!("{} is in no mount of NFS", path.display()))),
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
    fn of_file(error: &io::Error) -> Self {
        let words = format!("the file cannot be opened: {}", in_words(error));
        match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                Self::Never(words)
            }
            _ => Self::No(words),
        }
    }

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

/// Opens a file past the page cache, or to be written, and reads what of it is to be read once,
/// after it was written where it is to be: the bytes that were read, and their CRC-32.
fn open_and_read(path: &Path, order: ToOpen<'_>) -> io::Result<(File, u64, u32)> {
    let direct = OFlags::DIRECT.bits() as i32;
    let reading = OpenOptions::new().read(true).custom_flags(direct).open(path)?;
    let bytes = reading.metadata()?.len();
    let bytes = order.most.map_or(bytes, |most| most.min(bytes));
    let file = match order.operation {
        NfsOperation::Read => None,
        NfsOperation::Write => Some(OpenOptions::new().write(true).open(path)?),
        // The kernel answers each by one WRITE (FILE_SYNC) then.
        NfsOperation::WriteSync => Some(
            OpenOptions::new()
                .write(true)
                .custom_flags(direct | OFlags::SYNC.bits() as i32)
                .open(path)?,
        ),
    };
    if let Some(file) = &file {
        write_once(file, bytes)?;
    }
    let mut crc = crc32fast::Hasher::new();
    let mut buffer = vec![0; STEP];
    let mut at = 0;
    while at < bytes {
        let length = (bytes - at).min(STEP as u64) as usize;
        let got = reading.read_at(&mut buffer[..length], at)?;
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        crc.update(&buffer[..got]);
        at += got as u64;
    }
    Ok((file.unwrap_or(reading), bytes, crc.finalize()))
}

/// Writes the pattern to so many bytes of a file, and waits until they are committed. Nothing of
/// them stays in the page cache: its folios would be as long as these calls, and a shorter WRITE
/// later would take along what was written before to the same folio.
fn write_once(file: &File, bytes: u64) -> io::Result<()> {
    let mut at = 0;
    while at < bytes {
        let length = (bytes - at).min(STEP as u64) as usize;
        file.write_all_at(pattern::at(at, length), at)?;
        at += length as u64;
    }
    file.sync_all()?;
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}
