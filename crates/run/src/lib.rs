//! The saved run: the plan, the host, the counts, and the failures.
//!
//! It contains observations only. Estimates (costs, ratios, intervals, verdicts) belong to
//! `zc-analysis`, so that an old run can be read with better arithmetic. The unit is in the name of
//! each field; absent is `null`, never 0. This crate imports no other crate of zc; all others may
//! import it.

#![forbid(unsafe_code)]

pub mod address;
mod bom;
mod check;
mod clients;
mod configurations;
mod datagrams;
mod error;
mod escape;
pub mod experiment;
pub mod factor;
mod file;
mod form;
mod format_3;
mod gunzip;
mod host;
mod lines;
mod link;
mod memory;
mod names;
pub mod nearest;
mod nfs;
mod plan;
mod profile;
mod read;
mod reading;
mod remote;
mod responses;
mod run;
mod server;
mod shell;
mod slot_line;
mod soak;
mod soak_meter;
mod soak_service;
mod softirqs;
mod state_reading;
mod support;
mod tls;
mod traffic;
mod transfer;
pub mod units;
mod version;
mod warning;

pub use bom::without_bom;
pub use clients::Clients;
pub use configurations::{Configuration, configurations};
pub use datagrams::{Datagrams, LONGEST_DATAGRAM};
pub use error::{Error, ErrorKind, Result, in_words};
pub use escape::{escape, is_safe};
pub use experiment::Experiment;
pub use factor::{
    Align, Cipher, CopyPages, Factor, FactorLevels, HostState, Layer, Level, OffloadSwitch,
    Placement, ProxyPath, Push, RecvPath, SendPath, TlsVersion, Value,
};
pub use file::{block_line, end_line, gzip_members, header_line, is_compressed, run_lines, schema};
pub use form::Form;
pub use host::{
    CGROUP_CLOCKS, CpuFacts, EMULATOR, Host, INSTEAD_OF_EMULATED, INSTEAD_OF_THROTTLED,
    MemoryFacts, WHY_EMULATED, clock_ticks, why_throttled,
};
pub use link::{
    AckOptions, DeviceFacts, LayerFacts, LinkFacts, LinkOptions, LinkSettings, Offloads,
};
pub use memory::{Cache, MemoryBlock, MemoryRun, MemorySet, MemoryVisit};
pub use names::{IpVersion, LinkKind, MemoryLoop, SoakerKind, UnknownName};
pub use nfs::{
    NfsCall, NfsClient, NfsMount, NfsOperation, NfsPlan, NfsServer, NfsTransport, NfsVersion,
};
pub use plan::{
    Cell, FileSetFacts, FixedParams, HostStates, Levels, Plan, StateCommand, Timing, Unsoaked,
};
pub use profile::{
    BlockSamples, Profile, SampledEvent, SampledTask, Sampling, TaskSamples, WindowSamples,
};
pub use read::{end_reason, header, parse, read};
pub use reading::{
    CpuCounts, CpuTicks, DeliveredReading, LinkCounters, Reading, RecvCounts, SendCounts,
    SoakReading, StatReading, TaskReading, TcpReading, Usage,
};
pub use remote::{
    PeerKind, ROUND_TRIPS_IN_A_WINDOW, ROUND_TRIPS_TO_WARM_UP, ReceiverSocket, RemoteFacts,
    RemoteMachine, RemoteReport, RemoteWindow,
};
pub use responses::{ReplayPlan, ResponsesPlan};
pub use run::{
    Block, Dropped, End, EndReason, FailedTrial, FragmentCounts, Header, IdleWindow, OtherProgram,
    Probe, Run, Slot, SocketFacts, Trial, TrialKind,
};
pub use server::{Latencies, ResponseFacts, ServerMix, ServerPlan, ServerState};
pub use shell::shell_word;
pub use soak::{
    BurnShape, Burnt, CommandEnd, CommandRun, Did, IdleSpan, ProcessKind, ProcessTime,
    ProcessTimes, SoakCommand, SoakEdge, SoakStart, SoakVerify, SoakWindow, SoakerPace, SoakerRank,
    Taken, UnsoakedControl, VerifyVisit,
};
pub use soak_meter::MeterPeriod;
pub use soak_service::{ServiceTarget, ServiceWindow, SoakService, Span, TcpSpan};
pub use softirqs::SoftirqCounts;
pub use state_reading::{StatePlace, StateReading, StateValue};
pub use support::{Support, SupportRow, Unavailable, UnavailableKind};
pub use tls::{LONGEST_RECORD, TlsRecords};
pub use traffic::Traffic;
pub use transfer::Transfer;
pub use version::{FormatVersion, MAJOR, MINOR, OLDEST_MAJOR, READ_BY};
pub use warning::{CPU_QUOTA, EMULATED, OTHER_PROGRAMS, Severity, Warning};
