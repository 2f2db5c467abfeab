//! The first process of a guest. It mounts the host's files, read only, below an overlay in memory,
//! runs the job there, hands on what that prints and its exit code by ports of virtio-serial, and
//! turns the machine off. The console is the kernel's.

use std::convert::Infallible;
use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind, mount_move};
use rustix::process::{Pid, WaitOptions, chdir, chroot, wait};
use rustix::system::{RebootCommand, init_module, reboot, sethostname};

use zc_kernel::netlink::Devices;
use zc_run::{Error, Result, in_words};

use crate::decompress;
use crate::job::{
    CODE_PORT, JOB, Job, MODULES, OUT, OUTPUT_PORT, OWN_PROGRAM, SAYS, SHARE, TEMPORARY, TOKEN,
};
use crate::modules::Modules;

/// The words by which the kernel starts it, after its name.
pub(crate) const WORDS: &str = "--internal guest-init";

/// What a kernel needs: a file or a line that is there if it has it, and the option by which it has.
const NEEDED: [(&str, &str); 3] = [
    ("/sys/bus/pci/drivers/virtio-pci", "CONFIG_VIRTIO_PCI"),
    ("/sys/bus/virtio/drivers/virtio_console", "CONFIG_VIRTIO_CONSOLE"),
    ("/sys/bus/virtio/drivers/9pnet_virtio", "CONFIG_NET_9P_VIRTIO"),
];
const FILE_SYSTEMS: [(&str, &str); 3] =
    [("9p", "CONFIG_9P_FS"), ("overlay", "CONFIG_OVERLAY_FS"), ("tmpfs", "CONFIG_TMPFS")];

/// How long a port may take: the driver learns of it from the host after it was loaded.
const PATIENCE: Duration = Duration::from_secs(10);

/// The device on a wire to another guest.
const WIRE: &str = "eth0";

const PLAN9: &str = "trans=virtio,version=9p2000.L,msize=512000";

/// The exit code of a job that cannot be started, as of shells.
const NOT_FOUND: u8 = 127;

/// The whole life of that process. It does not return: with it the machine goes off.
///
/// # Errors
/// [`ErrorKind::Usage`](zc_run::ErrorKind): this is not the first process of a guest.
pub fn first_process() -> Result<Infallible> {
    if rustix::process::getpid() != Pid::INIT || !Path::new("/").join(JOB).is_file() {
        let message = "this is no guest of zc, whose machine it would turn off";
        return Err(Error::usage("not-a-guest", message).help("zc --help lists the commands"));
    }
    if let Err(error) = job_of_guest() {
        // Without a console nobody hears it.
        let help = error.help.map_or_else(String::new, |help| format!("; {help}"));
        let line = format!("{SAYS}{}{help}\n", error.message);
        let _ = File::options()
            .write(true)
            .open("/dev/console")
            .and_then(|mut console| console.write_all(line.as_bytes()));
    }
    rustix::fs::sync();
    loop {
        let _ = reboot(RebootCommand::PowerOff);
        // A machine without ACPI is halted, and the host ends it.
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn job_of_guest() -> Result<()> {
    mount_kernel_s()?;
    let job =
        fs::read(Path::new("/").join(JOB)).map_err(|error| Error::os("read the job", error))?;
    let job: Job = serde_json::from_slice(&job)
        .map_err(|error| Error::failed("guest-job", format!("the job cannot be read: {error}")))?;
    load_first()?;
    check_kernel()?;
    let (output, mut code) = (port(OUTPUT_PORT)?, port(CODE_PORT)?);
    mount_host(&job)?;
    enter_host()?;
    settle(&job)?;
    let ended = run(&job, &output)?;
    if job.shares {
        bring_out(job.take_in.as_deref())?;
    }
    code.write_all(format!("{ended}\n").as_bytes())
        .map_err(|error| Error::os("hand on the exit code", error))
}

/// Mounts what is the kernel's. The kernel itself may have mounted the devices.
fn mount_kernel_s() -> Result<()> {
    for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        match mount(kind, place, kind, MountFlags::empty(), None) {
            Ok(()) | Err(Errno::BUSY) => {}
            Err(Errno::NODEV) => {
                return Err(Error::failed("guest-kernel", format!("the kernel lacks {kind}")));
            }
            Err(error) => return Err(Error::os(format_args!("mount {place}"), error)),
        }
    }
    Ok(())
}

/// Loads the modules of the initial file system, in their order.
fn load_first() -> Result<()> {
    let Ok(entries) = fs::read_dir(Path::new("/").join(MODULES)) else { return Ok(()) };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let bytes = fs::read(&path).map_err(|error| Error::os("read a module", error))?;
        load(&bytes).map_err(|error| refused(&name_of(&bytes), error))?;
    }
    Ok(())
}

fn load(bytes: &[u8]) -> rustix::io::Result<()> {
    match init_module(bytes, c"") {
        // It is loaded, or built in.
        Err(Errno::EXIST) => Ok(()),
        loaded => loaded,
    }
}

fn refused(name: &str, error: Errno) -> Error {
    let why = match error {
        Errno::NOEXEC => "it is not of this kernel".to_owned(),
        other => in_words(&other.into()),
    };
    Error::failed("guest-module", format!("the kernel refuses its module {name}: {why}"))
}

/// The name that a module has in its section .modinfo: `name=9p`.
fn name_of(module: &[u8]) -> String {
    let mut parts = module.split(|byte| *byte == 0);
    let name = parts.find_map(|part| part.strip_prefix(b"name="));
    String::from_utf8_lossy(name.unwrap_or(b"(without a name)")).into_owned()
}

/// # Errors
/// The kernel lacks something: all of it is named.
fn check_kernel() -> Result<()> {
    let file_systems = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let missing = missing(&file_systems, |path| Path::new(path).exists());
    if missing.is_empty() {
        return Ok(());
    }
    Err(lacks(&missing.join(", ")))
}

fn lacks(options: &str) -> Error {
    let message = format!("the kernel lacks {options}, built in or as modules beside it");
    Error::failed("guest-kernel", message)
}

fn missing(file_systems: &str, is_there: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let has = |wanted: &str| {
        file_systems.lines().any(|line| line.split_whitespace().next_back() == Some(wanted))
    };
    let needed = NEEDED.iter().filter(|(path, _)| !is_there(path));
    let file_systems = FILE_SYSTEMS.iter().filter(|(name, _)| !has(name));
    needed.chain(file_systems).map(|(_, option)| *option).collect()
}

/// Opens a port of virtio-serial for writing.
fn port(name: &str) -> Result<File> {
    let until = Instant::now() + PATIENCE;
    loop {
        let ports = fs::read_dir("/sys/class/virtio-ports").into_iter().flatten().flatten();
        let device = ports
            .map(|port| port.path())
            .find(|port| fs::read_to_string(port.join("name")).is_ok_and(|own| own.trim() == name));
        let device = device.as_deref().and_then(Path::file_name);
        if let Some(device) = device {
            let opened = File::options().write(true).open(Path::new("/dev").join(device));
            return opened.map_err(|error| Error::os("open a port of virtio-serial", error));
        }
        if Instant::now() > until {
            let message = format!("virtio-serial has no port \"{name}\"");
            return Err(Error::failed("guest-port", message));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Mounts the host's files at /new, with what the guest adds to them.
fn mount_host(job: &Job) -> Result<()> {
    let cached = format!("{PLAN9},cache=loose");
    plan9("host", "/below", &cached, MountFlags::RDONLY)?;
    tmpfs("/above")?;
    for folder in ["/above/upper", "/above/work"] {
        fs::create_dir(folder).map_err(|error| Error::os("make a folder", error))?;
    }
    let layers = c"lowerdir=/below,upperdir=/above/upper,workdir=/above/work";
    mount("overlay", "/new", "overlay", MountFlags::empty(), layers)
        .map_err(|error| Error::os("mount an overlay on the host's files", error))?;
    tmpfs("/new/run")?;
    for folder in [SHARE, OUT, TEMPORARY] {
        let folder = below_new(folder);
        fs::create_dir_all(&folder)
            .and_then(|()| fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777)))
            .map_err(|error| Error::os("make a folder", error))?;
    }
    if job.shares {
        plan9("share", &below_new(SHARE), &format!("{PLAN9},cache=mmap"), MountFlags::empty())?;
    }
    // This program stays, whatever becomes of its file on the host.
    let own = below_new(OWN_PROGRAM);
    fs::write(&own, "").map_err(|error| Error::os("make a file", error))?;
    mount_bind("/init", &own).map_err(|error| Error::os("keep this program", error))?;
    for place in ["dev", "proc", "sys"] {
        let new = format!("/new/{place}");
        drop(fs::create_dir(&new)); // it is there, but in a container
        mount_move(format!("/{place}"), &new)
            .map_err(|error| Error::os(format_args!("move /{place}"), error))?;
    }
    Ok(())
}

fn below_new(path: &str) -> String {
    format!("/new{path}")
}

fn plan9(tag: &str, place: &str, options: &str, flags: MountFlags) -> Result<()> {
    let options =
        CString::new(options).map_err(|_| Error::failed("guest-mount", "options of 9p"))?;
    mount(tag, place, "9p", flags, options.as_c_str())
        .map_err(|error| Error::os(format_args!("mount the folder \"{tag}\" by 9p"), error))
}

fn tmpfs(place: &str) -> Result<()> {
    mount("tmpfs", place, "tmpfs", MountFlags::empty(), None)
        .map_err(|error| Error::os(format_args!("mount a file system in memory at {place}"), error))
}

/// Makes /new the root, as switch_root(8) does. Where a mount is moved onto the root, that is no
/// chroot in which no user namespace may be made (user_namespaces(7)).
fn enter_host() -> Result<()> {
    let entered = chdir("/new")
        .and_then(|()| mount_move(".", "/"))
        .and_then(|()| chroot("."))
        .and_then(|()| chdir("/"));
    entered.map_err(|error| Error::os("enter the host's files", error))
}

/// Makes the guest what programs expect of a machine.
fn settle(job: &Job) -> Result<()> {
    drop(symlink("/proc/self/fd", "/dev/fd"));
    for (kind, place) in
        [("tmpfs", "/dev/shm"), ("devpts", "/dev/pts"), ("cgroup2", "/sys/fs/cgroup")]
    {
        drop(fs::create_dir(place));
        // What the kernel lacks of these is missed by few jobs, and these say so.
        let _ = mount(kind, place, kind, MountFlags::empty(), None);
    }
    drop(fs::set_permissions("/dev/shm", fs::Permissions::from_mode(0o1777)));
    if let Some(tree) = &job.tree {
        let modules = Path::new("/lib/modules");
        fs::create_dir_all(modules).map_err(|error| Error::os("make /lib/modules", error))?;
        mount_bind(tree, modules).map_err(|error| Error::os("mount the modules", error))?;
        load_later(modules, &job.modules);
    }
    let _ = sethostname(job.host_name.as_bytes());
    if job.address.is_some() && !Path::new("/sys/class/net").join(WIRE).exists() {
        return Err(lacks("CONFIG_VIRTIO_NET"));
    }
    network(job.address.as_deref()).map_err(|error| Error::os("set up the network", error))?;
    if let Some(token) = &job.token {
        let file = File::options().write(true).create_new(true).mode(0o600).open(TOKEN);
        file.and_then(|mut file| file.write_all(token.as_bytes()))
            .map_err(|error| Error::os("write the token", error))?;
    }
    if let Some(name) = &job.take_in {
        fs::copy(Path::new(SHARE).join(name), Path::new(OUT).join(name))
            .map_err(|error| Error::os("copy a file of the shared folder", error))?;
    }
    Ok(())
}

/// Loads modules that the job is known to need. What cannot be loaded is missed by the job, which
/// says so.
fn load_later(folder: &Path, wanted: &[String]) {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let Ok(modules) = Modules::open(&folder.join(release)) else { return };
    for path in modules.in_order(wanted.iter().map(String::as_str)) {
        if let Ok(bytes) = decompress::module(&path) {
            let _ = load(&bytes);
        }
    }
}

fn network(address: Option<&str>) -> std::io::Result<()> {
    let netlink = Devices::open()?;
    netlink.bring_up(netlink.find("lo")?.index)?;
    let Some((address, bits)) = address.and_then(|address| address.split_once('/')) else {
        return Ok(());
    };
    let wrong = |_| std::io::ErrorKind::InvalidInput;
    let wire = netlink.find(WIRE)?.index;
    netlink.add_address(
        wire,
        address.parse().map_err(wrong)?,
        bits.parse().map_err(|_| std::io::ErrorKind::InvalidInput)?,
    )?;
    netlink.bring_up(wire)
}

/// Runs the job, and returns its exit code. What it leaves behind is taken in meanwhile.
fn run(job: &Job, output: &File) -> Result<u8> {
    let Some((program, words)) = job.words.split_first() else {
        return Err(Error::failed("guest-job", "the job has no program"));
    };
    let stream = || -> Result<Stdio> {
        Ok(output.try_clone().map_err(|error| Error::os("pass a port on", error))?.into())
    };
    let mut command = Command::new(program);
    command.args(words).current_dir(&job.folder).env_clear().envs(job.environment.iter().cloned());
    if program == OWN_PROGRAM {
        command.arg0("zc");
    }
    command.env("HOME", "/root").env("TMPDIR", TEMPORARY);
    command.stdin(Stdio::null()).stdout(stream()?).stderr(stream()?);
    let child = match command.spawn() {
        Ok(child) => child.id(),
        Err(error) => {
            let name = program.to_string_lossy();
            let line = format!("cannot run \"{name}\": {}\n", in_words(&error));
            drop((&*output).write_all(line.as_bytes()));
            return Ok(NOT_FOUND);
        }
    };
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().cast_unsigned() == child => {
                let by_signal = status.terminating_signal().map(|signal| 128 + signal);
                let code = status.exit_status().or(by_signal).unwrap_or_default();
                return Ok(u8::try_from(code).unwrap_or(u8::MAX));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Error::os("wait for the job", error)),
        }
    }
}

/// Copies the files of [`OUT`] into the shared folder, but for the one that came from there.
fn bring_out(taken_in: Option<&OsStr>) -> Result<()> {
    for entry in fs::read_dir(OUT).into_iter().flatten().flatten() {
        if Some(entry.file_name().as_os_str()) != taken_in {
            fs::copy(entry.path(), Path::new(SHARE).join(entry.file_name()))
                .map_err(|error| Error::os("copy a file into the shared folder", error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_lacks_is_named_by_its_options() {
        let all = "nodev\ttmpfs\nnodev\toverlay\nnodev\t9p\n\text4\n";
        assert!(missing(all, |_| true).is_empty());
        assert_eq!(missing("nodev\ttmpfs\n", |_| true), ["CONFIG_9P_FS", "CONFIG_OVERLAY_FS"]);
        let console = "/sys/bus/virtio/drivers/virtio_console";
        assert_eq!(missing(all, |path| path != console), ["CONFIG_VIRTIO_CONSOLE"]);
    }

    #[test]
    fn a_module_says_its_name() {
        assert_eq!(
            name_of(b"\x7fELF\0license=GPL\0name=9pnet_virtio\0vermagic=6.1\0"),
            "9pnet_virtio"
        );
        assert_eq!(name_of(b"\x7fELF"), "(without a name)");
    }
}
