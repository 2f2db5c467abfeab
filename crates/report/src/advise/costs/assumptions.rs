//! Assumptions of the costs, which neither a log nor a run can confirm, and what each would change.

use schemars::JsonSchema;
use serde::Serialize;

use super::priced::Priced;
use crate::digits::{percent, significant};
use zc_access_log::RequestMix;
use zc_analysis::advise::CostAdvice;
use zc_run::{Run, ServerPlan, ServerState, escape};

/// An assumption of the costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Assumption {
    /// The assumption in a few words.
    pub assumed: String,
    /// Effect if it were otherwise: a sentence or two.
    pub would_change: String,
}

pub(super) fn collect(run: &Run, mix: &RequestMix, advice: &CostAdvice) -> Vec<Assumption> {
    let server = run.header.plan.traffic.server();
    let in_every = Priced::new(server.is_some()).in_every;
    let mut all = vec![connections(advice, server), bytes(mix, in_every)];
    all.extend(match server {
        None => own_server(advice),
        Some(server) => other_server(server),
    });
    all.push(fixed(
        "clients that take what is sent at once",
        &format!(
            "To slow clients a response goes in more calls and wake-ups, as socket buffers fill. \
             That costs more {in_every}, and most where a buffer is sent per call."
        ),
    ));
    all.extend(match server {
        None => vec![does_little_else()],
        Some(server) => std::iter::once(as_configured()).chain(placement(server)).collect(),
    });
    if !advice.hosts.is_empty() {
        all.extend(of_hosts());
    }
    if let Some(multiplexed) = multiplexed(mix, advice.tls.is_some()) {
        all.push(multiplexed);
    }
    all.push(rates(run));
    all.push(fixed(
        "a busy host",
        "Soakers kept the CPUs awake while costs were measured, as other work does. On an idle \
         host a CPU falls asleep between requests, and waking it costs more in every row; what is \
         saved is the same.",
    ));
    all.extend(congestion(run));
    all.push(fixed(
        "transfers as they are logged",
        "Servers differ in whether they log what was sent or what was to be sent when a client \
         breaks off; the latter is too much.",
    ));
    if advice.rates.busiest.is_some() {
        all.push(fixed(
            "sizes in the busiest minute as around it",
            "Its requests and bytes are exact; their sizes are those of the log's slices of time \
             that it is in.",
        ));
    }
    all
}

/// Assumptions for zc's own server.
fn own_server(advice: &CostAdvice) -> Vec<Assumption> {
    let mut all = vec![
        fixed(
            "every response is a file",
            "What a program makes for each request cannot be sent by sendfile or from a mapping. \
             Its share of the requests saves nothing.",
        ),
        fixed(
            "files are in the page cache",
            "A miss costs a read from the disk by every path, so cores are higher and the share \
             that is saved is smaller.",
        ),
    ];
    match advice.tls {
        None => all.push(fixed("no TLS", NO_TLS)),
        Some(_) => all.extend(with_tls()),
    }
    all
}

/// Assumptions about what TLS adds.
fn with_tls() -> [Assumption; 3] {
    [
        fixed(
            "encryption as in the run of zc run tls",
            "It adds to each byte what it did there, in calls of some ten KiB with full records, \
             by zc's own code. Small responses have short records, which cost more a byte, and \
             another library may be faster or slower.",
        ),
        fixed(
            "no handshakes",
            "Each new connection costs a key exchange and a signature, in no row here, or less \
             where sessions are resumed. zc http counts the handshakes of a server.",
        ),
        fixed(
            "responses over TLS as long as the others",
            "Of TLS the log's bytes are counted by slice of time, and not by size.",
        ),
    ]
}

/// Assumptions about several hosts.
fn of_hosts() -> [Assumption; 2] {
    [
        fixed(
            "hosts that cost the same",
            "The costs are those of one run for all hosts. Its error is the same in every row, so \
             intervals add up as the cores do, and the sum is no more certain than one host. Hosts \
             with another CPU, kernel or server have other costs.",
        ),
        fixed(
            "hosts at their own rates",
            "Each is counted over the time of its own log, and the rates are added. The busiest \
             minute of all is that of their logs together, where these are of the same time.",
        ),
    ]
}

/// Assumptions for a server that is not zc's, as it was measured.
fn other_server(server: &ServerPlan) -> Vec<Assumption> {
    let mut all = vec![
        fixed(
            "every response like the run's of its length",
            "The run asked for one URL per length and configuration. What the server makes in \
             another way (by a program, a proxy, compression), redirects and errors have another \
             cost, and may have another saving.",
        ),
        fixed(
            "files in caches",
            "In the run each length is one file, asked for again and again: it is in the page \
             cache, and as far as it fits in those of the CPU, where a copy costs least. From \
             memory a copy costs more, so a configuration that does not copy saves more. A miss of \
             the page cache costs a read from the disk in every configuration.",
        ),
    ];
    let is_tls = |state: &ServerState| state.url.to_ascii_lowercase().starts_with("https:");
    let with_tls = server.states.iter().filter(|state| is_tls(state)).count();
    all.push(match with_tls {
        0 => fixed("no TLS", NO_TLS),
        some if some == server.states.len() => fixed(
            "TLS as in the run",
            "Requests were asked by HTTPS, over the run's connections: handshakes are in the costs \
             as often as connections were made, and with the cipher that zc and the server agreed \
             on.",
        ),
        _ => fixed(
            "TLS where the run had it",
            "Some configurations were asked by HTTPS and others were not, and encryption is in the \
             costs of those that were.",
        ),
    });
    all
}

fn does_little_else() -> Assumption {
    fixed(
        "a server that does little else",
        "zc's parses a request and sends. What another does besides (logging, rewriting, filters) \
         costs the same by every path: cores are higher, savings are the same, and less as a \
         share.",
    )
}

fn as_configured() -> Assumption {
    fixed(
        "the server as it was configured for the run",
        "What it does besides sending (logging, rewriting, filters) is in the costs as far as it \
         did it in the run.",
    )
}

/// The assumption that follows from where the server ran, and from the load.
fn placement(server: &ServerPlan) -> Option<Assumption> {
    if server.ran_already() && server.load_from.is_none() {
        return Some(fixed(
            "what the load took beside its thread is the server's",
            "The server ran already and was asked over the loopback, so softirqs of both sides, \
             and the load's timer interrupts and wake-ups, are in every cost. Cores are too high \
             by those, savings are not, and as a share they are too small. A run with --serve, or \
             with the load on another machine, has the server's side alone.",
        ));
    }
    (!server.generator.is_empty() && !server.asked_by_http2()).then(|| {
        fixed(
            "responses of the size that zc's own load gets",
            "A load generator asked, whose responses were counted by the bytes that the server \
             sent. If it got others (compressed, by HTTP/2), costs are off by a factor that all \
             configurations share.",
        )
    })
}

const NO_TLS: &str = "Encryption costs as much as a copy or more. In user mode it needs the bytes \
                      there, so sendfile saves nothing; with TLS in the kernel (kTLS) sendfile is \
                      possible.";

fn fixed(assumed: &str, would_change: &str) -> Assumption {
    Assumption { assumed: assumed.to_owned(), would_change: would_change.to_owned() }
}

/// The assumption about congestion control; `None` where that is not known.
fn congestion(run: &Run) -> Option<Assumption> {
    let name = escape(&run.header.plan.fixed.congestion, 20);
    let (unless, how) = match run.header.plan.traffic.server() {
        None => ("", "zc run requests --congestion NAME measures another"),
        Some(_) => (" unless the server chooses another", "The server sets it, or its host does"),
    };
    (!name.is_empty()).then(|| {
        fixed(
            &format!("congestion control {name}{unless}"),
            &format!(
                "One that paces by timers, such as bbr, adds their cost to every response: over a \
                 veth pair a response of 256k by sendfile then cost five times as much \
                 (docs/experiments/requests.md). {how}."
            ),
        )
    })
}

fn connections(advice: &CostAdvice, server: Option<&ServerPlan>) -> Assumption {
    let by = Priced::new(server.is_some()).in_every;
    let (closing, keeping, option) = match server {
        None => ("zc run requests --responses close", "zc run requests", "--from-run"),
        Some(_) => ("zc run server --close", "zc run server without --close", "--server-run"),
    };
    let (assumed, otherwise) = match advice.keepalive {
        true => (
            "connections carry many requests",
            format!(
                "With a connection for each, accept and close are added to every request {by}: \
                 {closing} measures that, and {option} takes it."
            ),
        ),
        false => (
            "each request has a connection of its own",
            format!(
                "Where connections are kept, a request costs less {by}: {keeping} measures that, \
                 and {option} takes it."
            ),
        ),
    };
    fixed(
        assumed,
        &format!("The log does not say how many requests a connection carries. {otherwise}"),
    )
}

fn bytes(mix: &RequestMix, in_every: &str) -> Assumption {
    let counted = &mix.counted;
    let with_headers = counted.wire.requests
        + if mix.unsaid_are_bodies() == Some(false) { counted.unsaid.requests } else { 0 };
    let unknown = if mix.unsaid_are_bodies().is_none() { counted.unsaid.requests } else { 0 };
    let of_all = |requests: u64| percent(requests as f64 / mix.all.requests.max(1) as f64);
    if with_headers > 0 {
        return fixed(
            "headers count as body",
            &format!(
                "The bytes of {} of the requests have their headers in them, so each is taken to \
                 be longer than it is by those, some hundred bytes.",
                of_all(with_headers)
            ),
        );
    }
    if unknown > 0 {
        return fixed(
            "bytes are those of bodies",
            &format!(
                "The format does not say it for {} of the requests. If headers are in them, each \
                 is taken to be longer than it is by those, some hundred bytes.",
                of_all(unknown)
            ),
        );
    }
    fixed(
        "headers as long as in the run",
        &format!(
            "The log's bytes are those of bodies, as the run's lengths are. Longer headers cost a \
             little more {in_every}."
        ),
    )
}

/// The assumption of HTTP/1.1, if the log has requests of HTTP/2 or 3.
fn multiplexed(mix: &RequestMix, with_tls: bool) -> Option<Assumption> {
    let known: u64 = mix.protocols.values().map(|tally| tally.requests).sum();
    let later = mix.multiplexed().requests;
    (later > 0).then(|| {
        fixed(
            "HTTP/1.1",
            &format!(
                "{} of the requests that have a version are of HTTP/2 or 3. Their frames{} and, \
                 with HTTP/3, UDP are in no cost here.",
                percent(later as f64 / known.max(1) as f64),
                if with_tls { "" } else { ", their encryption" }
            ),
        )
    })
}

fn rates(run: &Run) -> Assumption {
    let plan = &run.header.plan;
    let compared = plan.cells.iter().filter(|cell| !cell.control);
    let rates = || compared.clone().filter_map(|cell| plan.requests_per_s(cell));
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    let rates = match most > least * 1.001 {
        true => format!("{} to {}", significant(least), significant(most)),
        false => significant(most),
    };
    fixed(
        "costs as at the run's rates",
        &format!(
            "It measured each length by itself, at {rates} requests per second. A busier server \
             handles several packets and requests at a time, and each costs less; an idler one \
             wakes up for each."
        ),
    )
}
