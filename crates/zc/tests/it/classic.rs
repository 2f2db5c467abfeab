//! The tools of 2001, by the real binary over 127.0.0.1: with one another, with peers of the
//! protocol in another language (python3), and with `nc`. Every byte is counted and compared.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::{
    Bounded as _, LIMIT, Running, STARVED, accept, connect, failed, is_starved, measuring, refused,
    stderr, text, undisturbed, until, zc,
};

/// stdout of a run that must have succeeded.
#[track_caller]
fn fine(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Python, when there is one.
fn python(script: &str, words: &[&str]) -> Option<Command> {
    let there = Command::new("python3")
        .arg("-c")
        .arg("")
        .finish()
        .is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: no python3 for a peer of the wire");
        return None;
    }
    let mut command = Command::new("python3");
    command.arg("-c").arg(script).args(words).stdin(Stdio::null());
    Some(command)
}

fn has_nc() -> bool {
    let there = Command::new("nc").arg("-h").stdin(Stdio::null()).finish().is_ok();
    if !there {
        eprintln!("skipped: no nc");
    }
    there
}

/// A server that listens on a free port. It is killed if a test fails.
struct Server {
    child: Running,
    port: String,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

impl Server {
    fn start(words: &[&str]) -> Self {
        Self::spawn(zc(words))
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("listening on port ") {
            line.clear();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended without listening");
        }
        let port = line.trim().rsplit(' ').next().unwrap().to_owned();
        Self { child, port, stdout, stderr }
    }

    fn connect(&self) -> TcpStream {
        connect(self.port.parse().unwrap())
    }

    /// Waits until so many clients have each a thread that has read all that they sent, and waits
    /// for more: nothing is left in a receive queue, and every thread sleeps.
    fn has_read(&self, clients: usize) {
        let port = format!(":{:04X}", self.port.parse::<u16>().unwrap());
        let read_all = || {
            let sockets = ["/proc/net/tcp", "/proc/net/tcp6"]
                .map(|table| std::fs::read_to_string(table).unwrap_or_default());
            // proc_pid_net(5): the local address is the second field, the state (01: established)
            // the fourth, the queues the fifth.
            let unread = sockets.iter().flat_map(|table| table.lines()).any(|line| {
                let fields: Vec<&str> = line.split_whitespace().collect();
                matches!(fields[..], [_, local, _, "01", queues, ..]
                    if local.ends_with(&port) && !queues.ends_with(":00000000"))
            });
            let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
            let sleeping = tasks.filter(|task| {
                let stat = task.as_ref().map(|task| task.path().join("stat")).unwrap();
                let stat = std::fs::read_to_string(stat).unwrap_or_default();
                stat.contains(" (zcs/") && stat.contains(") S ")
            });
            !unread && sleeping.count() == clients
        };
        until("the server has read what its clients sent", || read_all().then_some(()));
    }

    /// The next line about a client: a sentence about what is wrong with it goes to stderr before.
    fn client_line(&mut self) -> String {
        loop {
            let line = self.line();
            if !line.ends_with(" kbytes/sec") || line.contains(": ") {
                return line.split_once(": ").unwrap_or_else(|| panic!("{line}")).1.to_owned();
            }
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.stdout.read_line(&mut line).unwrap() > 0, "it ended");
        line.trim_end().to_owned()
    }

    /// The next warning, without the address of the client.
    fn warning(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        let line = line
            .trim_end()
            .strip_prefix("warning: client \"127.0.0.1:")
            .unwrap_or_else(|| panic!("{line:?}"));
        line.split_once("\" ").unwrap().1.to_owned()
    }

    fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal)
            .unwrap();
    }

    /// Ends it as Ctrl-C does, and returns the output that was not read yet.
    fn end(mut self) -> (String, String) {
        self.signal(rustix::process::Signal::INT);
        let (mut out, mut err) = (String::new(), String::new());
        self.stdout.read_to_string(&mut out).unwrap();
        self.stderr.read_to_string(&mut err).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0), "{err}");
        (out, err)
    }
}

/// Bytes that differ at all offsets.
fn bytes(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(31) ^ (at >> 8) ^ (at >> 16)) as u8 ^ seed).collect()
}

struct Files {
    folder: TempDir,
    paths: Vec<String>,
    bytes: Vec<Vec<u8>>,
}

/// Files of these lengths.
fn files(lens: &[usize]) -> Files {
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<Vec<u8>> =
        lens.iter().enumerate().map(|(at, len)| bytes(*len, at as u8)).collect();
    let paths = bytes.iter().enumerate().map(|(at, bytes)| {
        let path = folder.path().join(format!("file{at}"));
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let paths = paths.collect();
    Files { folder, paths, bytes }
}

impl Files {
    fn words<'a>(&'a self, before: &[&'a str]) -> Vec<&'a str> {
        before.iter().copied().chain(self.paths.iter().map(String::as_str)).collect()
    }

    fn total(&self) -> usize {
        self.bytes.iter().map(Vec::len).sum()
    }

    /// The bytes of all files, repeated, without numbers.
    fn bare(&self, loops: usize) -> Vec<u8> {
        self.bytes.concat().repeat(loops)
    }

    /// The bytes of the wire format of 2001.
    fn wire(&self, loops: usize) -> Vec<u8> {
        let number = |number: usize| (number as u32).to_be_bytes();
        let mut once = number(self.bytes.len()).to_vec();
        for file in &self.bytes {
            once.extend(number(file.len()));
            once.extend(file);
        }
        [&number(loops)[..], &once.repeat(loops)].concat()
    }
}

const LENS: [usize; 6] = [1, 70_000, 0, 4096, 300_001, 65_536];

/// The line without the seconds and the rate, which vary.
fn amount(line: &str) -> &str {
    line.rsplit_once(", ").map_or(line, |(amount, _)| amount)
}

#[test]
fn every_way_of_sending_reaches_zcs_to_the_byte() {
    let files = files(&LENS);
    let cpu = zc_kernel::sched::allowed_cpus().unwrap()[0].to_string();
    let mut server = Server::start(&["zcs", "-p", "0", "-i", "65536", "-B", &cpu]);
    for (way, loops) in [
        (&["-n100"][..], 100),
        (&["-S", "-n3"], 3),
        (&["-Sw", "-n", "3"], 3),
        (&["-k"], 1),
        (&["-Skb64"], 1),
        (&["-Swb", "1000000", "-n2"], 2),
        (&["-i65536", "-o", "8192", "-B", &cpu], 1),
    ] {
        let words = [&["zcc", "-s", "0", "-p", &server.port][..], way].concat();
        let output = zc(&files.words(&words)).finish().unwrap();
        let expected =
            format!("{} bytes of {} files in {loops} loops", files.total() * loops, 6 * loops);
        assert_eq!(amount(fine(&output).trim_end()), expected, "{way:?}");
        assert_eq!(amount(&server.client_line()), expected, "{way:?}");
    }
    assert_eq!(server.end(), (String::new(), String::new()));
}

/// Reads the stream and prints what was received, as JSON.
const PYTHON_SERVER: &str = r"
import hashlib, json, socket, struct, sys
listener = socket.socket()
listener.bind(('127.0.0.1', 0))
listener.listen(1)
print('listening on port %d' % listener.getsockname()[1], file=sys.stderr, flush=True)
stream = listener.accept()[0].makefile('rb')
def number():
    four = stream.read(4)
    assert len(four) == 4, four
    return struct.unpack('>I', four)[0]
digest, loops, total, lengths = hashlib.sha256(), number(), 0, []
for loop in range(loops):
    for file in range(number()):
        length = number()
        lengths.append(length)
        while length:
            piece = stream.read(min(length, 1 << 16))
            assert piece
            digest.update(piece)
            length -= len(piece)
            total += len(piece)
print(json.dumps({'loops': loops, 'lengths': lengths, 'total': total, 'digest': digest.hexdigest(),
                  'after': len(stream.read())}))
";

/// The digest by another implementation.
fn sha256(bytes: &[u8]) -> Option<String> {
    let script = "import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())";
    let mut child =
        python(script, &[])?.stdin(Stdio::piped()).stdout(Stdio::piped()).start().unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    Some(text(&child.wait_with_output().unwrap().stdout).trim().to_owned())
}

#[test]
fn a_server_in_python_gets_every_byte_in_order_from_every_way_of_sending() {
    let files = files(&LENS);
    let Some(digest) = sha256(&files.bare(2)) else { return };
    for way in [&["-n2"][..], &["-Sn2"], &["-Swn2"], &["-kn2"], &["-Skb4093", "-n2"]] {
        let mut server = Server::spawn(python(PYTHON_SERVER, &[]).unwrap());
        let words = [&["zcc", "-s", "127.0.0.1", "-p", &server.port][..], way, &["--"]].concat();
        fine(&zc(&files.words(&words)).finish().unwrap());
        let received: serde_json::Value = serde_json::from_str(&server.line()).unwrap();
        assert_eq!(received["loops"], 2, "{way:?}");
        assert_eq!(received["lengths"], serde_json::json!(LENS.repeat(2)), "{way:?}");
        assert_eq!(received["total"], 2 * files.total(), "{way:?}");
        assert_eq!(received["digest"].as_str(), Some(digest.as_str()), "{way:?}");
        assert_eq!(received["after"], 0, "{way:?}");
        assert!(server.child.wait().unwrap().success());
    }
}

#[test]
fn a_client_in_python_is_counted_to_the_byte_however_it_cuts_its_bytes() {
    let script = r"
import socket, struct, sys
stream = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
lengths = [0, 5, 70000, 16384, 1]
wire = struct.pack('>I', 3)
for loop in range(3):
    wire += struct.pack('>I', len(lengths))
    for length in lengths:
        wire += struct.pack('>I', length) + bytes(length)
step = int(sys.argv[2])
for at in range(0, len(wire), step):
    stream.sendall(wire[at:at + step])
assert stream.recv(1) == b'', 'the server hangs up once it has everything'
";
    let mut server = Server::start(&["zcs", "-p0"]);
    for step in ["3", "16384", "1000000"] {
        let Some(mut client) = python(script, &[&server.port, step]) else { return };
        let output = client.finish().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(
            amount(&server.client_line()),
            format!("{} bytes of 15 files in 3 loops", 3 * 86_390)
        );
    }
    server.end();
}

#[test]
fn bare_bytes_are_the_files_and_nothing_else() {
    let files = files(&LENS);
    // A listener of the test's own, for the bytes themselves.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let client = zc(&files.words(&["zcc", "--raw", "-n2", "-s0", "-p", &port]))
        .stdout(Stdio::piped())
        .start()
        .unwrap();
    let mut got = Vec::new();
    accept(&listener).read_to_end(&mut got).unwrap();
    assert!(got == files.bare(2), "{} bytes", got.len());
    let line = fine(&client.wait_with_output().unwrap());
    assert_eq!(amount(line.trim_end()), format!("{} bytes", got.len()));

    let client = zc(&files.words(&["zcc", "-n2", "-s0", "-p", &port]))
        .stdout(Stdio::null())
        .start()
        .unwrap();
    let mut got = Vec::new();
    accept(&listener).read_to_end(&mut got).unwrap();
    assert!(got == files.wire(2), "{} bytes", got.len());
    fine(&client.wait_with_output().unwrap());

    let mut server = Server::start(&["zcs", "--raw", "-p", "0"]);
    let port = server.port.clone();
    fine(&zc(&files.words(&["zcc", "--raw", "-n7", "-s", "0", "-p", &port])).finish().unwrap());
    assert_eq!(amount(&server.client_line()), format!("{} bytes", files.total() * 7));
    // A receiver of bare bytes accepts the protocol of 2001 too.
    fine(&zc(&files.words(&["zcc", "-s", "0", "-p", &port])).finish().unwrap());
    assert_eq!(amount(&server.client_line()), format!("{} bytes", files.wire(1).len()));
    server.end();
}

#[test]
fn nc_receives_every_byte_of_either_form() {
    if !has_nc() {
        return;
    }
    let files = files(&LENS);
    for (raw, expected) in [(true, files.bare(3)), (false, files.wire(3))] {
        let port = free_port();
        let got = files.folder.path().join("got");
        let server = Command::new("nc")
            .args(["-l", "127.0.0.1", &port])
            .stdin(Stdio::null())
            .stdout(File::create(&got).unwrap())
            .start();
        let mut server = server.unwrap();
        until_listening(&port);
        let mut words = files.words(&["zcc", "-n3", "-s", "127.0.0.1", "-p", &port]);
        words.extend(raw.then_some("--raw"));
        fine(&zc(&words).finish().unwrap());
        server.wait().unwrap();
        assert!(std::fs::read(&got).unwrap() == expected, "raw: {raw}");
    }
}

#[test]
fn nc_is_a_client_of_a_raw_server() {
    if !has_nc() {
        return;
    }
    let files = files(&[300_000]);
    let mut server = Server::start(&["zcs", "--raw", "-p0"]);
    let status = Command::new("nc")
        .args(["-N", "127.0.0.1", &server.port])
        .stdin(File::open(&files.paths[0]).unwrap())
        .finish()
        .unwrap()
        .status;
    assert!(status.success());
    assert_eq!(amount(&server.client_line()), "300000 bytes");
    server.end();
}

/// A port that was free a moment ago.
fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

/// Waits until a process listens, without connecting: `nc -l` takes only one connection.
fn until_listening(port: &str) {
    let wanted = format!(":{:04X} 00000000:0000 0A ", port.parse::<u16>().unwrap());
    let listens =
        || std::fs::read_to_string("/proc/net/tcp").unwrap().contains(&wanted).then_some(());
    until("a process listens", listens);
}

/// Bytes that a client sends, what is wrong with them, and what is counted.
const LIES: [(&[u8], &str, &str); 8] = [
    (b"", "stopped at the number of loops", "0 bytes of 0 files in 0 loops"),
    (b"\0\0", "stopped at the number of loops, 2 bytes into it", "0 bytes of 0 files in 0 loops"),
    (
        b"\0\0\0\x02\0\0\0\x01\0\0\0\x02ab",
        "stopped at the number of files of loop 2 of 2",
        "2 bytes of 1 files in 1 loops",
    ),
    (
        b"\0\0\0\x01\0\0\0\x02\0",
        "stopped at the length of file 1 of 2, loop 1 of 1, 1 bytes into it",
        "0 bytes of 0 files in 0 loops",
    ),
    (
        b"\0\0\0\x01\0\0\0\x01\xff\xff\xff\xffabc",
        "stopped after 3 of the 4294967295 bytes of file 1 of 1, loop 1 of 1",
        "3 bytes of 0 files in 0 loops",
    ),
    (
        b"\0\0\0\x01\0\0\0\x01\x80\0\0\0a",
        "stopped after 1 of the 2147483648 bytes of file 1 of 1, loop 1 of 1",
        "1 bytes of 0 files in 0 loops",
    ),
    (
        b"GET / HTTP/1.1\r\n\r\n",
        "stopped after 6 of the 1414541105 bytes of file 1 of 790644820, loop 1 of 1195725856",
        "6 bytes of 0 files in 0 loops",
    ),
    (
        b"\0\0\0\x01\0\0\0\x01\0\0\0\x01ab",
        "sent more bytes than it had announced",
        "1 bytes of 1 files in 1 loops",
    ),
];

#[test]
fn clients_that_lie_or_vanish_are_a_sentence_and_the_others_go_on() {
    let files = files(&LENS);
    // Of more in a period only the number is told.
    for lies in LIES.chunks(4) {
        let mut server = Server::start(&["zcs", "-p0"]);
        // One that is there all the time, in the middle of a file.
        let wire = files.wire(1);
        let mut steady = server.connect();
        steady.write_all(&wire[..1000]).unwrap();
        for (sent, wrong, counted) in lies {
            let mut client = server.connect();
            client.write_all(sent).unwrap();
            drop(client.shutdown(std::net::Shutdown::Write));
            assert_eq!(server.warning(), *wrong);
            assert_eq!(amount(&server.client_line()), *counted);
        }
        // A connection that is reset, by SO_LINGER: zcs sends nothing that could be left unread.
        let client = server.connect();
        (&client).write_all(&wire[..20]).unwrap();
        rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
        drop(client);
        let wrong = server.warning();
        // The bytes may or may not have been read before the reset.
        assert!(
            wrong.starts_with("is gone ") && wrong.ends_with(": the sender reset the connection"),
            "{wrong}"
        );
        server.client_line();

        steady.write_all(&wire[1000..]).unwrap();
        assert_eq!(
            amount(&server.client_line()),
            format!("{} bytes of 6 files in 1 loops", files.total())
        );
        assert_eq!(server.end(), (String::new(), String::new()));
    }
}

#[test]
fn a_flood_of_clients_is_not_one_of_messages() {
    const FLOOD: usize = 200;
    let server = Server::start(&["zcs", "-d", "-p0"]);
    for _ in 0..FLOOD {
        // It has been served when zcs closes the connection.
        let mut client = server.connect();
        drop(client.shutdown(std::net::Shutdown::Write));
        assert_eq!(client.read(&mut [0]).unwrap_or(0), 0);
    }
    let (stdout, stderr) = server.end();
    let lines = stdout.lines().chain(stderr.lines()).count();
    // Five that came, with their warnings and lines, and the numbers of the rest, for each period
    // of ten seconds that this took.
    assert!(lines < FLOOD, "{lines} lines: {stderr}");
    let count_of = |what: &str| -> usize {
        let told = stderr.lines().filter(|line| line.contains(what)).count();
        let untold = stderr.lines().filter_map(|line| {
            let (count, rest) = line.strip_prefix("zcs: ")?.split_once(' ')?;
            let more = if what == " is there" { "more came" } else { "more ended with a warning" };
            (rest == more).then(|| count.parse::<usize>().unwrap())
        });
        told + untold.sum::<usize>()
    };
    assert_eq!(count_of(" is there"), FLOOD);
    assert_eq!(count_of(" stopped at "), FLOOD);
}

#[test]
fn several_clients_are_served_at_a_time_and_too_many_are_turned_away() {
    let files = files(&LENS);
    let wire = files.wire(1);
    let mut server = Server::start(&["zcs", "-p0"]);
    let mut clients: Vec<TcpStream> = (0..64).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.write_all(&wire[..100]).unwrap();
    }
    // One that has sent nothing yet would be disconnected to make room.
    server.has_read(64);
    // The 65th is rejected.
    let mut late = server.connect();
    assert!(matches!(late.read(&mut [0]), Ok(0) | Err(_)));
    assert_eq!(server.warning(), "was turned away: 64 are being served");
    // All of the 64 finish, the last one first.
    for client in clients.iter_mut().rev() {
        client.write_all(&wire[100..]).unwrap();
    }
    for _ in 0..64 {
        assert_eq!(
            amount(&server.client_line()),
            format!("{} bytes of 6 files in 1 loops", files.total())
        );
    }
    // And there is room again.
    fine(&zc(&files.words(&["zcc", "-s", "0", "-p", &server.port])).finish().unwrap());
    server.client_line();
    server.end();
}

#[test]
fn silent_clients_make_room_for_one_that_sends_and_senders_keep_their_places() {
    let files = files(&LENS);
    let wire = files.wire(1);
    let mut server = Server::start(&["zcs", "-p0"]);
    // One in the middle of its files, one that has sent half a number, and 62 that are silent.
    let mut steady = server.connect();
    steady.write_all(&wire[..100]).unwrap();
    let mut half = server.connect();
    half.write_all(&wire[..2]).unwrap();
    server.has_read(2);
    let silent: Vec<TcpStream> = (0..62).map(|_| server.connect()).collect();
    let port = server.port.clone();
    for _ in 0..3 {
        fine(&zc(&files.words(&["zcc", "-n2", "-s0", "-p", &port])).finish().unwrap());
    }
    // They need one place, or more if one connects before the last has closed its connection; no
    // client waits for the other places.
    let sent = format!("{} bytes of 12 files in 2 loops", files.total() * 2);
    let mut lines: Vec<String> = Vec::new();
    while lines.iter().filter(|line| *line == &sent).count() < 3 {
        lines.push(amount(&server.client_line()).to_owned());
    }
    assert!((4..=6).contains(&lines.len()), "{lines:?}");
    for _ in 3..lines.len() {
        let wrong = server.warning();
        assert!(
            wrong.starts_with("had said nothing for ")
                && wrong.ends_with(" s and made room for another"),
            "{wrong}"
        );
    }
    steady.write_all(&wire[100..]).unwrap();
    assert_eq!(
        amount(&server.client_line()),
        format!("{} bytes of 6 files in 1 loops", files.total())
    );
    drop(silent);
    server.end();
}

#[test]
fn ipv6_clients_are_served_and_named() {
    if TcpListener::bind("[::1]:0").is_err() {
        eprintln!("skipped: no IPv6 here");
        return;
    }
    let files = files(&LENS);
    let mut server = Server::start(&["zcs", "-p0"]);
    fine(&zc(&files.words(&["zcc", "-n3", "-s", "::1", "-p", &server.port])).finish().unwrap());
    let line = server.line();
    assert!(line.starts_with("[::1]:"), "{line}");
    assert!(
        line.contains(&format!(": {} bytes of 18 files in 3 loops, ", files.total() * 3)),
        "{line}"
    );
    server.end();
}

#[test]
fn throughput_is_printed_while_bytes_arrive_and_ctrl_c_prints_what_was_received() {
    let mut server = Server::start(&["zcs", "--raw", "--interval", "1", "-p0"]);
    let client = server.connect();
    let sender = std::thread::spawn(move || while (&client).write_all(&[7; 16_384]).is_ok() {});
    let line = server.line();
    let (number, unit) = line.split_once(' ').unwrap();
    assert!(number.parse::<u64>().unwrap() > 0 && unit == "kbytes/sec", "{line}");
    let (out, err) = server.end();
    sender.join().unwrap();
    assert!(out.lines().last().unwrap().contains(" bytes, "), "{out}");
    assert!(err.contains("was cut off, as zcs is ending"), "{err}");
}

#[test]
fn ctrl_c_ends_zcs_even_if_its_output_is_not_read() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    // Full to its last byte, so that the first line finds no room.
    rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).unwrap();
    while writer.write(&[b'x'; 4096]).is_ok() {}
    while writer.write(b"x").is_ok() {}
    rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::empty()).unwrap();
    let mut child = zc(&["zcs", "-p0"]).stdout(writer).stderr(Stdio::piped()).start().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let port: u16 = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
    let mut client = connect(port);
    client.write_all(&[0; 4]).unwrap();
    assert_eq!(client.read(&mut [0]).unwrap(), 0, "it hangs up, and then has a line to write");
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::INT,
    )
    .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(reader);
}

#[test]
fn a_reader_of_zcs_that_goes_away_ends_it() {
    let mut server = Server::start(&["zcs", "-p0"]);
    let (reader, _writer) = std::io::pipe().unwrap();
    drop(std::mem::replace(
        &mut server.stdout,
        BufReader::new(ChildStdout::from(std::os::fd::OwnedFd::from(reader))),
    ));
    let mut client = server.connect();
    client.write_all(&[0; 4]).unwrap();
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

#[test]
fn what_is_not_a_readable_regular_file_is_left_out_and_named_with_d() {
    let files = files(&[10, 20]);
    let fifo = files.folder.path().join("fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let missing = files.folder.path().join("missing");
    let others = [fifo.to_str().unwrap(), "/", "/dev/zero", missing.to_str().unwrap()];
    let mut server = Server::start(&["zcs", "-p0"]);
    let port = server.port.clone();
    let output = zc(&files.words(&[&["zcc", "-d", "-s0", "-p", &port][..], &others].concat()))
        .finish()
        .unwrap();
    fine(&output);
    assert_eq!(amount(&server.client_line()), "30 bytes of 2 files in 1 loops");
    let said = text(&output.stderr);
    for name in others {
        assert!(
            said.lines()
                .any(|line| line.starts_with("zcc: left out: ")
                    && line.contains(&format!("\"{name}\""))),
            "{said}"
        );
    }
    let quiet =
        zc(&files.words(&[&["zcc", "-s0", "-p", &port][..], &others].concat())).finish().unwrap();
    assert_eq!(text(&quiet.stderr), "");
    // Nothing but such files.
    let output = zc(&["zcc", "-s0", "-p", &port, "/", "/dev/zero"]).finish().unwrap();
    assert_eq!(refused(&output, 3), "no-usable-file");
    let output = zc(&["zcc", "-s0", "-p", &port, "/"]).finish().unwrap();
    assert_eq!(refused(&output, 3), "is-a-directory");
}

#[test]
fn a_file_of_four_gib_does_not_fit_the_wire_and_the_error_names_raw() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large");
    let large = File::create(&path).unwrap();
    if let Err(error) = large.set_len(1 << 32) {
        eprintln!("skipped: no sparse file of 4 GiB can be made here: {error}");
        return;
    }
    let output = zc(&["zcc", "-s", "0", "-p", "1", path.to_str().unwrap()]).finish().unwrap();
    assert_eq!(refused(&output, 3), "file-too-large");
    let said = stderr(&output);
    assert!(said.contains("large\"") && said.contains("--raw"), "{said}");
}

#[test]
fn cpus_that_are_not_here_are_exit_code_2() {
    let id = |words: &[&str]| refused(&zc(words).finish().unwrap(), 2);
    assert_eq!(id(&["zcs", "-p0", "-B1000"]), "cannot-bind-to-cpu");
    assert_eq!(id(&["cyclesoak", "-N1024"]), "too-few-cpus");
}

#[test]
fn the_error_of_an_unreachable_server_has_its_name_and_port() {
    let files = files(&[1]);
    let port = free_port();
    let output = zc(&files.words(&["zcc", "-s", "0", "-p", &port])).finish().unwrap();
    assert_eq!(refused(&output, 1), "cannot-connect");
    let said = stderr(&output);
    assert!(said.contains("\"0\"") && said.contains(&port), "{said}");
    let output = zc(&files.words(&["zcc", "-s", "no such host.invalid"])).finish().unwrap();
    assert_eq!(refused(&output, 1), "cannot-find-host");
    assert!(stderr(&output).contains("\"no such host.invalid\""), "{}", stderr(&output));
    let server = Server::start(&["zcs", "-p0"]);
    let output = zc(&["zcs", "-p", &server.port]).finish().unwrap();
    assert_eq!(refused(&output, 1), "cannot-listen");
    assert!(stderr(&output).contains(&format!("\"{}\"", server.port)), "{}", stderr(&output));
}

#[test]
fn a_server_that_leaves_is_an_error_of_the_client() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let files = files(&[1_000_000]);
    let client = zc(&files.words(&["zcc", "-s0", "-n1000", "-p", &port]))
        .stderr(Stdio::piped())
        .start()
        .unwrap();
    let mut stream = accept(&listener);
    stream.read_exact(&mut [0; 1000]).unwrap();
    drop(stream);
    let output = client.wait_with_output().unwrap();
    assert_eq!(failed(&output, 1), "receiver-closed-early");
}

/// Links in a folder of their own.
fn installed() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fine(&zc(&["install-classic", folder.path().to_str().unwrap()]).finish().unwrap());
    folder
}

#[test]
fn the_links_have_the_names_of_2001_and_are_written_over_nothing() {
    let folder = installed();
    let at = |name: &str| Command::new(folder.path().join(name));
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["cyclesoak", "run_rr", "ttcp", "ttcp-sf", "zcc", "zcs"]);
    for name in &names {
        for help in ["-h", "--help"] {
            let usage = fine(&at(name).arg(help).finish().unwrap());
            assert!(
                usage.starts_with(&format!("Usage: {}", name.trim_end_matches("-sf"))),
                "{usage}"
            );
        }
    }
    // Nothing is written over.
    let zcs = folder.path().join("zcs");
    std::fs::remove_file(&zcs).unwrap();
    std::fs::write(&zcs, b"mine").unwrap();
    let output = zc(&["install-classic", folder.path().to_str().unwrap()]).finish().unwrap();
    assert_eq!(refused(&output, 5), "file-exists");
}

fn load_of(line: &str) -> f64 {
    let number = line.strip_prefix("System load: ").and_then(|rest| rest.split('%').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

/// Calibrates, silently; whether the soakers got CPU time to do so.
fn is_calibrated(command: impl Fn() -> Command) -> bool {
    let calibrated =
        undisturbed(|| command().finish().unwrap(), |output| stderr(output).contains(STARVED));
    let done = !is_starved(&stderr(&calibrated));
    if done {
        assert_eq!(fine(&calibrated), "");
    }
    done
}

#[test]
fn cyclesoak_is_calibrated_once_and_then_tells_the_load() {
    let _turn = measuring();
    let folder = tempfile::tempdir().unwrap();
    let here = |words: &[&str]| {
        let mut command = zc(words);
        command.current_dir(folder.path());
        command
    };
    assert_eq!(refused(&here(&["cyclesoak"]).finish().unwrap(), 3), "not-calibrated");
    let files = files(&[100_000]);
    let output = here(&files.words(&["zcc", "-c", "-s0", "-p1"])).finish().unwrap();
    assert_eq!(refused(&output, 3), "not-calibrated");

    if !is_calibrated(|| here(&["cyclesoak", "-C"])) {
        return;
    }
    let calibration = std::fs::read_to_string(folder.path().join("counts_per_sec")).unwrap();
    assert!(calibration.starts_with("zc counts_per_sec 1\n"), "{calibration}");

    let mut soak = here(&["cyclesoak", "-Bm", "50"]).stdout(Stdio::piped()).start().unwrap();
    let mut lines = BufReader::new(soak.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    assert!(load_of(&line) <= 100.0 && line.contains("% || Free: "), "{line}");
    // A busy thread on each CPU leaves the soakers almost no time: half of it is enough for the
    // test.
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Not available_parallelism(), which a quota of the cgroup makes smaller.
        for _ in zc_kernel::sched::allowed_cpus().unwrap() {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let end = Instant::now() + LIMIT;
        while load_of(&lines.next().unwrap().unwrap()) < 50.0 {
            assert!(Instant::now() < end, "busy CPUs are no load");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&soak),
        rustix::process::Signal::INT,
    )
    .unwrap();
    assert_eq!(soak.wait().unwrap().code(), Some(0));

    // Soakers that do a thousand times what they did when calibrated give one warning.
    let lowered: Vec<String> = calibration
        .lines()
        .map(|line| match line.strip_prefix("cpu ").and_then(|rest| rest.split_once(' ')) {
            Some((cpu, counts)) => {
                format!("cpu {cpu} {}\n", counts.parse::<f64>().unwrap() / 1000.0)
            }
            None => format!("{line}\n"),
        })
        .collect();
    std::fs::write(folder.path().join("counts_per_sec"), lowered.concat()).unwrap();
    let mut soak =
        here(&["cyclesoak", "-m20"]).stdout(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    // Where not all CPUs may be used, that is said before it.
    let mut warnings = BufReader::new(soak.stderr.take().unwrap()).lines().map_while(Result::ok);
    let doubt = warnings.find(|line| {
        line.starts_with("warning: the soakers do more than when they were calibrated")
    });
    assert!(doubt.is_some());
    drop(soak);
    std::fs::write(folder.path().join("counts_per_sec"), &calibration).unwrap();

    // The client measures by the same file.
    let mut server = Server::start(&["zcs", "-p0"]);
    let output =
        here(&files.words(&["zcc", "-c", "-n200", "-s0", "-p", &server.port])).finish().unwrap();
    let said = fine(&output);
    let load =
        said.lines().find(|line| line.contains(" over ")).unwrap_or_else(|| panic!("{said}"));
    assert!(load_of(load) <= 100.0);
    assert_eq!(amount(&server.client_line()), "20000000 bytes of 200 files in 200 loops");
    server.end();

    let other = calibration.replace("\nhost ", "\nhost not-");
    std::fs::write(folder.path().join("counts_per_sec"), other).unwrap();
    let output = here(&["cyclesoak"]).finish().unwrap();
    assert_eq!(refused(&output, 3), "calibration-file-unusable");
    assert!(stderr(&output).contains("\"not-"), "{}", stderr(&output));
    std::fs::write(folder.path().join("counts_per_sec"), "123456\n").unwrap();
    let output = here(&["cyclesoak"]).finish().unwrap();
    assert_eq!(refused(&output, 3), "calibration-file-unusable");
}

#[test]
fn the_transcripts_of_2001_run_by_their_own_words() {
    let _turn = measuring();
    let folder = installed();
    let files = files(&LENS);
    for (path, bytes) in files.paths.iter().zip(&files.bytes) {
        std::fs::write(folder.path().join(Path::new(path).file_name().unwrap()), bytes).unwrap();
    }
    let sh = |script: &str| {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).current_dir(folder.path()).stdin(Stdio::null());
        command
    };
    // The port of 2001, unless it is taken; `exec`, as this test ends what it started.
    let taken = TcpListener::bind(("::", 2222)).is_err();
    let (zcs, port) = if taken { ("exec ./zcs -p 0", "-p ") } else { ("exec ./zcs", "") };
    let mut server = Server::spawn(sh(zcs));
    let port = if taken { format!("{port}{}", server.port) } else { port.to_owned() };
    let sent = |loops: usize| {
        format!("{} bytes of {} files in {loops} loops", files.total() * loops, 6 * loops)
    };

    let said = fine(&sh(&format!("./zcc -s 0 file* -n100 {port}")).finish().unwrap());
    assert_eq!(amount(said.trim_end()), sent(100));
    assert_eq!(amount(&server.client_line()), sent(100));
    // "The chunk size was 64 kbytes", "send(8k)", "small writes with zcc -S -b 64", and a CPU of
    // their own.
    for way in ["-S -w", "-S -b 8192", "-S -b 64 -k", "-B 0"] {
        let output = sh(&format!("./zcc {way} -s 0 file* -n2 {port}")).finish().unwrap();
        // CPU 0 may be forbidden; where only the affinity leaves it out (taskset), zcc may have it
        // all the same.
        if way == "-B 0"
            && !output.status.success()
            && !zc_kernel::sched::allowed_cpus().unwrap().contains(&0)
        {
            continue;
        }
        assert_eq!(amount(fine(&output).trim_end()), sent(2), "{way}");
        assert_eq!(amount(&server.client_line()), sent(2), "{way}");
    }

    // "Before cyclesoak can be used, it must be calibrated with cyclesoak -C -N nr_cpus".
    let cpus = zc_kernel::sched::allowed_cpus().unwrap().len();
    if !is_calibrated(|| sh(&format!("./cyclesoak -C -N {cpus}"))) {
        return;
    }
    let mut soak =
        sh(&format!("exec ./cyclesoak -N {cpus} -p 1")).stdout(Stdio::piped()).start().unwrap();
    let mut loads = BufReader::new(soak.stdout.take().unwrap()).lines();
    let said = fine(&sh(&format!("./zcc -c -s 0 file* -n1000 {port}")).finish().unwrap());
    let (load, line) = said.trim_end().rsplit_once('\n').unwrap();
    assert!(load_of(load.lines().last().unwrap()) <= 100.0 && load.ends_with(" s"), "{said}");
    assert_eq!(amount(line), sent(1000));
    assert_eq!(amount(&server.client_line()), sent(1000));
    for _ in 0..2 {
        let line = loads.next().unwrap().unwrap();
        assert!(load_of(&line) <= 100.0 && line.ends_with('%'), "{line}");
    }
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&soak),
        rustix::process::Signal::INT,
    )
    .unwrap();
    assert_eq!(soak.wait().unwrap().code(), Some(0));

    if rr_can_be_had() {
        for load in ["", "-c"] {
            let output =
                sh(&format!("./run_rr ./zcc {load} -s 0 file* -n100 {port}")).finish().unwrap();
            assert_eq!(amount(fine(&output).lines().last().unwrap()), sent(100));
            assert!(
                text(&output.stderr).starts_with("run_rr: SCHED_RR; "),
                "{}",
                text(&output.stderr)
            );
            assert_eq!(amount(&server.client_line()), sent(100));
        }
    }
    let (out, err) = server.end();
    assert!(out.lines().all(|line| line.ends_with(" kbytes/sec")) && err.is_empty(), "{out}{err}");
}

/// Whether this user may have SCHED_RR, by chrt or by trying it out.
fn rr_can_be_had() -> bool {
    let output = zc(&["run_rr", "true"]).finish().unwrap();
    if output.status.code() == Some(125) {
        eprintln!(
            "skipped: SCHED_RR cannot be had: {}",
            text(&output.stderr).lines().next().unwrap_or_default()
        );
        return false;
    }
    true
}

#[test]
fn run_rr_runs_its_command_and_its_children_round_robin() {
    if !rr_can_be_had() {
        return;
    }
    // Field 41 of proc_pid_stat(5) is the policy; SCHED_RR is 2. By a child of the shell.
    let script = "cut -d' ' -f41 </proc/self/stat; exit 7";
    for command in [&["run_rr", "sh", "-c", script][..], &["run-rr", "--", "sh", "-c", script]] {
        let output = zc(command).finish().unwrap();
        assert_eq!(output.status.code(), Some(7));
        assert_eq!(text(&output.stdout), "2\n");
        let said = text(&output.stderr);
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(
            said.starts_with("run_rr: SCHED_RR; ")
                && said.contains("a command that wants a whole CPU"),
            "{said}"
        );
    }
    // Bare, it is a shell.
    let mut shell = zc(&["run_rr"])
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .start()
        .unwrap();
    shell.stdin.take().unwrap().write_all(b"cut -d' ' -f41 </proc/self/stat\n").unwrap();
    assert_eq!(text(&shell.wait_with_output().unwrap().stdout), "2\n");
}

#[test]
fn run_rr_tells_a_command_that_is_nowhere_from_one_that_may_not_be_run() {
    if !rr_can_be_had() {
        return;
    }
    let output = zc(&["run_rr", "no-such-command"]).finish().unwrap();
    assert_eq!(refused(&output, 127), "command-not-found");
    assert!(stderr(&output).contains("\"no-such-command\""), "{}", stderr(&output));
    assert_eq!(refused(&zc(&["run_rr", "/"]).finish().unwrap(), 126), "cannot-run-command");
}

#[test]
fn run_rr_says_that_it_wants_root() {
    use std::os::unix::process::CommandExt as _;
    let mut command = zc(&["run_rr", "true"]);
    if rustix::process::geteuid().is_root() {
        command.uid(65_534).gid(65_534).current_dir("/");
    }
    match command.finish() {
        Ok(output) if output.status.success() => {
            eprintln!("skipped: everybody may have SCHED_RR here")
        }
        Ok(output) => {
            assert_eq!(refused(&output, 125), "realtime-not-permitted");
        }
        Err(error) => eprintln!("skipped: the binary cannot be run as another user here: {error}"),
    }
}

#[test]
fn ttcp_sends_and_receives_as_in_2001() {
    let receive = |words: &[&str]| Server::start(&[&["ttcp", "-r", "-p0"], words].concat());
    let send = |port: &str, words: &[&str]| {
        zc(&[&["ttcp", "-t", "-p", port][..], words, &["127.0.0.1"]].concat())
    };
    for words in
        [&["-s"][..], &["-c", "-l", "32768", "-v"], &["-sDb", "65536"], &["-cs", "-l", "1000"]]
    {
        let mut receiver = receive(&["-s"]);
        let sent = fine(&send(&receiver.port, &[words, &["-n", "100"]].concat()).finish().unwrap());
        let length = if words[0] == "-c" {
            32_768
        } else if words[0] == "-cs" {
            1000
        } else {
            8192
        };
        assert!(sent.starts_with(&format!("ttcp-t: {} bytes in ", length * 100)), "{sent}");
        assert!(sent.lines().next().unwrap().ends_with(" KB/sec +++"), "{sent}");
        assert_eq!(sent.contains("CPU seconds"), words.contains(&"-v"), "{sent}");
        assert!(sent.contains(" I/O calls, msec/call = ") && sent.contains("csw"), "{sent}");
        assert!(receiver.line().starts_with(&format!("ttcp-r: {} bytes in ", length * 100)));
        assert_eq!(receiver.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn ttcp_carries_a_file_from_stdin_or_by_name_to_stdout_unchanged() {
    let files = files(&[300_001]);
    let path = Path::new(&files.paths[0]);
    let cases: [(&[&str], bool, bool); 5] = [
        (&["-F"], false, false),
        (&["-cF"], false, false),
        (&[], true, false),
        (&["-c", "-l1000"], true, false),
        (&["-l", "333"], true, true),
    ];
    for (words, stdin, pipe) in cases {
        let receiver = Server::start(&["ttcp", "-r", "-p0", "-l", "4096"]);
        let mut sender = zc(&["ttcp", "-t", "-p", &receiver.port, "127.0.0.1"]);
        sender.args(words);
        if !stdin {
            sender.arg(path);
        }
        let mut sent = match (stdin, pipe) {
            (true, true) => sender.stdin(Stdio::piped()),
            (true, false) => sender.stdin(File::open(path).unwrap()),
            _ => &mut sender,
        }
        .stdout(Stdio::piped())
        .start()
        .unwrap();
        if pipe {
            sent.stdin.take().unwrap().write_all(&files.bytes[0]).unwrap();
        }
        let mut receiver = receiver;
        let mut got = Vec::new();
        receiver.stdout.read_to_end(&mut got).unwrap();
        assert!(got == files.bytes[0], "{words:?}: {} bytes", got.len());
        let said = fine(&sent.wait_with_output().unwrap());
        assert!(said.starts_with("ttcp-t: 300001 bytes in "), "{said}");
        let mut summary = String::new();
        receiver.stderr.read_to_string(&mut summary).unwrap();
        assert!(summary.contains("ttcp-r: 300001 bytes in "), "{summary}");
        receiver.child.wait().unwrap();
    }
    // Sendfile has no use for a pipe.
    let mut sender = zc(&["ttcp", "-tc", "127.0.0.1"]);
    let sender = sender.stdin(Stdio::piped()).stderr(Stdio::piped()).start().unwrap();
    assert_eq!(refused(&sender.wait_with_output().unwrap(), 2), "stdin-not-a-file");
}

#[test]
fn ttcp_and_nc_understand_one_another() {
    if !has_nc() {
        return;
    }
    let files = files(&[200_000]);
    let mut receiver = Server::start(&["ttcp", "-r", "-p0"]);
    let mut nc = Command::new("nc")
        .args(["-N", "127.0.0.1", &receiver.port])
        .stdin(File::open(&files.paths[0]).unwrap())
        .start()
        .unwrap();
    let mut got = Vec::new();
    receiver.stdout.read_to_end(&mut got).unwrap();
    assert!(got == files.bytes[0]);
    assert!(nc.wait().unwrap().success());

    let port = free_port();
    let to: PathBuf = files.folder.path().join("got");
    let nc = Command::new("nc")
        .args(["-l", "127.0.0.1", &port])
        .stdin(Stdio::null())
        .stdout(File::create(&to).unwrap())
        .start();
    let mut nc = nc.unwrap();
    until_listening(&port);
    fine(
        &zc(&["ttcp", "-t", "-c", "-F", &files.paths[0], "-p", &port, "127.0.0.1"])
            .finish()
            .unwrap(),
    );
    nc.wait().unwrap();
    assert!(std::fs::read(&to).unwrap() == files.bytes[0]);
}
