//! Cost of requests by each send path, as data.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::figure::Figure;
use crate::model::verdict::Withheld;
use zc_run::Cipher;

/// Cost of a log's requests on the machine of a run, by each of its send paths, or in each
/// configuration of its server.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CostAdvice {
    /// The path, or configuration, that the server uses today, with which the others are compared.
    pub today: String,
    /// Confidence level of the intervals.
    pub confidence: f64,
    /// Kept blocks of the run.
    pub blocks: usize,
    /// The log's slices of time that have requests. Intervals resample them, with those that have
    /// none; null where there are too few, and the log is taken as it is.
    pub slices: Option<u64>,
    /// Whether connections of the run carried more than one request.
    pub keepalive: bool,
    /// Paths, or configurations, with only one length in the run, and so without costs here.
    pub left_out: Vec<String>,
    /// Paths, or configurations, that have no cost here although they have several lengths: one of
    /// them was measured in no block that counts, or scatter made its cost less than nothing.
    pub without_cost: Vec<String>,
    /// Responses shorter than the shortest in the run. Each is counted with the cost of that one.
    pub below: Outside,
    /// Responses longer than the longest in the run. Their bytes beyond it are counted with the
    /// cost of a byte between the two longest.
    pub beyond: Outside,
    /// Lengths of the run at which some path did not reach its rate: costs there are those at top
    /// speed, in bytes.
    pub saturated_bytes: Vec<usize>,
    /// Why no verdicts are given, as the run's own are withheld; empty otherwise.
    pub withheld: Vec<Withheld>,
    /// The error that the run's controls show, as a share. Savings that it could explain are not
    /// reported.
    pub control_error: Option<f64>,
    /// The smallest difference that the run's controls could have seen, as a share. No smaller
    /// saving is reported. `None` where they could have seen none.
    pub resolution: Option<f64>,
    /// Requests per second of the log, of its busiest minute, and the rate that was asked for.
    pub rates: Rates,
    /// Each path, or configuration, in the plan's order; behind them what it would be with the
    /// kernel's TLS, where encryption is in the costs and the run of `zc run tls` has that.
    pub paths: Vec<PathAdvice>,
    /// What TLS adds; null where encryption is in no cost.
    pub tls: Option<TlsAdvice>,
    /// The hosts whose logs these are, if they were named: all figures above are then those of the
    /// hosts together, each at its own rate.
    pub hosts: Vec<HostAdvice>,
    /// Price of a core, if one was given.
    pub price_per_core_hour: Option<f64>,
    /// Currency of the price; empty: none was given.
    pub currency: String,
}

/// What TLS adds to the cost of the responses.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TlsAdvice {
    /// The share of the bytes over TLS.
    pub bytes_share: f64,
    /// Whether that was stated, and is not the log's.
    pub stated: bool,
    /// The cipher.
    pub cipher: Cipher,
    /// Kept blocks of the run of `zc run tls`.
    pub blocks: usize,
    /// Why that run's verdicts, and so those about the kernel's TLS, are withheld; empty otherwise.
    pub withheld: Vec<Withheld>,
    /// The ways of encrypting, that in user space first. The costs of all paths have that one in
    /// them.
    pub ways: Vec<TlsWay>,
    /// Ways that the run has no cost of.
    pub missing: Vec<String>,
}

/// A way of encrypting.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TlsWay {
    /// The send path that encrypts.
    pub path: String,
    /// The one that is otherwise the same, in the clear.
    pub clear: String,
    /// What it costs the sender more, in ns per KiB.
    pub added_ns_per_kib: Figure,
    /// Cores that it takes in addition, at the rate of the log.
    pub cores: Figure,
    /// The same in the busiest minute.
    pub busiest_cores: Option<Figure>,
    /// The same at the rate that was asked for.
    pub asked_cores: Option<Figure>,
}

/// The costs of one of several hosts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostAdvice {
    /// Its name.
    pub host: String,
    /// Its rates. Its busiest minute is its own.
    pub rates: Rates,
    /// Its slices of time that have requests; see `slices` of all.
    pub slices: Option<u64>,
    /// The share of its bytes over TLS, where encryption is in the costs.
    pub tls_bytes_share: Option<f64>,
    /// Its costs, without verdicts.
    pub paths: Vec<PathAdvice>,
}

/// Responses outside the lengths that were measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Outside {
    /// The shortest or longest length of the run, in bytes.
    pub bytes: usize,
    /// Their share of all responses.
    pub requests_share: f64,
    /// Their share of all bytes.
    pub bytes_share: f64,
    /// Their share of the cost by the path of today.
    pub cost_share: f64,
}

/// Rates for which cores are given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Rates {
    /// The log, all of its time.
    pub log: Rate,
    /// The minute of the log that costs most by the path of today.
    pub busiest: Option<Rate>,
    /// The beginning of that minute, in s since 1970.
    pub busiest_unix_s: Option<i64>,
    /// The rate that was asked for.
    pub asked: Option<Rate>,
}

/// A rate of requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Rate {
    /// Requests per second.
    pub requests_per_s: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
}

/// The costs of one path, or in one configuration.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PathAdvice {
    /// Its name.
    pub path: String,
    /// Whether the server uses it today.
    pub today: bool,
    /// CPU time of a request on average, in us, and what it saves.
    pub us_per_request: Compared,
    /// CPU time of a MB (10^6 bytes) of such responses, in us; null where the log has no bytes.
    pub us_per_mb: Option<Compared>,
    /// Cores at the rate of the log.
    pub cores: Compared,
    /// Cores in the busiest minute.
    pub busiest_cores: Option<Compared>,
    /// Cores at the rate that was asked for.
    pub asked_cores: Option<Compared>,
    /// Price of a month of 730 hours of the cores at the rate that was asked for, or else at that
    /// of the log; null without a price.
    pub money_per_month: Option<Compared>,
    /// Its verdict; null for the path of today.
    pub verdict: Option<PathVerdict>,
}

/// A quantity, and by how much it is less than that of the path of today.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Compared {
    /// The quantity.
    pub value: Figure,
    /// The quantity for the path of today less this one: above 0 it saves. Null for the path of
    /// today.
    pub saved: Option<Figure>,
}

/// Whether a path saves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum PathVerdict {
    /// It saves.
    Saves {
        /// The cores saved, as a share of those of today.
        share: f64,
    },
    /// It costs more.
    CostsMore {
        /// The additional cores, as a share of those of today.
        share: f64,
    },
    /// All bytes are over TLS, encrypted in user space, where no path saves anything.
    NothingToSave,
    /// It is undecided.
    Untold {
        /// Why.
        why: Untold,
    },
}

/// Why it is undecided whether a path saves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Untold {
    /// The run's own verdicts are withheld: see `withheld`.
    Withheld,
    /// The run has too few blocks for an interval.
    TooFewBlocks,
    /// The interval of what it saves, corrected for the number of paths, has 0 in it.
    ReachesZero,
    /// The error that the run's controls show could explain it.
    ControlError,
    /// The run's controls could not have seen a difference of its size.
    ControlTooWide,
    /// Most of the bytes are in responses longer than any that was measured, and the others alone
    /// do not show the same.
    Beyond,
}

/// Why a run or a log has no costs of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// The run's messages are no responses.
    NoResponses,
    /// It has fewer than two lengths of every path.
    OneLength,
    /// These two states of one configuration of a server have responses of the same length.
    SameLength([String; 2]),
    /// No block of it counts, or no path has a cost above 0 at all of its lengths.
    NoCosts,
    /// It has no such path, but these.
    NoSuchPath(Vec<String>),
    /// The log has no bytes, and a rate of bytes was asked for.
    NoBytes,
    /// The run of `zc run tls` does not tell what encryption costs.
    Tls(TlsUnfit),
}

/// Why a run does not tell what encryption costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsUnfit {
    /// Nothing in it encrypts in user space.
    NotOfTls,
    /// It has no such cipher, but these; none was named, and it has no AES-GCM.
    NoSuchCipher(Vec<Cipher>),
    /// Its link does not tell the sender's cost from the receiver's.
    SidesTogether,
    /// Encryption in user space, or the path beside it, has no cost.
    NoCosts,
    /// It has so many blocks that count, too few for an interval.
    TooFewBlocks(usize),
    /// The run of responses has no cost of read+send, on top of which encryption comes.
    NoReadSend,
}
