//! Preparation of a run whose messages are responses (`--responses`, the plan `requests`): zc's own
//! server on one side of a veth pair, zc's HTTP load on the other, and the rig of `zc run server`.
//! The loss of the server's CPU is the sender's cost, and that of the load's CPU the receiver's.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::super::budget::Budget;
use super::super::earlier::KnownRates;
use super::super::options::{LogToReplay, RunOptions};
use super::super::prepare::{CALL_BUFFER, choose_cpus, usual};
use super::super::prepared::Prepared;
use super::super::progress::Progress;
use super::super::proving::cannot_run;
use super::super::seed;
use super::super::steps::Steps;
use super::asked::{Asked, answer, asked, body_bytes, origin_of, workers};
use super::cells::positive;
use super::place::{a_cpu_each, sides_apart};
use super::timing::{Usual, timing};
use super::{rate, replay};
use crate::plan::spec::Cells;
use zc_kernel::stop::Stop;
use zc_load::{Load, LoadOptions, Origin, Reuse, Trust};
use zc_rig::link::Link;
use zc_rig::meter::{self, InstanceLock, bind_to, checks};
use zc_rig::trial::{self, SendSetup};
use zc_run::factor::UNSET;
use zc_run::{
    Cell, Error, Factor, FactorLevels, FixedParams, Header, Levels, LinkKind, Plan, Probe,
    RecvPath, ReplayPlan, ResponsesPlan, Result, SendPath, SupportRow, Traffic, Unavailable,
    Unsoaked, Warning,
};
use zc_servers::{Answer, Asker, OwnServer, Served, ServerRig, ServerSetup};

/// Connections of each cell.
const CONNECTIONS: usize = 4;

/// Time allowed for a response.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Prepares a run up to its first block. Call it while the process has one thread.
///
/// # Errors
/// Options that have no meaning here, or nothing can be measured here.
pub(crate) fn prepare(
    options: &RunOptions,
    reuse: Reuse,
    budget: &Budget,
    stop: &Stop,
    progress: &mut dyn Progress,
) -> Result<Prepared> {
    let started_at = jiff::Timestamp::now().to_string();
    check(options)?;
    let Cells { mut cells, reference } = options.plan.cells(options.send, RecvPath::RecvTrunc)?;
    let replay = options.replay.as_ref();
    if let Some(log) = replay {
        replay::add_cells(log, &mut cells, &reference)?;
    }
    let seed = seed::or_fresh(options.blocks.seed)?;
    trial::check_memory()?;
    let instance_lock = InstanceLock::claim();
    let host = meter::host();
    let cpus = choose_cpus(options.blocks.cpus, true)?;
    a_cpu_each(cpus)?;
    let steps = &mut Steps { budget, states: None, stop, progress };
    steps.say("bringing up the link");
    let up = sides_apart(cpus, &options.link_options)?;
    let link = Arc::clone(up.links.base());
    steps.say("reading the files");
    let mut messages: Vec<usize> = cells.iter().map(body_bytes).collect();
    messages.extend(replay.map(replay::longest));
    let (setup, files) =
        trial::open_files(&options.files, seed, CALL_BUFFER, &messages, cpus.sender)?;
    long_enough(files.max_bytes, &messages)?;

    let of_host = trial::default_congestion(&*link);
    let congestion = match options.held.congestion.as_deref() {
        Some(UNSET) => of_host.clone(),
        asked => trial::choose_congestion(asked, &link)?,
    };
    let fixed = FixedParams {
        buffer_bytes: CALL_BUFFER,
        flows: CONNECTIONS,
        more: options.held.more.clone(),
        ..usual(LinkKind::Veth, cpus, options.blocks.soaker, congestion.clone())?
    };
    let (cells, unavailable) = possible(cells, &fixed, &reference, &*link, &setup)?;
    let asked = asked(&cells, &fixed, replay);
    let server =
        OwnServer::start(&link, cpus.sender, &workers(&asked, CONNECTIONS), &setup, &congestion)?;
    let load = own_load(&link, cpus.receiver, &server, &asked, reuse)?;
    for (origin, Asked { answer: Answer { path, .. }, bodies }) in asked.iter().enumerate() {
        steps.say(&format!("first response by {path}"));
        let fetched = load.fetch(origin)?.usable()?;
        server.check()?;
        let expected = bodies.first();
        if fetched.body_bytes != expected {
            return Err(Error::failed(
                "wrong-bytes",
                format!(
                    "a response by {path} has {} bytes instead of {expected}",
                    fetched.body_bytes
                ),
            ));
        }
    }
    let timing = timing(&options.blocks, Usual::KEPT);
    let mut rig = ServerRig::new(ServerSetup {
        links: up.links.clone(),
        load: Asker::Here(Arc::new(load)),
        origin_of: origin_of(&asked, &fixed),
        served: Served::Own(server),
        behind: None,
        fixed,
        timing,
        replayed: replay.map(|log| replay::replayed(log, &cells)),
    })?;
    rig.limit_to(budget.limit(stop));
    let mut facts = link.facts().clone();
    facts.passed_over = up.passed_over;
    steps.say("looking at the machine");
    let mut warnings: Vec<Warning> = link.warnings().to_vec();
    if options.held.congestion.is_none() {
        warnings.extend(checks::another_congestion(&of_host, &congestion));
    }
    let (others, mut probes) = rig.examine(&host, &facts, instance_lock.sees_another(&[]))?;
    warnings.extend(others);
    let (cells, more, replay) =
        at_their_rates(&mut rig, cells, &reference, options, replay, &mut warnings, steps)?;
    probes.extend(more);

    let plan = Plan {
        experiment: options.plan.name.clone(),
        reference,
        cells,
        fixed: rig.fixed().clone(),
        timing,
        files,
        seed,
        budget_ns: options.blocks.budget_ns,
        target: options.blocks.target,
        strict: options.blocks.strict,
        quick: options.quick,
        factors: options.plan.factors.iter().map(|(factor, _)| *factor).collect(),
        unsoaked: Unsoaked::None,
        states: None,
        traffic: Traffic::Responses(ResponsesPlan {
            connections: CONNECTIONS,
            keepalive: reuse == Reuse::KeepAlive,
            head_bytes: zc_servers::HEAD_BYTES,
            replay,
        }),
    };
    let header = Header {
        unavailable,
        warnings,
        probes,
        ..Header::new(started_at, options.blocks.command.clone(), plan, host, facts)
    };
    Ok(Prepared { header, bench: Box::new(rig), instance_lock })
}

/// Checks that the plan has nothing that responses cannot have.
fn check(options: &RunOptions) -> Result<()> {
    let refused = |what: &str| {
        Err(Error::usage(
            "incompatible-with-responses",
            format!("with --responses there can be no {what}"),
        )
        .help("the paths (--paths) and lengths (--buffer) of responses differ between cells"))
    };
    let others = options.plan.factors.iter().map(|(factor, _)| *factor);
    if let Some(other) = others.into_iter().find(|it| !matches!(it, Factor::Send | Factor::Message))
    {
        return refused(&format!("factor \"{other}\""));
    }
    if options.plan.levels(Factor::Message).is_none() {
        return refused("plan without the factor \"message\", which is the length of a response");
    }
    if options.held.clients(&Levels::default()).is_some() {
        return refused("paced clients (--clients)");
    }
    if options.remote.is_some() {
        return refused("other machine");
    }
    if options.link.is_some_and(|link| link != LinkKind::Veth) {
        return refused("link but veth");
    }
    if options.held.rate_bytes_per_s.is_some() || !options.burns.is_empty() || options.sample {
        return refused("rate, burn or sample");
    }
    // A length is the plan's, and the link has its own; others are for senders of a stream.
    let Levels { message_bytes, mtu_bytes, switched_off, congestion, .. } = options.held.clone();
    let mut more = FactorLevels::default();
    for factor in [Factor::Head, Factor::GsoMax] {
        if let Some(level) = options.held.more.get(factor.name()) {
            more.insert(factor.name(), level.clone());
        }
    }
    let rest =
        Levels { message_bytes, mtu_bytes, switched_off, congestion, more, ..Levels::default() };
    if options.held != rest || options.recv != RecvPath::Recv || options.rcvbuf_bytes.is_some() {
        return refused("option of a sender of streams or of a receiver");
    }
    Ok(())
}

/// # Errors
/// No file is as long as the longest response.
fn long_enough(longest_file: u64, messages: &[usize]) -> Result<()> {
    let longest = messages.iter().copied().max().unwrap_or_default() as u64;
    if longest_file < longest {
        return Err(Error::input(
            "file-too-short",
            format!(
                "the longest response has {longest} bytes, and the longest file {longest_file}"
            ),
        )
        .help("give longer files, or none"));
    }
    Ok(())
}

/// The cells that can be answered, and rows for the others.
///
/// # Errors
/// The reference cannot be had.
fn possible(
    cells: Vec<Cell>,
    fixed: &FixedParams,
    reference: &str,
    link: &dyn Link,
    setup: &SendSetup,
) -> Result<(Vec<Cell>, Vec<SupportRow>)> {
    let (mut can, mut cannot) = (Vec::new(), Vec::new());
    let mut known: Vec<(Answer, Option<Unavailable>)> = Vec::new();
    for cell in cells {
        let Some(own) = answer(&cell, fixed) else { continue };
        if !known.iter().any(|(answer, _)| *answer == own) {
            known.push((own, why_not(link, own, setup)?));
        }
        let why = known.iter().find(|(answer, _)| *answer == own).and_then(|(_, no)| no.clone());
        match why {
            None => can.push(cell),
            Some(_) if cell.control => {}
            Some(no) => cannot.push(cannot_run(cell.label, reference, no)?),
        }
    }
    Ok((can, cannot))
}

/// Why responses cannot be sent in this way.
fn why_not(link: &dyn Link, answer: Answer, setup: &SendSetup) -> Result<Option<Unavailable>> {
    let asks_for_zerocopy = matches!(
        answer.path,
        SendPath::MsgZerocopy
            | SendPath::MsgZerocopyMmap
            | SendPath::UringSendZc
            | SendPath::UringSendZcFixed
    );
    if asks_for_zerocopy {
        let reason = "over veth the kernel copies what it sends when it is delivered";
        return Ok(Some(
            Unavailable::unsupported(reason).remedy("zc run sizes --link null, as root"),
        ));
    }
    zc_servers::why_not(link, answer, setup)
}

/// Starts the load that asks zc's own server, an origin for each of `asked`.
pub(super) fn own_load(
    link: &Arc<dyn Link>,
    cpu: usize,
    server: &OwnServer,
    asked: &[Asked<'_>],
    reuse: Reuse,
) -> Result<Load> {
    let address = SocketAddr::new(link.sender_address(), 0);
    let origin = |Asked { answer, bodies }: &Asked<'_>| {
        let port = server
            .port_of(*answer)
            .ok_or_else(|| Error::failed("path-not-served", "a path is not served"))?;
        let origin = Origin::on(&format!("http://zc:{port}/"), address)?;
        let targets = bodies.targets();
        origin.asked_for(
            targets.ok_or_else(|| Error::input("empty-log", "no response is to be replayed"))?,
        )
    };
    let options = LoadOptions {
        origins: asked.iter().map(origin).collect::<Result<_>>()?,
        connections: CONNECTIONS,
        reuse,
        source: Some(SocketAddr::new(link.receiver_address(), 0)),
        headers: Vec::new(),
        trust: Trust::System,
        timeout: TIMEOUT,
    };
    let link = Arc::clone(link);
    Load::start(options, move || {
        link.enter_receiver()?;
        bind_to(cpu)
    })
}

/// Finds every cell's top speed, and gives cells that are compared with one another a rate that the
/// slowest of them can well sustain, or that which is `known` of a cell by its label, in bytes per
/// second. Adds the positive control, and says what is replayed, and whose rates these are.
fn at_their_rates(
    rig: &mut ServerRig,
    mut cells: Vec<Cell>,
    reference: &str,
    options: &RunOptions,
    replay: Option<&LogToReplay>,
    warnings: &mut Vec<Warning>,
    steps: &mut Steps<'_>,
) -> Result<(Vec<Cell>, Vec<Probe>, Option<ReplayPlan>)> {
    let speeds = rate::top_speeds(rig, &cells, steps)?;
    let mut probes = Vec::new();
    for cell in cells.iter().filter(|cell| !cell.control) {
        let bytes_per_s = speeds.get(&cell.label).copied().unwrap_or(0.0) * body_bytes(cell) as f64;
        probes.push(Probe::TopSpeed { cell: cell.label.clone(), bytes_per_s });
    }
    let replayed = cells.iter().filter(|cell| !cell.control && replay::is_one(cell));
    let replayed =
        replayed.filter_map(|cell| Some((cell.label.clone(), *speeds.get(&cell.label)?))).collect();
    let all: Vec<(String, u64)> = cells
        .iter()
        .filter(|cell| !cell.control)
        .map(|cell| (cell.label.clone(), body_bytes(cell) as u64))
        .collect();
    let KnownRates { rates: known, note } = KnownRates::choose(
        &options.rates,
        &options.blocks.earlier,
        rig.fixed().link,
        &rate::shared(&all, &speeds),
    );
    warnings.extend(note);
    let replay = replay.map(|log| replay::plan(log, &cells, &replayed, &known)).transpose()?;
    let compared = cells.iter().filter(|cell| !cell.control && !replay::is_one(cell));
    let lengths: Vec<(String, u64)> =
        compared.map(|cell| (cell.label.clone(), body_bytes(cell) as u64)).collect();
    let rates = rate::by_length(&lengths, &speeds)?;
    for cell in &mut cells {
        let bytes = body_bytes(cell) as u64;
        let chosen = rates.get(&bytes).copied().unwrap_or_default();
        // What a response costs depends on how often the server is asked: a log is compared with
        // lengths that are asked for no more often.
        let chosen = replay.as_ref().map_or(chosen, |log| chosen.min(log.requests_per_s));
        let chosen = chosen * bytes as f64;
        let rate = match &replay {
            Some(replay) if replay::is_one(cell) => replay.requests_per_s * replay.mean_bytes(),
            _ => known.get(&cell.label).copied().unwrap_or(chosen),
        };
        cell.levels.rate_bytes_per_s = Some(rate);
    }
    if let Some(replay) = &replay {
        rig.set_replay_rate(replay.requests_per_s);
    }
    if let Some(first) = cells.iter().find(|cell| cell.label == reference) {
        let bytes = body_bytes(first);
        let rate = first.levels.rate_bytes_per_s.unwrap_or_default();
        rig.set_rate(rate / bytes as f64, bytes as u64, true);
        let unit_s = meter::unit_time().as_secs_f64();
        let positive = positive(first, speeds[reference], bytes as u64, unit_s);
        cells.push(positive);
    }
    Ok((cells, probes, replay))
}
