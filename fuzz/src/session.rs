//! The messages of a session, and zc's client with a far end that answers what it likes.

use std::fs::File;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;

use arbitrary::Arbitrary;
use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use zc_remote::Client;
use zc_remote::connection::Connection;
use zc_remote::protocol::{
    FarFile, FarOrigin, LONGEST_REPLY, LONGEST_REQUEST, LoadWanted, NfsWanted, Prepare, Reply,
    Request,
};
use zc_rig::trial::{RecvConfig, RemoteSide as _};
use zc_run::{NfsCall, NfsClient, NfsOperation, NfsVersion, RecvPath, SoakerKind};
use zc_servers::{CallsOf, RemoteLoad as _};

use crate::edits::Edit;
use crate::quarantine;

/// Calls of a client, each with what the far end sends.
#[derive(Debug, Clone, Arbitrary)]
pub struct Session {
    steps: Vec<Step>,
    address_is_named: bool,
}

#[derive(Debug, Clone, Arbitrary)]
struct Step {
    call: Call,
    answers: Vec<Message>,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Call {
    Prepare,
    Soak,
    Expect(u8),
    AwaitFlows,
    Window(u32),
    Finish,
    GiveUp,
    Load,
    Fetch,
    Go,
    Pause,
    Nfs,
    OpenNfs,
    GoNfs,
}

/// A message of the protocol with changes, or bytes.
#[derive(Debug, Clone, Arbitrary)]
enum Message {
    Known { which: u8, edits: Vec<Edit> },
    Bytes(Vec<u8>),
}

/// A reply of each kind, as it is written.
fn replies() -> Vec<Value> {
    let host = serde_json::to_value(zc_run::Host::default()).expect("a host is JSON");
    let window = serde_json::to_value(zc_run::RemoteWindow::default()).expect("a window is JSON");
    let mut answered = window;
    answered["answer"] = json!("window");
    vec![
        json!({"answer": "ready", "machine": {"zc_version": "0.2.0", "host": host,
            "same_machine": false, "receiver_cpu": 1, "soaked_cpus": [1]}, "data_port": 9,
            "addresses": ["127.0.0.1", "::1", "192.0.2.1"], "warnings": [{"name": "far-x",
            "severity": "doubt", "text": "at the far end: x", "remedy": null}]}),
        json!({"answer": "listening", "greetings": ["00112233445566778899aabbccddeeff"]}),
        json!({"answer": "arrived"}),
        answered,
        json!({"answer": "finished", "received_bytes": [1, 2, 3], "crc32": 7}),
        json!({"answer": "done"}),
        json!({"answer": "given-up"}),
        json!({"answer": "asks", "same_machine": false}),
        json!({"answer": "fetched", "url": "http://a/f", "status": 200, "body_bytes": 5, "crc32": 7,
            "is_chunked": false, "encoding": null, "location": null, "server": "nginx",
            "keeps_alive": true}),
        json!({"answer": "paused", "responses_per_s": 2000.0, "responses": 200, "body_bytes": 1000,
            "fault": null, "up_to_ns": [100_351, 2_000_895], "requests": [198, 2]}),
        json!({"answer": "opened-nfs", "bytes": 2_097_152, "largest": 1_048_576, "crc32": 7}),
        json!({"answer": "cannot-run", "unavailable": {"kind": "refused", "reason": "it is off",
            "remedy": null}}),
        json!({"answer": "error", "kind": "failed", "message": "a receiver broke", "help": null}),
    ]
}

/// A request of each kind, as it is written.
fn requests() -> Vec<Value> {
    vec![
        json!({"ask": "prepare", "boot_id": "0000", "soaked_cpus": [0, 1], "sender_cpu": 0,
            "soaker": "alu", "receiver_cpu": null, "rcvbuf_bytes": null}),
        json!({"ask": "meet"}),
        json!({"ask": "soak", "on": true}),
        json!({"ask": "flows", "flows": 1, "path": "recv", "buffer_bytes": 65536,
            "checksum": false}),
        json!({"ask": "window", "opens_in_ns": 1000, "lasts_ns": 80_000_000}),
        json!({"ask": "finish"}),
        json!({"ask": "give-up"}),
        json!({"ask": "load", "boot_id": "0000", "origins": [{"url": "http://a:8001/f",
            "address": "192.0.2.1"}], "connections": 8, "keep_alive": true,
            "headers": [["Accept", "*/*"]], "checks_certificate": true,
            "timeout_ns": 10_000_000_000_u64}),
        json!({"ask": "fetch", "origin": 0}),
        json!({"ask": "go", "origin": 0, "per_s": 2000.0, "begins_in_ns": 1_000_000}),
        json!({"ask": "pause"}),
        json!({"ask": "nfs", "boot_id": "0000", "client": "kernel", "address": "192.0.2.1"}),
        json!({"ask": "open-nfs", "file": "/srv/file", "path": "nfs-v4.2", "size": 65536,
            "connections": 1, "most": 67_108_864}),
        json!({"ask": "go-nfs", "file": 0, "bytes": 65536, "depth": 4, "per_s": 100.0,
            "begins_in_ns": 1_000_000}),
    ]
}

impl Message {
    fn line(&self, known: &[Value]) -> Vec<u8> {
        let mut line = match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Known { which, edits } => {
                let mut value = known[usize::from(*which) % known.len()].clone();
                edits.iter().take(6).for_each(|edit| edit.apply(&mut value));
                value.to_string().into_bytes()
            }
        };
        line.push(b'\n');
        line
    }
}

impl Session {
    /// Makes the calls. Each ends, whatever is answered; after the answers the far end is gone.
    pub fn check(&self) {
        quarantine::enter();
        let known = replies();
        let steps = &self.steps[..self.steps.len().min(16)];
        let answers: Vec<u8> = steps
            .iter()
            .flat_map(|step| step.answers.iter().take(4))
            .flat_map(|message| message.line(&known))
            .collect();
        for line in answers.split(|&byte| byte == b'\n').filter(|line| line.len() <= LONGEST_REPLY)
        {
            same_again::<Reply>(line);
        }
        let mut client = Client::new(Connection::new(holding(&answers), sink()), ());
        for step in steps {
            let named = self.address_is_named.then_some(([127, 0, 0, 1], 0).into());
            match step.call {
                Call::Prepare => drop(client.prepare(prepare(), named)),
                Call::Soak => drop(client.soak(true)),
                Call::Expect(flows) => {
                    let config = RecvConfig {
                        path: RecvPath::Recv,
                        buffer_bytes: 4096,
                        cpus: vec![0],
                        checksum: false,
                        keying: None,
                        datagrams: None,
                    };
                    if let Ok(targets) = client.expect(flows.into(), config) {
                        assert_eq!(targets.len(), usize::from(flows));
                    }
                }
                Call::AwaitFlows => drop(client.await_flows()),
                Call::Window(lasts_ns) => {
                    drop(client.open_window(lasts_ns.into(), lasts_ns.into()));
                    drop(client.window());
                }
                Call::Finish => drop(client.finish(&[], 1.0)),
                Call::GiveUp => client.give_up(),
                Call::Load => drop(client.load(load())),
                Call::Fetch => drop(client.fetch(0).map(|fetched| fetched.usable())),
                Call::Go => drop(client.go(0, Some(1.0), 1)),
                Call::Nfs => drop(client.nfs(nfs())),
                Call::OpenNfs => {
                    if let Ok(opened) = client.open_nfs(file()) {
                        assert!(opened.bytes <= file().most);
                    }
                }
                Call::GoNfs => drop(client.go_nfs(CallsOf { file: 0, bytes: 1 }, 1, None, 1)),
                Call::Pause => {
                    if let Ok(phase) = client.pause() {
                        assert!(phase.latency.classes().all(|(_, requests)| requests > 0));
                    }
                }
            }
        }
        client.give_up();
    }
}

/// Requests as the server reads them.
#[derive(Debug, Clone, Arbitrary)]
pub struct Requests(Vec<Message>);

impl Requests {
    /// What is a request is the same when it is written and read again.
    pub fn check(&self) {
        let known = requests();
        for message in self.0.iter().take(8) {
            let line = message.line(&known);
            if line.len() <= LONGEST_REQUEST {
                same_again::<Request>(&line);
            }
        }
    }
}

/// A message that is read, written and read again is the same.
fn same_again<T: Serialize + DeserializeOwned + PartialEq>(line: &[u8]) {
    let Ok(message) = serde_json::from_slice::<T>(line) else { return };
    let text = serde_json::to_string(&message).expect("a message is JSON");
    assert!(!text.contains('\n'), "a message is one line");
    let again: T = serde_json::from_str(&text).expect("zc reads what it writes");
    assert!(again == message, "another message is read than was written: {text}");
}

fn prepare() -> Prepare {
    Prepare {
        boot_id: String::new(),
        soaked_cpus: vec![0],
        sender_cpu: 0,
        soaker: SoakerKind::Alu,
        receiver_cpu: None,
        rcvbuf_bytes: None,
    }
}

fn load() -> LoadWanted {
    LoadWanted {
        boot_id: String::new(),
        origins: vec![FarOrigin { url: "http://a/f".to_owned(), address: None }],
        connections: 1,
        keep_alive: true,
        headers: Vec::new(),
        checks_certificate: true,
        timeout_ns: 1,
    }
}

fn nfs() -> NfsWanted {
    NfsWanted {
        boot_id: String::new(),
        client: NfsClient::User,
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
    }
}

fn file() -> FarFile {
    FarFile {
        file: "/srv/file".to_owned(),
        call: NfsCall { version: NfsVersion::V3, operation: NfsOperation::Read },
        size: 1,
        connections: 1,
        most: 1 << 20,
    }
}

/// A descriptor from which these bytes can be read, and then the end.
fn holding(bytes: &[u8]) -> OwnedFd {
    let fd = memfd_create("zc-fuzz", MemfdFlags::CLOEXEC).expect("memory");
    let mut file = File::from(fd);
    file.write_all(bytes).expect("memory");
    let fd = OwnedFd::from(file);
    seek(&fd, SeekFrom::Start(0)).expect("a file in memory has positions");
    fd
}

fn sink() -> OwnedFd {
    File::options().write(true).open("/dev/null").expect("/dev/null").into()
}
