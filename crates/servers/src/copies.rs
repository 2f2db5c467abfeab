//! Several servers that are started as one: copies of one server that differ in their configuration
//! or in options of their listening sockets. They share a CPU, and one of them is asked at a time.
//!
//! A sysctl of a network namespace that sockets take over when they are made, such as
//! `tcp_congestion_control`, can be had by one listening socket alone, as the sockets that it
//! accepts inherit its options. nginx takes over listening sockets that it is given by number in
//! the environment variable `NGINX`, as it does when its binary is replaced
//! (<https://nginx.org/en/docs/control.html#upgrade>, `ngx_add_inherited_sockets`).

use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

use zc_kernel::{spawn, tcp};
use zc_run::{Error, Result, in_words};

/// The number of a listening socket that a copy is given.
const FIRST_FREE: i32 = 3;

/// A server of several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCopy {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The listening socket that it is given; `None`: it makes its own.
    pub listener: Option<Listening>,
    /// Variables of its environment beside those that it inherits.
    pub variables: Vec<(String, String)>,
    /// The file that it writes errors to. Why it could not be started is written there, too.
    pub errors: PathBuf,
}

/// A listening socket with options that the sockets it accepts inherit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    /// The port, on all addresses of IPv4.
    pub port: u16,
    /// `TCP_CONGESTION`.
    pub congestion: Option<String>,
    /// `TCP_NOTSENT_LOWAT`, in bytes.
    pub notsent_lowat: Option<i32>,
}

impl Listening {
    /// # Errors
    /// The port is taken, or this kernel has no such congestion control.
    fn open(&self) -> Result<OwnedFd> {
        let at = SocketAddr::from((Ipv4Addr::UNSPECIFIED, self.port));
        let socket =
            TcpListener::bind(at).map_err(|error| Error::os(format!("listen at {at}"), error))?;
        // Workers share it: one that another came before would wait in accept(2), with all its
        // connections. nginx sets this on sockets of its own alone.
        socket
            .set_nonblocking(true)
            .map_err(|error| Error::os("set a listening socket to non-blocking", error))?;
        if let Some(name) = &self.congestion {
            tcp::set_congestion(&socket, name)
                .map_err(|error| Error::os(format!("set TCP_CONGESTION to {name}"), error))?;
        }
        if let Some(bytes) = self.notsent_lowat {
            tcp::set_option(&socket, libc::TCP_NOTSENT_LOWAT, bytes)
                .map_err(|error| Error::os("set TCP_NOTSENT_LOWAT", error))?;
        }
        Ok(socket.into())
    }
}

/// The whole life of the process that starts the copies which `job`, a file of JSON, lists: until
/// all of them have ended. Whoever keeps it ends them with it. Which of them is missing is seen by
/// whoever asks it.
///
/// # Errors
/// The file cannot be read, or all have ended.
pub fn serve(job: &Path) -> Result<()> {
    let text = std::fs::read_to_string(job).map_err(|error| {
        Error::failed("copies-unreadable", format!("cannot read the copies: {}", in_words(&error)))
    })?;
    let copies: Vec<ServerCopy> = serde_json::from_str(&text)
        .map_err(|error| Error::failed("copies-unreadable", format!("the copies: {error}")))?;
    let children: Vec<Child> = copies.iter().filter_map(started).collect();
    for mut child in children {
        let _ = child.wait();
    }
    Err(Error::remote("program-ended", "every copy of the server has ended"))
}

/// Starts a copy, or says in its file of errors why it cannot be.
fn started(copy: &ServerCopy) -> Option<Child> {
    let why = match start(copy) {
        Ok(child) => return Some(child),
        Err(error) => error,
    };
    let mut open = OpenOptions::new();
    let errors = open.append(true).create(true).open(&copy.errors);
    // Without it, it is known all the same that this copy does not answer.
    drop(errors.and_then(|mut errors| writeln!(errors, "{}", why.message)));
    None
}

fn start(copy: &ServerCopy) -> Result<Child> {
    let Some((program, arguments)) = copy.words.split_first() else {
        return Err(Error::failed("copies-unreadable", "a copy names no program"));
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(copy.variables.iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    if let Some(listening) = &copy.listener {
        spawn::inherit(&mut command, listening.open()?, FIRST_FREE);
        command.env("NGINX", format!("{FIRST_FREE};"));
    }
    command.spawn().map_err(|error| Error::os(format!("start {program}"), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_sockets_have_the_options_of_their_listening_socket() {
        let listening =
            Listening { port: 0, congestion: Some("reno".to_owned()), notsent_lowat: Some(4096) };
        let socket = TcpListener::from(listening.open().unwrap());
        let _client = std::net::TcpStream::connect((
            Ipv4Addr::LOCALHOST,
            socket.local_addr().unwrap().port(),
        ));
        let (accepted, _) = socket.accept().unwrap();
        assert_eq!(tcp::congestion(&accepted).unwrap(), "reno");
        assert_eq!(tcp::option(&accepted, libc::TCP_NOTSENT_LOWAT).unwrap(), 4096);
    }

    #[test]
    fn whoever_accepts_too_late_does_not_wait() {
        let listening = Listening { port: 0, congestion: None, notsent_lowat: Some(4096) };
        let socket = TcpListener::from(listening.open().unwrap());
        let (done, is_done) = std::sync::mpsc::channel();
        let accept = move || done.send(socket.accept().unwrap_err().kind());
        std::thread::Builder::new().spawn(accept).unwrap();
        let kind = is_done.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
        assert_eq!(kind, std::io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_copy_that_cannot_be_started_says_why_where_it_writes_errors() {
        let folder = tempfile::tempdir().unwrap();
        let errors = folder.path().join("errors");
        let copy = ServerCopy {
            words: vec!["true".to_owned()],
            listener: Some(Listening {
                port: 0,
                congestion: Some("none".to_owned()),
                notsent_lowat: None,
            }),
            variables: Vec::new(),
            errors: errors.clone(),
        };
        assert!(started(&copy).is_none());
        let said = std::fs::read_to_string(&errors).unwrap();
        assert!(said.contains("TCP_CONGESTION to none") && said.ends_with('\n'), "{said}");
        let other = ServerCopy { listener: None, ..copy };
        assert!(started(&other).unwrap().wait().unwrap().success());
        let asks = ["sh", "-c", "test \"$A\" = b"].map(str::to_owned).to_vec();
        let variables = vec![("A".to_owned(), "b".to_owned())];
        let told = ServerCopy { words: asks, variables, ..other };
        assert!(started(&told).unwrap().wait().unwrap().success());
    }

    #[test]
    fn a_congestion_control_that_is_not_here_is_a_sentence() {
        let none = Listening { port: 0, congestion: Some("none".to_owned()), notsent_lowat: None };
        assert!(none.open().unwrap_err().message.contains("TCP_CONGESTION to none"));
    }
}
