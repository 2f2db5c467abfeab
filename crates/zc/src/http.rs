//! `zc http`: sends requests to a server, by schedule or as fast as it answers, and discards the
//! responses.

use std::fs::File;
use std::io::BufReader;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueHint;

use super::known::{count, duration, typed};
use super::remote::address;
use super::request_args::RequestArgs;
use super::{access_log, interrupt, tell};
use zc_kernel::stop::Stop;
use zc_load::{
    Fetched, Latencies, Load, LoadOptions, Origin, Pace, Phase, Reuse, Targets, monotonic_ns,
};
use zc_report::Layout;
use zc_report::http::{
    HttpCpu, HttpFault, HttpFrom, HttpLoad, HttpResponse, HttpResult, HttpTimes, json, text,
};
use zc_rig::meter::{bind_to, is_emulated};
use zc_rig::privileges::{self, Work};
use zc_run::address::ip_text;
use zc_run::{Error, ErrorKind, Result, in_words, units};

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

/// Time from the command to the first request: the thread is awake by then.
const LEAD_NS: u64 = 5 * MS;

/// Interval at which Ctrl-C and the number of requests are checked.
const GLANCE: Duration = Duration::from_millis(20);

/// Time for which outstanding responses are awaited after Ctrl-C.
const LAST_WAIT: Duration = Duration::from_millis(300);

/// Arguments of `zc http`.
#[derive(Debug, clap::Args)]
pub(super) struct HttpArgs {
    /// What to ask for: http://HOST:PORT/PATH, or https://
    #[arg(value_name = "URL", value_hint = ValueHint::Url)]
    url: String,
    /// Ask for what the GET requests of this access log asked for, in its order, over and over; URL
    /// then names the server only
    #[arg(long, value_name = "LOG", value_hint = ValueHint::FilePath)]
    from: Option<PathBuf>,
    /// Requests per second, as in 2000/s [default: as fast as the server answers]
    #[arg(long, value_name = "N/s", allow_hyphen_values = true,
          value_parser = typed(units::per_second))]
    rate: Option<f64>,
    /// Connections at a time
    #[arg(long, value_name = "N", default_value = "8", allow_hyphen_values = true,
          value_parser = count("number of connections", 1..=100_000))]
    connections: u64,
    /// Open a connection for each request, not one for many
    #[arg(long)]
    close: bool,
    /// How long to send
    #[arg(
        long = "for",
        value_name = "DURATION",
        default_value = "10s",
        allow_hyphen_values = true,
        conflicts_with = "requests",
        value_parser = duration(MS..=7 * 24 * 3600 * S),
    )]
    time_ns: u64,
    /// How many to send, instead of how long
    #[arg(long, value_name = "N", allow_hyphen_values = true,
          value_parser = count("requests", 1..=u64::MAX))]
    requests: Option<u64>,
    /// How long a connection may take to be established, and a response to be complete
    #[arg(long, value_name = "DURATION", default_value = "10s", allow_hyphen_values = true,
          value_parser = duration(MS..=3600 * S))]
    timeout: u64,
    /// Address of this machine from which connections are made [default: the kernel's choice]
    #[arg(long, value_name = "ADDRESS", value_parser = typed(address))]
    source: Option<SocketAddr>,
    /// CPU to which the sending thread is bound [default: none]
    #[arg(long, value_name = "N", allow_hyphen_values = true,
          value_parser = count("CPU", 0..=1_000_000))]
    cpu: Option<u64>,
    #[command(flatten)]
    request: RequestArgs,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// Sends, and prints what came of it.
///
/// # Errors
/// - [`ErrorKind::Usage`](zc_run::ErrorKind): an option is not valid.
/// - [`ErrorKind::Remote`](zc_run::ErrorKind): the server cannot be reached, or what it answers is
///   of no use: a redirect, a status other than 2xx.
/// - [`ErrorKind::Failed`](zc_run::ErrorKind): the rate was not reached, or responses had faults.
///   The result has been printed.
/// - [`ErrorKind::NothingKept`]: the load stood still, as its process was stopped. The result
///   without latencies has been printed.
/// - [`ErrorKind::Interrupted`](zc_run::ErrorKind): Ctrl-C. The result so far has been printed.
pub(super) fn run(args: &HttpArgs) -> Result<()> {
    let (rate_per_s, limit) = (args.rate, args.requests);
    let cpu = args.cpu.map(|cpu| cpu as usize);
    let mut options = options(args)?;
    let uses_tls = options.origins.iter().any(Origin::uses_tls);
    let insecure = args.request.insecure;
    if insecure && uses_tls {
        tell::warning("the certificate of the server is not checked (--insecure)", None);
    }
    let log = args.from.as_deref().map(Log::open).transpose()?;
    // What strangers asked for is parsed without them.
    privileges::keep_for(Work::Requesting)?;
    let from = log.map(|log| from_log(&log, &mut options)).transpose()?;
    let stop = interrupt::flag()?;

    let load = HttpLoad {
        rate_per_s,
        connections: options.connections,
        keep_alive: options.reuse.keeps(),
        source: options.source.map(ip_text),
        cpu,
        certificate_checked: uses_tls.then_some(!insecure),
        from,
    };
    let sender = Load::start(options, move || cpu.map_or(Ok(()), bind_to))?;
    let fetched = sender.fetch(0)?.usable()?;
    let begin_ns = monotonic_ns() + LEAD_NS;
    let pace = rate_per_s.map_or(Pace::Unpaced, |per_s| Pace::At { per_s });
    sender.go_for(0, pace, begin_ns, limit.unwrap_or(u64::MAX));
    let until_ns = limit.is_none().then(|| begin_ns + args.time_ns);
    let interrupted = wait(&sender, until_ns, limit, &stop);
    let phase = match interrupted {
        true => sender.pause_within(LAST_WAIT)?,
        false => sender.pause()?,
    };

    let result = result(load, &fetched, &phase, interrupted);
    tell::result(&if args.json { json(&result) } else { text(&result, Layout::plain(100)) })?;
    verdict(&result, phase.stall())
}

fn options(args: &HttpArgs) -> Result<LoadOptions> {
    Ok(LoadOptions {
        headers: args.request.headers.clone(),
        source: args.source,
        connections: args.connections as usize,
        reuse: if args.close { Reuse::Close } else { Reuse::KeepAlive },
        trust: args.request.trust(),
        timeout: Duration::from_nanos(args.timeout),
        // Last, as it may take its time.
        origins: vec![Origin::resolve(&args.url)?],
    })
}

/// Has the load ask for what a log's requests asked for.
fn from_log(log: &Log, options: &mut LoadOptions) -> Result<HttpFrom> {
    let Log { name, file } = log;
    let asked = access_log::read(BufReader::with_capacity(256 << 10, file))
        .map_err(|error| cannot_read(name, &error))?;
    let requests = asked.targets.len() as u64;
    let Some(targets) = Targets::in_turn(asked.targets) else {
        let message = format!(
            "no request of the log \"{name}\" can be repeated: {} are of another method than GET \
             or were not answered with 200, and {} lines have no request",
            asked.left_out, asked.unreadable
        );
        return Err(Error::input("log-without-requests", message).help(
            "formats are common and combined, as Apache and nginx write them; of a compressed log \
             it is --from <(zcat LOG)",
        ));
    };
    for origin in &mut options.origins {
        *origin = origin.clone().asked_for(targets.clone())?;
    }
    Ok(HttpFrom {
        log: name.clone(),
        requests,
        targets: targets.each().len() as u64,
        left_out: asked.left_out,
        unreadable: asked.unreadable,
        is_cut: asked.is_cut,
    })
}

/// An access log that is open.
struct Log {
    name: String,
    file: File,
}

impl Log {
    fn open(path: &Path) -> Result<Self> {
        let name = tell::path(path);
        let file = File::open(path).map_err(|error| cannot_read(&name, &error))?;
        Ok(Self { name, file })
    }
}

fn cannot_read(name: &str, error: &std::io::Error) -> Error {
    Error::input("cannot-read-log", format!("cannot read the log \"{name}\": {}", in_words(error)))
        .help("an access log of a web server, which this user may read")
}

/// Waits until the load has gone on for long enough, or all its requests have come out. Returns
/// whether a signal came first.
fn wait(load: &Load, until_ns: Option<u64>, limit: Option<u64>, stop: &Stop) -> bool {
    let before = load.counts();
    loop {
        if stop.is_set() {
            return true;
        }
        let now_ns = monotonic_ns();
        let left = until_ns.map(|until_ns| Duration::from_nanos(until_ns.saturating_sub(now_ns)));
        let counts = load.counts().since(&before);
        let come_out = counts.responses + counts.unanswered();
        if left == Some(Duration::ZERO) || limit.is_some_and(|limit| come_out >= limit) {
            return false;
        }
        std::thread::sleep(left.map_or(GLANCE, |left| left.min(GLANCE)));
    }
}

fn result(load: HttpLoad, fetched: &Fetched, phase: &Phase, interrupted: bool) -> HttpResult {
    let is_paced = load.rate_per_s.is_some();
    let counts = &phase.counts;
    let seconds = phase.seconds();
    let responses = counts.responses as f64;
    let cpu_s = phase.cpu_ns as f64 / 1e9;
    // What this end did not do is not the server's latency.
    let unstalled_times =
        |latencies: &Latencies| times(latencies).filter(|_| phase.stalled_ns == 0);
    HttpResult {
        url: fetched.url.clone(),
        load,
        response: HttpResponse {
            status: fetched.status,
            body_bytes: fetched.body_bytes,
            crc32: fetched.crc32,
            chunked: fetched.is_chunked,
            server: fetched.server.clone(),
        },
        seconds,
        interrupted,
        due: phase.due,
        unsent: phase.unsent,
        requests: counts.requests,
        waited: phase.waited,
        responses: counts.responses,
        responses_per_s: phase.responses_per_s(),
        rate_reached: is_paced.then(|| phase.kept_its_rate()),
        body_bytes: counts.body_bytes,
        body_mb_per_s: counts.body_bytes as f64 / 1e6 / seconds.max(1e-9),
        received_bytes: counts.received_bytes,
        sent_bytes: counts.sent_bytes,
        connects: counts.connects,
        reconnects: counts.reconnects,
        unclosed: phase.drained.unclosed,
        stalled_seconds: phase.stalled_ns as f64 / 1e9,
        latency: unstalled_times(&phase.latency),
        late: is_paced.then(|| unstalled_times(&phase.late)).flatten(),
        own_late: is_paced.then(|| unstalled_times(&phase.own_late)).flatten(),
        statuses: phase.statuses.clone(),
        faults: phase
            .drained
            .faults()
            .map(|(fault, count)| HttpFault {
                kind: fault.name(),
                count,
                said: fault.describe(count),
            })
            .collect(),
        first_fault: phase.first_fault.as_ref().map(|(_, words)| words.clone()),
        own_cpu: (!is_emulated()).then(|| HttpCpu {
            seconds: cpu_s,
            us_per_response: (responses > 0.0).then(|| cpu_s * 1e6 / responses),
            responses_per_cpu_s: (responses > 0.0 && cpu_s > 0.0).then(|| responses / cpu_s),
        }),
    }
}

fn times(latencies: &Latencies) -> Option<HttpTimes> {
    let us = |percent: f64| latencies.percentile_ns(percent).map(|ns| ns as f64 / 1e3);
    Some(HttpTimes {
        p50_us: us(50.0)?,
        p90_us: us(90.0)?,
        p99_us: us(99.0)?,
        p99_9_us: us(99.9)?,
        max_us: latencies.max_ns()? as f64 / 1e3,
        mean_us: latencies.mean_ns()? / 1e3,
    })
}

/// Whether the load was what was asked for; `stall` says that it stood still.
fn verdict(result: &HttpResult, stall: Option<String>) -> Result<()> {
    if result.interrupted {
        return Err(Error::interrupted(format!("interrupted after {:.1} s", result.seconds))
            .help("the figures are those until then"));
    }
    if let Some(stall) = stall {
        return Err(Error::new(
            ErrorKind::NothingKept,
            "latency-withheld",
            format!("no latency is told: {stall}"),
        )
        .help("send once more, and let zc run meanwhile: Ctrl-Z stops it, too"));
    }
    if !result.faults.is_empty() {
        let said: Vec<_> = result.faults.iter().map(|fault| fault.said.as_str()).collect();
        return Err(Error::failed("load-failed", said.join("; ")).help(format!(
            "the first one: {}",
            result.first_fault.as_deref().unwrap_or("before the load began")
        )));
    }
    if result.rate_reached == Some(false) {
        return Err(Error::failed(
            "rate-not-reached",
            format!(
                "the rate was not reached: {} of {} requests due were sent",
                result.requests, result.due
            ),
        )
        .help(format!(
            "the server answered {:.0} requests/s; ask for a lower --rate, or for more \
             --connections",
            result.responses_per_s
        )));
    }
    Ok(())
}
