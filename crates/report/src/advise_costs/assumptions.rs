//! What the costs take for granted, because neither a log nor a run tells it, and what each would
//! change.

use schemars::JsonSchema;
use serde::Serialize;

use crate::digits::{percent, significant};
use zc_access_log::RequestMix;
use zc_analysis::advise::CostAdvice;
use zc_run::Run;

/// Something that is taken for granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Assumption {
    /// What, in a few words.
    pub assumed: String,
    /// What it would change if it were otherwise: a sentence or two.
    pub would_change: String,
}

pub(super) fn of(run: &Run, mix: &RequestMix, advice: &CostAdvice) -> Vec<Assumption> {
    let mut all = vec![connections(advice), bytes(mix)];
    all.push(fixed(
        "every response is a file",
        "What a program makes for each request cannot be sent by sendfile or from a mapping. Its \
         share of the requests saves nothing.",
    ));
    all.push(fixed(
        "files are in the page cache",
        "A miss costs a read from the disk by every path, so cores are higher and the share that is \
         saved is smaller.",
    ));
    all.push(fixed(
        "no TLS",
        "Encryption costs as much as a copy or more. In user mode it needs the bytes there, so \
         sendfile saves nothing; with TLS in the kernel (kTLS) sendfile is possible.",
    ));
    all.push(fixed(
        "clients that take what is sent at once",
        "To slow clients a response goes in more calls and wake-ups, as socket buffers fill. That \
         costs more by every path, and most by those that send a buffer per call.",
    ));
    all.push(fixed(
        "a server that does little else",
        "zc's parses a request and sends. What another does besides (logging, rewriting, \
         filters) costs the same by every path: cores are higher, savings are the same, and less as \
         a share.",
    ));
    if let Some(multiplexed) = multiplexed(mix) {
        all.push(multiplexed);
    }
    all.push(rates(run));
    all.push(fixed(
        "transfers as they are logged",
        "Servers differ in whether they log what was sent or what was to be sent when a client breaks \
         off; the latter is too much.",
    ));
    if advice.rates.busiest.is_some() {
        all.push(fixed(
            "sizes in the busiest minute as around it",
            "Its requests and bytes are exact; their sizes are those of the log's slices of time that \
             it is in.",
        ));
    }
    all
}

fn fixed(assumed: &str, would_change: &str) -> Assumption {
    Assumption { assumed: assumed.to_owned(), would_change: would_change.to_owned() }
}

fn connections(advice: &CostAdvice) -> Assumption {
    let (assumed, otherwise) = match advice.keepalive {
        true => (
            "connections carry many requests",
            "With a connection for each, accept and close are added to every request by every path: \
             zc run requests --responses close measures that, and --from-run takes it.",
        ),
        false => (
            "each request has a connection of its own",
            "Where connections are kept, a request costs less by every path: zc run requests \
             measures that, and --from-run takes it.",
        ),
    };
    fixed(
        assumed,
        &format!("The log does not say how many requests a connection carries. {otherwise}"),
    )
}

fn bytes(mix: &RequestMix) -> Assumption {
    let counted = &mix.counted;
    let with_headers = counted.wire.requests
        + if mix.unsaid_are_bodies() == Some(false) { counted.unsaid.requests } else { 0 };
    let unknown = if mix.unsaid_are_bodies().is_none() { counted.unsaid.requests } else { 0 };
    let of_all = |requests: u64| percent(requests as f64 / mix.all.requests.max(1) as f64);
    if with_headers > 0 {
        return fixed(
            "headers count as body",
            &format!(
                "The bytes of {} of the requests have their headers in them, so each is taken to be \
                 longer than it is by those, some hundred bytes.",
                of_all(with_headers)
            ),
        );
    }
    if unknown > 0 {
        return fixed(
            "bytes are those of bodies",
            &format!(
                "The format does not say it for {} of the requests. If headers are in them, each is \
                 taken to be longer than it is by those, some hundred bytes.",
                of_all(unknown)
            ),
        );
    }
    fixed(
        "headers as long as in the run",
        "The log's bytes are those of bodies, as the run's lengths are. Longer headers cost a little \
         more by every path.",
    )
}

/// Where the log has requests of HTTP/2 or 3.
fn multiplexed(mix: &RequestMix) -> Option<Assumption> {
    let known: u64 = mix.protocols.values().map(|tally| tally.requests).sum();
    let is_later = |name: &str| name.starts_with("HTTP/2") || name.starts_with("HTTP/3");
    let later = mix.protocols.iter().filter(|(name, _)| is_later(name));
    let later: u64 = later.map(|(_, tally)| tally.requests).sum();
    (later > 0).then(|| {
        fixed(
            "HTTP/1.1",
            &format!(
                "{} of the requests that have a version are of HTTP/2 or 3. Their frames, their \
                 encryption and, with HTTP/3, UDP are in no cost here.",
                percent(later as f64 / known.max(1) as f64)
            ),
        )
    })
}

fn rates(run: &Run) -> Assumption {
    let plan = &run.header.plan;
    let rate = |cell: &zc_run::Cell| {
        let at = plan.fixed.at(&cell.levels);
        at.rate_bytes_per_s / at.buffer_bytes.max(1) as f64
    };
    let rates = || plan.cells.iter().filter(|cell| !cell.control).map(rate);
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    fixed(
        "costs as at the run's rates",
        &format!(
            "It measured each length by itself, at {} to {} requests per second. A busier server \
             handles several packets and requests at a time, and each costs less; an idler one wakes \
             up for each.",
            significant(least),
            significant(most)
        ),
    )
}
