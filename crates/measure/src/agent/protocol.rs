//! The messages of a session: the end that sends asks, the end that receives answers, one at a time. docs/protocol.md describes
//! them for those who write another end.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use zc_run::{ErrorKind, RecvPath, RemoteMachine, RemoteWindow, SoakerKind, Unavailable, Warning};

/// The port of `zc serve` where none is named; the one above it is for data.
pub const PORT: u16 = 2223;

/// The longest request: a list of a thousand CPUs fits.
pub(super) const LONGEST_REQUEST: usize = 64 << 10;

/// The longest reply: the readings of a thousand CPUs fit.
pub(super) const LONGEST_REPLY: usize = 8 << 20;

/// What a flow's connection says first. Drawn anew for each, so that nobody else's connection is taken for it.
pub(super) const GREETING_BYTES: usize = 16;

/// What the receiving end is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "ask")]
pub(super) enum Request {
    /// The first one: set up, and say what the machine is.
    Prepare(Prepare),
    /// Wait for a connection with the greeting that is answered, and say a byte on it: the way is found by trying.
    Meet,
    /// Let soakers work or sleep.
    Soak {
        /// Work.
        on: bool,
    },
    /// Make ready for the flows of a trial.
    Flows {
        /// How many.
        flows: usize,
        /// The receive path.
        path: RecvPath,
        /// Bytes per call.
        buffer_bytes: usize,
        /// Compute the CRC-32 of each.
        checksum: bool,
    },
    /// Read the meters at both edges of a window.
    Window {
        /// From when this was heard.
        opens_in_ns: u64,
        /// From edge to edge.
        lasts_ns: u64,
    },
    /// Wait for the ends of the flows.
    Finish,
    /// Drop the flows.
    GiveUp,
}

/// What the sending end says of itself and wants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prepare {
    /// Of its kernel (/proc/sys/kernel/random/boot_id), by which two ends on one machine are told.
    pub boot_id: String,
    /// The CPUs that it soaks.
    pub soaked_cpus: Vec<usize>,
    /// The CPU that it sends on.
    pub sender_cpu: usize,
    /// What soakers do.
    pub soaker: SoakerKind,
    /// The CPU to receive on; null to choose.
    pub receiver_cpu: Option<usize>,
    /// SO_RCVBUF; null leaves the kernel's tuning on.
    pub rcvbuf_bytes: Option<usize>,
}

/// What the receiving end answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
#[allow(clippy::large_enum_variant)] // one at a time
pub(super) enum Reply {
    /// To `prepare`.
    Ready(Ready),
    /// To `meet` and `flows`: what each connection is to say first, in hexadecimal digits.
    Listening {
        /// One for each.
        greetings: Vec<String>,
    },
    /// After `listening`: all of them have come.
    Arrived,
    /// To `window`.
    Window(RemoteWindow),
    /// To `finish`.
    Finished {
        /// Payload bytes of each flow.
        received_bytes: Vec<u64>,
        /// Of the first flow; 0 where none was asked for.
        crc32: u32,
    },
    /// To `soak`.
    Done,
    /// To `give-up`.
    GivenUp,
    /// The receive path cannot run here.
    CannotRun {
        /// Why.
        unavailable: Unavailable,
    },
    /// It went wrong.
    Error {
        /// Decides the exit code at the client.
        kind: ErrorKind,
        /// As on the other end's stderr.
        message: String,
        /// What helps.
        help: Option<String>,
    },
}

/// The receiving machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// The machine, and what measures on it.
    pub machine: RemoteMachine,
    /// Where it listens for flows.
    pub data_port: u16,
    /// Addresses by which it may be reached, the likeliest first.
    pub addresses: Vec<IpAddr>,
    /// What makes it unfit to measure.
    pub warnings: Vec<Warning>,
}
