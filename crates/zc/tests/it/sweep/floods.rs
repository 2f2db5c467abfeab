//! Floods of `zc serve` by clients that do not know the token, one for each row of the table in
//! docs/protocol.md. All of them come from addresses of loopback, and end by themselves.
//!
//! The rules themselves are tested where they are (crates/remote/src/listener.rs); here it
//! is the program, with its memory, its descriptors and what it writes.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit as _, Mac as _};
use rustix::process::Signal;
use sha2::Sha256;

use super::marked::{Started, signal, start};
use super::{is_long, turn, verdict};
use crate::support::{ZC, blocks_saved, stderr};

const TOKEN: &str = "the word of this flood";
/// The limit of pending connections, of one source and of all together.
const PLACES: usize = 256;
/// Time that a pending connection may be silent.
const PATIENCE: Duration = Duration::from_secs(5);
/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

/// A server that wants a token, and its address.
struct Door {
    server: Started,
    at: SocketAddr,
    folder: tempfile::TempDir,
    since: Instant,
}

impl Door {
    fn new() -> Self {
        Self::start(Command::new(ZC))
    }

    /// The same, started by another program with a limit.
    fn limited(words: &[&str]) -> Self {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(ZC);
        Self::start(command)
    }

    fn start(mut command: Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut token = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(folder.path().join("token"))
            .unwrap();
        token.write_all(TOKEN.as_bytes()).unwrap();
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--token-file", "token"])
            .current_dir(folder.path());
        let since = Instant::now();
        let mut server = start(&mut command).unwrap();
        let at = server.says(super::faults::address_in).unwrap().parse().unwrap();
        Self { server, at, folder, since }
    }

    /// A connection from one of the addresses of loopback.
    fn connect(&self, source: u8) -> std::io::Result<TcpStream> {
        let family = rustix::net::AddressFamily::INET;
        let socket = rustix::net::socket(family, rustix::net::SocketType::STREAM, None)?;
        rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, source], 0)))?;
        rustix::net::connect(&socket, &self.at)?;
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(LIMIT))?;
        Ok(stream)
    }

    /// The value of a field of /proc/PID/status, in KiB.
    fn kib(&self, field: &str) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.server.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim_matches([':', ' ', '\t', 'k', 'B']).trim().parse().unwrap()
    }

    /// CPU time of the server so far.
    fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.server.pid())).unwrap();
        let fields: Vec<u64> = stat
            .rsplit_once(") ")
            .unwrap()
            .1
            .split(' ')
            .skip(11)
            .take(2)
            .map(|field| field.parse().unwrap())
            .collect();
        // USER_HZ is 100 everywhere (proc_pid_stat(5)).
        Duration::from_millis(fields.iter().sum::<u64>() * 10)
    }

    /// A client that has the token is welcome, from an address that no flood has.
    #[track_caller]
    fn admits_a_client(&self) {
        let mut stream = self.connect(1).unwrap();
        let hello: serde_json::Value = serde_json::from_str(&line(&mut stream)).unwrap();
        let nonce = hello["nonce"].as_str().unwrap();
        let own = "5a".repeat(32);
        let proof = proof(&[b"zc knock\0".to_vec(), unhex(nonce), unhex(&own)].concat());
        knock(&mut stream, &own, &proof);
        let answer = line(&mut stream);
        assert!(answer.contains("\"welcome\""), "{answer}: {}", self.server.said());
    }

    /// Checks that it lives, ends in order, and has not logged much of the flood: five messages in
    /// ten seconds, then one with the number of those suppressed. Messages about sessions are not
    /// limited: only a client with the token begins one. Returns its stderr.
    #[track_caller]
    fn ends(self) -> String {
        signal(self.server.pid(), Signal::TERM);
        let output = self.server.ends().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(self.folder.path().join("token").exists());
        let said = stderr(&output);
        let of_sessions = ["listening on ", "a session begins", "the session"];
        let is_of_strangers = |line: &&str| !of_sessions.iter().any(|own| line.contains(own));
        let lines = said.lines().filter(is_of_strangers).count() as u64;
        let periods = self.since.elapsed().as_secs() / 10 + 2;
        assert!(lines <= 6 * periods, "{lines} lines in {:?}: {said}", self.since.elapsed());
        said
    }
}

/// Reads until the server closes the connection.
fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => {
            panic!("still open after {LIMIT:?}: {error}")
        }
        _ => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// The next line, or what came of it before the connection was closed.
fn line(stream: &mut TcpStream) -> String {
    let (mut text, mut byte) = (String::new(), [0]);
    while !text.ends_with('\n') && matches!(stream.read(&mut byte), Ok(1)) {
        text.push(byte[0].into());
    }
    text
}

/// Whether the server has said its first line, so that an answer to it is not sent too early.
fn hello(stream: &mut TcpStream) -> bool {
    line(stream).ends_with('\n')
}

/// HMAC-SHA256 with the token, as in docs/protocol.md.
fn proof(text: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(TOKEN.as_bytes()).unwrap();
    mac.update(text);
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(digits: &str) -> Vec<u8> {
    let pairs = (0..digits.len()).step_by(2).map(|place| &digits[place..place + 2]);
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// Answers the server's first line. It may be too late.
fn knock(stream: &mut TcpStream, nonce: &str, proof: &str) {
    let knock = format!(
        "{{\"zc\":\"knock\",\"protocol\":7,\"version\":\"0\",\
         \"nonce\":\"{nonce}\",\"proof\":\"{proof}\"}}\n"
    );
    let _ = stream.write_all(knock.as_bytes());
}

/// Number of connections of a flood.
fn connections() -> usize {
    if is_long() { 10_000 } else { 600 }
}

#[test]
fn silent_connections_take_a_place_each_little_memory_and_five_seconds() {
    let door = Door::new();
    assert!(hello(&mut door.connect(2).unwrap()));
    let before = door.kib("RssAnon");
    let mut open: Vec<TcpStream> = (0..PLACES).map(|_| door.connect(2).unwrap()).collect();
    for (place, stream) in open.iter_mut().enumerate() {
        assert!(hello(stream));
        if place % 2 == 0 {
            stream.write_all(b"{\"zc\":").unwrap();
        }
    }
    let began = Instant::now();
    let grown = door.kib("RssAnon").saturating_sub(before);
    eprintln!("floods: {PLACES} silent connections: {grown} KiB more of memory");
    // A kibibyte each was promised, and a page of the heap may hold little else.
    assert!(grown < 4 * PLACES as u64, "{grown} KiB");
    assert!(open.into_iter().map(rest).all(|rest| rest.is_empty()));
    assert!(began.elapsed() > PATIENCE / 2, "none was dropped before its time");
    door.admits_a_client();
    door.ends();
}

#[test]
fn garbage_and_lines_without_an_end_are_refused_and_cost_no_memory() {
    let door = Door::new();
    // What a first connection allocates is no cost of the later ones.
    assert!(hello(&mut door.connect(2).unwrap()));
    let before = door.kib("RssAnon");
    let long = vec![b'x'; 4096];
    let said: [&[u8]; 4] = [
        b"GET / HTTP/1.1\r\n",
        b"\0\xff\x7f\n",
        b"{\"zc\":\"knock\"}\n{\"ask\":\"meet\"}\n",
        &long,
    ];
    for number in 0..connections() {
        let Ok(mut stream) = door.connect(2) else { continue };
        if !hello(&mut stream) {
            continue;
        }
        // It may be refused before all is sent.
        let _ = stream.write_all(said[number % said.len()]);
        let answer = rest(stream);
        assert!(answer.is_empty() || answer == "{\"zc\":\"refused\"}\n", "{answer}");
    }
    let grown = door.kib("RssAnon").saturating_sub(before);
    eprintln!("floods: {} connections with garbage: {grown} KiB more of memory", connections());
    assert!(grown < 4 * PLACES as u64, "{grown} KiB");
    door.admits_a_client();
    door.ends();
}

/// A knock with a proof that is wrong.
fn guess(stream: &mut TcpStream) {
    let zeros = "0".repeat(64);
    knock(stream, &zeros, &zeros);
}

#[test]
fn guesses_are_heard_eight_times_in_ten_seconds_and_other_addresses_are_served_meanwhile() {
    let door = Door::new();
    let began = Instant::now();
    let (mut heard, mut tried) = (0, 0);
    while began.elapsed() < Duration::from_secs(2) {
        tried += 1;
        let Ok(mut stream) = door.connect(3) else { continue };
        if hello(&mut stream) {
            guess(&mut stream);
            heard += usize::from(rest(stream).contains("refused"));
        }
    }
    eprintln!(
        "floods: {heard} of {tried} guesses of one address were heard within {:?}",
        began.elapsed()
    );
    // On a machine that is busy for so long the first ones count no more.
    assert!(
        heard >= 1 && (heard <= 8 || began.elapsed() > Duration::from_secs(10)),
        "{heard} of {tried}"
    );
    door.admits_a_client(); // from 127.0.0.1
    door.ends();
}

#[test]
fn a_crowd_takes_its_own_places_and_a_client_elsewhere_gets_in() {
    let door = Door::new();
    let mut elsewhere = door.connect(4).unwrap();
    assert!(hello(&mut elsewhere));
    let began = Instant::now();
    let mut open = VecDeque::new();
    let mut crowd = |connections| {
        for _ in 0..connections {
            if let Ok(stream) = door.connect(2) {
                open.push_back(stream);
            }
            // Fewer than this process may have open.
            if open.len() > 2 * PLACES {
                open.pop_front();
            }
        }
    };
    // More than there are places, while the answer of the one elsewhere is under way.
    crowd(PLACES + 50);
    guess(&mut elsewhere);
    let answer = rest(elsewhere);
    assert!(answer.contains("refused") || began.elapsed() > PATIENCE, "{answer}");
    crowd(connections());
    door.admits_a_client();
    drop(open);
    door.ends();
}

#[test]
fn without_descriptors_a_connection_is_dropped_for_the_next_and_clients_get_in() {
    let door = Door::limited(&["prlimit", "--nofile=40"]);
    let before = door.cpu();
    let began = Instant::now();
    let open: Vec<TcpStream> = (0..100).filter_map(|_| door.connect(2).ok()).collect();
    // It does not turn in circles: the connection stays in the backlog, so poll(2) returns at once.
    std::thread::sleep(Duration::from_secs(2));
    let used = door.cpu() - before;
    eprintln!("floods: full table of descriptors: {used:?} of CPU time in {:?}", began.elapsed());
    drop(open);
    door.admits_a_client();
    let said = door.ends();
    assert!(said.contains("accept a connection"), "{said}");
}

#[test]
fn during_a_session_few_are_accepted_whatever_comes() {
    let _turn = turn();
    let door = Door::new();
    let folder = tempfile::tempdir().unwrap();
    let seconds = if is_long() { "20s" } else { "4s" };
    let args = [
        "run",
        "--remote",
        &door.at.to_string(),
        "--token",
        TOKEN,
        "--paths",
        "sendfile",
        "--budget",
        seconds,
        "--out",
        "run.json",
    ];
    let near = start(Command::new(ZC).args(args).current_dir(folder.path())).unwrap();
    assert!(near.does(|| blocks_saved(folder.path()) > 0));
    let listener = format!("/proc/{0}/task/{0}/schedstat", door.server.pid());
    let on_cpu = || -> u64 {
        let text = std::fs::read_to_string(&listener).unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    };
    let (began, before) = (Instant::now(), on_cpu());
    let (mut tried, mut greeted) = (0, 0_u32);
    let mut open = VecDeque::new();
    while near.processes().iter().any(|process| process.pid == near.pid())
        && began.elapsed() < LIMIT
    {
        // Without waiting for connections that find no room in the backlog.
        tried += 1;
        if let Ok(stream) = TcpStream::connect_timeout(&door.at, Duration::from_millis(1)) {
            stream.set_nonblocking(true).unwrap();
            open.push_back(stream);
        }
        open.retain(|mut stream| {
            let has_line = matches!(stream.read(&mut [0; 2048]), Ok(1..));
            greeted += u32::from(has_line);
            !has_line
        });
        if open.len() > 200 {
            open.pop_front();
        }
    }
    let lasted = began.elapsed();
    let share = (on_cpu() - before) as f64 / lasted.as_nanos() as f64;
    eprintln!(
        "floods: {tried} connections within {lasted:?} of a session, {greeted} of them accepted, \
         {:.2} % of a CPU",
        share * 100.0
    );
    // Those that the kernel had in the backlog when the session began were accepted before.
    let most = 16.0 * (lasted.as_secs_f64() + 2.0);
    assert!(f64::from(greeted) <= most, "{greeted} in {lasted:?}");
    let output = near.ends().unwrap();
    verdict::end(&output, &[]).unwrap();
    assert_ne!(output.status.code(), Some(6), "{}", stderr(&output));
    door.ends();
}
