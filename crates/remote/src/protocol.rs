//! The messages of a session: the client sends one request at a time and the server replies to it.
//! docs/protocol.md describes them for other implementations.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use zc_load::Fetched;
use zc_rig::tls::TlsKeying;
use zc_run::{
    DeviceFacts, Error, NfsCall, NfsClient, RecvPath, RemoteMachine, RemoteWindow, SoakerKind,
    Unavailable, Warning,
};
use zc_servers::AskedFor;

/// Default control port of `zc serve`. Data uses the port above it.
pub const PORT: u16 = 2223;

/// Longest request in bytes. It has room for a list of a thousand CPUs.
pub const LONGEST_REQUEST: usize = 64 << 10;

/// Longest reply in bytes. It has room for the readings of a thousand CPUs.
pub const LONGEST_REPLY: usize = 8 << 20;

/// Bytes of a greeting, which a data connection sends first. Each is random, so that a foreign
/// connection is not taken for a flow.
pub(super) const GREETING_BYTES: usize = 16;

/// Requests of the client to the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "ask")]
pub enum Request {
    /// The first request: set up the session and describe the machine.
    Prepare(Prepare),
    /// Wait for a connection with the greeting of the reply and send one byte on it. The client
    /// tries addresses this way.
    Meet,
    /// Start or stop the soakers' work.
    Soak {
        /// True starts it.
        on: bool,
    },
    /// Prepare for the flows of a trial.
    Flows {
        /// Number of flows.
        flows: usize,
        /// Receive path.
        path: RecvPath,
        /// Receive buffer in bytes.
        buffer_bytes: usize,
        /// Compute the CRC-32 of each flow.
        checksum: bool,
        /// How the flows are encrypted, if they are.
        keying: Option<TlsKeying>,
    },
    /// Read the meters at both edges of a window.
    Window {
        /// Delay from the receipt of this request to the opening edge.
        opens_in_ns: u64,
        /// Time between the edges.
        lasts_ns: u64,
    },
    /// Wait until the flows have ended.
    Finish,
    /// Drop the flows.
    GiveUp,
    /// In place of `prepare`: send requests to a server of the client's machine, when it says so.
    Load(LoadWanted),
    /// Read one response of an origin.
    Fetch {
        /// The origin, by its place in `load`.
        origin: usize,
    },
    /// Begin a phase of requests.
    Go {
        /// The origin, by its place in `load`.
        origin: usize,
        /// Requests per second; `None`: as fast as the server answers.
        per_s: Option<f64>,
        /// Delay from the receipt of this request to the first one.
        begins_in_ns: u64,
    },
    /// End the phase, and say what it was.
    Pause,
    /// In place of `prepare`: be a client of an NFS server on the client's machine, when it says
    /// so. Only a server that was started for it does so (`zc serve --stdio --nfs`).
    Nfs(NfsWanted),
    /// Open a file of that server, and read it once.
    OpenNfs(FarFile),
    /// Begin a phase of READs.
    GoNfs {
        /// The file, by its number among those that were opened.
        file: usize,
        /// Bytes of a READ.
        bytes: usize,
        /// READs at a time, at most.
        depth: usize,
        /// READs per second; `None`: as fast as the server answers.
        per_s: Option<f64>,
        /// Delay from the receipt of this request to the first one.
        begins_in_ns: u64,
    },
}

/// A client of NFS that is wanted, and the server that it reads from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NfsWanted {
    /// Boot id of the client's kernel, as in [`Prepare`].
    pub boot_id: String,
    /// Kind of the client.
    pub client: NfsClient,
    /// The server's address.
    pub address: IpAddr,
}

/// A file of the NFS server, and how it is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FarFile {
    /// Its path, from the server's root.
    pub file: String,
    /// The version of NFS; it is one of READs.
    #[serde(rename = "path")]
    pub call: NfsCall,
    /// Bytes of a READ of a mount.
    pub size: usize,
    /// Connections of a mount.
    pub connections: usize,
    /// Bytes of the file that are read at most.
    pub most: u64,
}

/// A load of HTTP requests that the client wants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadWanted {
    /// Boot id of the client's kernel, as in [`Prepare`].
    pub boot_id: String,
    /// The URLs requested.
    pub origins: Vec<FarOrigin>,
    /// Connections to each of them.
    pub connections: usize,
    /// Whether a connection carries more than one request.
    pub keep_alive: bool,
    /// Headers of every request, by name and value.
    pub headers: Vec<(String, String)>,
    /// Whether the certificate of an HTTPS server is checked.
    pub checks_certificate: bool,
    /// Time allowed for a response.
    pub timeout_ns: u64,
}

/// A URL to request, and the address to connect to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FarOrigin {
    /// The URL. Its host is what the server is told.
    pub url: String,
    /// Address of connections, at the URL's port; `None`: the client's own address.
    pub address: Option<IpAddr>,
}

/// Results of a phase of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FarPhase {
    /// Responses per second: those that were asked for, where the schedule was kept, else those
    /// from the first request to the pause.
    pub responses_per_s: f64,
    /// Whole responses, those after the pause included.
    pub responses: u64,
    /// Bytes of their bodies.
    pub body_bytes: u64,
    /// Description of a fault in responses; `None`: no fault.
    pub fault: Option<String>,
    /// Latencies, as classes: upper ends in ns, ascending.
    pub up_to_ns: Vec<u64>,
    /// Number of requests in each class.
    pub requests: Vec<u64>,
}

impl FarPhase {
    /// The phase of a load that came at this rate.
    pub(super) fn at_rate(asked: &AskedFor, responses_per_s: f64) -> Self {
        let (up_to_ns, requests) = asked.latency.classes().unzip();
        Self {
            responses_per_s,
            responses: asked.responses,
            body_bytes: asked.body_bytes,
            fault: asked.fault.clone(),
            up_to_ns,
            requests,
        }
    }
}

/// Description and wishes of the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prepare {
    /// Boot id of the client's kernel (/proc/sys/kernel/random/boot_id). It shows whether both run
    /// on one machine.
    pub boot_id: String,
    /// CPUs that the client soaks.
    pub soaked_cpus: Vec<usize>,
    /// CPU that the client sends on.
    pub sender_cpu: usize,
    /// Kind of soaker.
    pub soaker: SoakerKind,
    /// CPU to receive on. `None` leaves the choice to the server.
    pub receiver_cpu: Option<usize>,
    /// SO_RCVBUF. `None` leaves the kernel's autotuning on.
    pub rcvbuf_bytes: Option<usize>,
}

/// Answers of the server to the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
#[allow(clippy::large_enum_variant)] // one at a time
pub enum Reply {
    /// Answer to `prepare`.
    Ready(Ready),
    /// Answer to `meet` and `flows`: the greeting of each connection, in hexadecimal digits.
    Listening {
        /// One per connection.
        greetings: Vec<String>,
    },
    /// Follows `listening`, where it answered `meet`: the client was met.
    Met {
        /// The device by which packets to the client leave.
        device: Option<DeviceFacts>,
    },
    /// Follows `listening`, where it answered `flows`: all connections have arrived.
    Arrived,
    /// Answer to `window`.
    Window(RemoteWindow),
    /// Answer to `finish`.
    Finished {
        /// Payload bytes of each flow.
        received_bytes: Vec<u64>,
        /// CRC-32 of the first flow; 0 where none was requested.
        crc32: u32,
    },
    /// Answer to `soak`, `go` and `go-nfs`.
    Done,
    /// Answer to `load`: connections stand. Answer to `nfs`: the client of NFS listens.
    Asks {
        /// Whether it runs on the client's machine.
        same_machine: bool,
    },
    /// Answer to `fetch`.
    Fetched(Fetched),
    /// Answer to `pause`.
    Paused(FarPhase),
    /// Answer to `open-nfs`.
    OpenedNfs {
        /// Bytes of the file that were read.
        bytes: u64,
        /// The longest READ, which the server allows or which both agreed on.
        largest: u64,
        /// CRC-32 of what was read.
        crc32: u32,
    },
    /// Answer to `give-up`.
    GivenUp,
    /// The receive path cannot run on this machine.
    CannotRun {
        /// Kind, reason and remedy.
        unavailable: Unavailable,
    },
    /// The request failed.
    Error(Error),
}

/// Description of the server's machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// The machine, and what measures on it.
    pub machine: RemoteMachine,
    /// Port on which it listens for flows.
    pub data_port: u16,
    /// Addresses at which it may be reached, the most likely first.
    pub addresses: Vec<IpAddr>,
    /// Doubts about the machine's fitness to measure.
    pub warnings: Vec<Warning>,
}
