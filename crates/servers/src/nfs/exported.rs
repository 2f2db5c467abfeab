//! A server's export, and how each client is told where it is: one of zc's, or one that is already
//! there.

use std::net::{IpAddr, SocketAddr};

use super::mountinfo;
use super::place::{MOUNT_PORT, NFS_PORT};
use zc_kernel::names;
use zc_run::address::ip_text;
use zc_run::{Error, NfsCall, NfsOperation, NfsVersion, Result, escape, in_words};

/// A file that a server exports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The program and its version; of a server that is there, where the file is.
    pub server: String,
    /// The server's address, whose port has no meaning.
    pub address: SocketAddr,
    /// The path of the folder by version 3 and by version 4.
    pub(super) roots: [String; 2],
    /// The file's name there.
    pub(super) name: String,
    /// Whether the server has the ports that zc gave it. Otherwise its port mapper knows them.
    pub(super) has_our_ports: bool,
}

/// A file of a mount that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InMount {
    /// Its path.
    pub path: String,
    /// The version by which it is mounted.
    pub version: String,
    /// Connections of the mount.
    pub connections: usize,
}

impl Exported {
    /// The file that a user names: `HOST:/PATH`, or one in a mount of this machine, which is told
    /// as well.
    ///
    /// # Errors
    /// There is no such host or file; the file is in no mount of NFS; its name is none that a
    /// client can be told.
    pub fn named(text: &str) -> Result<(Self, Option<InMount>)> {
        match host_and_path(text) {
            Some((host, path)) => Ok((Self::at(text, address_of(host)?, path)?, None)),
            None => Self::mounted(text),
        }
    }

    /// The file at an absolute path of the server with this address, as another machine names it.
    ///
    /// # Errors
    /// The path is none of a file, or none that a client can be told.
    pub fn of_server(address: IpAddr, path: &str) -> Result<Self> {
        if !path.starts_with('/') {
            return Err(Error::usage(
                "path-not-absolute",
                format!("\"{}\" is no absolute path", escape(path, 200)),
            ));
        }
        Self::at(path, SocketAddr::new(address, 0), path)
    }

    /// The path of the file, of which [`of_server`](Self::of_server) makes the same again.
    pub fn path(&self) -> String {
        let [root, _] = &self.roots;
        format!("{}/{}", root.trim_end_matches('/'), self.name)
    }

    fn mounted(text: &str) -> Result<(Self, Option<InMount>)> {
        let shown = escape(text, 200);
        let path = std::fs::canonicalize(text).map_err(|error| {
            Error::input("cannot-open-file", format!("{shown}: {}", in_words(&error)))
                .help("a file in a mount of NFS, or HOST:/PATH of one")
        })?;
        let mounts = mountinfo::listed().map_err(|error| Error::os("read the mounts", error))?;
        let found = mountinfo::find_mount(&mounts, &path).and_then(|mount| {
            let address = names::address(mount.option("addr")?, 0).ok()??;
            Some((mount, mount.path_of(&path)?, address))
        });
        let Some((mount, there, address)) = found else {
            return Err(Error::input("not-on-nfs", format!("{shown} is in no mount of NFS"))
                .help("a file in a mount of NFS, or HOST:/PATH of one"));
        };
        let in_mount = InMount {
            version: mount.option("vers").unwrap_or_default().to_owned(),
            connections: mount.option("nconnect").and_then(|text| text.parse().ok()).unwrap_or(1),
            path: client_path(text, &path.to_string_lossy())?.to_owned(),
        };
        Ok((Self::at(text, address, &there)?, Some(in_mount)))
    }

    fn at(text: &str, address: SocketAddr, path: &str) -> Result<Self> {
        let (folder, name) = client_path(text, path)?.rsplit_once('/').unwrap_or(("", path));
        if name.is_empty() {
            return Err(Error::usage(
                "is-a-directory",
                format!("\"{}\" is a folder", escape(text, 200)),
            )
            .help("name a file in it, of 1 MiB or more"));
        }
        let root = if folder.is_empty() { "/" } else { folder };
        Ok(Self {
            server: text.to_owned(),
            address,
            roots: [root, root].map(str::to_owned),
            name: name.to_owned(),
            has_our_ports: false,
        })
    }

    /// The path of the folder.
    fn root(&self, version: NfsVersion) -> &str {
        &self.roots[usize::from(version != NfsVersion::V3)]
    }

    /// The URL of the file as libnfs knows it.
    pub fn url(&self, version: NfsVersion) -> String {
        // What stands before the last slash is mounted; for the root that is another one.
        let (root, name) = (self.root(version), &self.name);
        let version = match version {
            NfsVersion::V3 => 3,
            NfsVersion::V40 | NfsVersion::V41 | NfsVersion::V42 => 4,
        };
        let ports = match self.has_our_ports {
            true => format!("&nfsport={NFS_PORT}&mountport={MOUNT_PORT}"),
            false => String::new(),
        };
        let host = host(self.address);
        format!("nfs://{host}{root}/{name}?version={version}{ports}")
    }

    /// The kernel client's mount, and the file there: SOURCE OPTIONS FILE. Each has connections of
    /// its own (nosharecache); a server that does not answer for 9 s is an error (soft, 3 s and
    /// twice as many). Nothing is locked, and the server need not call back.
    pub fn mount(&self, call: NfsCall, size: usize, connections: usize) -> String {
        let NfsCall { version, operation } = call;
        let (root, name, address) = (self.root(version), &self.name, ip_text(self.address));
        let port = |option: &str, port: u16| match self.has_our_ports {
            true => format!(",{option}={port}"),
            false => String::new(),
        };
        let of_version = match version {
            NfsVersion::V3 => {
                let mount_port = port("mountport", MOUNT_PORT);
                format!("nolock,mountproto=tcp,mountvers=3,mountaddr={address}{mount_port}")
            }
            NfsVersion::V40 | NfsVersion::V41 | NfsVersion::V42 => "clientaddr=0.0.0.0".to_owned(),
        };
        let nfs_port = port("port", NFS_PORT);
        let of_size = match operation {
            NfsOperation::Read => "rsize",
            NfsOperation::Write | NfsOperation::WriteSync => "wsize",
        };
        let several = match connections {
            1 => String::new(),
            several => format!(",nconnect={several}"),
        };
        let host = host(self.address);
        format!(
            "{host}:{root} vers={version},proto=tcp{nfs_port},addr={address},{of_version},\
             {of_size}={size},sec=sys,soft,timeo=30,retrans=1,nosharecache{several} {name}"
        )
    }
}

/// A path as a client is told it, in a line of words or in a URL.
///
/// # Errors
/// It cannot be told.
fn client_path<'p>(text: &str, path: &'p str) -> Result<&'p str> {
    let is_plain = |c: char| c.is_ascii_graphic() && !"?#%&\\\"".contains(c);
    if path.chars().all(is_plain) {
        return Ok(path);
    }
    Err(Error::usage(
        "invalid-nfs-path",
        format!(
            "\"{}\" has characters that a client of NFS cannot be told here",
            escape(text, 200)
        ),
    )
    .help("a path of letters, digits and most signs of ASCII, without spaces"))
}

/// `HOST:/PATH` or `[ADDRESS]:/PATH`; `None`: a path of this machine.
fn host_and_path(text: &str) -> Option<(&str, &str)> {
    let (host, path) = text.split_once(":/")?;
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?,
        None => host,
    };
    (!host.is_empty() && !host.contains('/')).then(|| (host, &text[text.len() - path.len() - 1..]))
}

fn address_of(host: &str) -> Result<SocketAddr> {
    let unknown = |why: String| {
        Error::input(
            "nfs-server-unknown",
            format!("the NFS server \"{}\" is not known: {why}", escape(host, 100)),
        )
    };
    let found = names::addresses(host, NFS_PORT).map_err(|error| unknown(in_words(&error)))?;
    found.first().copied().ok_or_else(|| unknown("it has no address".to_owned()))
}

/// An address as a part of a URL or of a source.
fn host(address: SocketAddr) -> String {
    let text = ip_text(address);
    if address.is_ipv6() { format!("[{text}]") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(version: NfsVersion, operation: NfsOperation) -> NfsCall {
        NfsCall { version, operation }
    }

    #[test]
    fn a_file_of_a_server_is_a_host_and_a_path() {
        let (exported, mount) = Exported::named("127.0.0.1:/srv/data/file").unwrap();
        assert_eq!(mount, None);
        assert_eq!(exported.url(NfsVersion::V3), "nfs://127.0.0.1/srv/data/file?version=3");
        let told = exported.mount(call(NfsVersion::V42, NfsOperation::WriteSync), 65_536, 4);
        assert!(
            told.starts_with("127.0.0.1:/srv/data vers=4.2,proto=tcp,addr=127.0.0.1,"),
            "{told}"
        );
        assert!(told.contains(",wsize=65536,") && told.ends_with(",nconnect=4 file"), "{told}");
        let (root, _) = Exported::named("[::1]:/file").unwrap();
        assert_eq!(root.url(NfsVersion::V40), "nfs://[::1]//file?version=4");
        assert!(
            root.mount(call(NfsVersion::V3, NfsOperation::Read), 4096, 1)
                .starts_with("[::1]:/ vers=3,proto=tcp,addr=::1,")
        );
        let (linked, _) = Exported::named("[fe80::1%lo]:/file").unwrap();
        let told = linked.mount(call(NfsVersion::V40, NfsOperation::Read), 4096, 1);
        assert!(told.starts_with("[fe80::1%1]:/ ") && told.contains(",addr=fe80::1%1,"), "{told}");
        for (wrong, id) in [
            ("127.0.0.1:/srv/", "is-a-directory"),
            ("127.0.0.1:/a b", "invalid-nfs-path"),
            ("127.0.0.1:/a?b", "invalid-nfs-path"),
            ("/proc/self/status", "not-on-nfs"),
            ("/nowhere/file", "cannot-open-file"),
            ("no-such-host.invalid:/file", "nfs-server-unknown"),
        ] {
            assert_eq!(Exported::named(wrong).unwrap_err().id, id, "{wrong}");
        }
    }

    #[test]
    fn another_machine_makes_the_same_of_the_parts() {
        for text in ["192.0.2.1:/srv/data/file", "[2001:db8::1]:/file"] {
            let (exported, _) = Exported::named(text).unwrap();
            let again = Exported::of_server(exported.address.ip(), &exported.path()).unwrap();
            assert_eq!(again.url(NfsVersion::V3), exported.url(NfsVersion::V3));
            let mount =
                |of: &Exported| of.mount(call(NfsVersion::V42, NfsOperation::Read), 4096, 2);
            assert_eq!(mount(&again), mount(&exported));
        }
        let address = IpAddr::from([192, 0, 2, 1]);
        for wrong in ["", "file", "/", "/srv/", "/a b", "/a\nb", "/a?version=3", "/a%2fb"] {
            assert!(Exported::of_server(address, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_zc_serves_is_at_its_ports() {
        let own = Exported {
            server: String::new(),
            address: ([10, 0, 0, 1], 0).into(),
            roots: ["/run/zc-export".to_owned(), "/".to_owned()],
            name: "file".to_owned(),
            has_our_ports: true,
        };
        assert_eq!(
            own.url(NfsVersion::V40),
            "nfs://10.0.0.1//file?version=4&nfsport=2049&mountport=20048"
        );
        let told = own.mount(call(NfsVersion::V3, NfsOperation::Read), 4096, 1);
        assert!(told.starts_with("10.0.0.1:/run/zc-export vers=3,proto=tcp,port=2049,"), "{told}");
        assert!(told.contains("mountport=20048") && told.contains(",rsize=4096,"), "{told}");
    }
}
