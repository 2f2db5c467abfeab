//! Preparation of a server's run before the first block: the link, the server, the first responses,
//! the rate.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::budget::Budget;
use super::super::earlier::KnownRates;
use super::super::prepare::{choose_cpus, usual};
use super::super::prepared::Prepared;
use super::super::progress::Progress;
use super::super::remote::{self, Control};
use super::super::remote_end::RemoteEnd;
use super::super::seed;
use super::super::states::States;
use super::super::steps::{Steps, go_on};
use super::first_responses::{
    FirstResponses, as_soon_as_it_answers, first_responses, no_answer, one_to_compare,
};
use super::options::ServerOptions;
use super::place::{Place, Started, a_cpu_each, not_found};
use super::timing::{Usual, timing};
use super::{cells, lengths, mix, rate};
use crate::session::options::CpuPair;
use zc_kernel::stop::Stop;
use zc_load::{Reuse, Trust};
use zc_remote::Duties;
use zc_remote::carry::Carried;
use zc_rig::meter::{self, InstanceLock};
use zc_rig::trial;
use zc_run::{
    Factor, FileSetFacts, FixedParams, Header, HostState, LinkKind, Placement, Plan, Probe, Result,
    ServerPlan, Severity, Traffic, Unsoaked, Warning,
};
use zc_servers::{FileOrigin, OriginOf, Served, ServerRig, ServerSetup};

/// The experiment's name.
const EXPERIMENT: &str = "server";

/// Prepares a run up to its first block. Call it while the process has one thread.
///
/// # Errors
/// Bad input, or nothing can be measured here.
pub(crate) fn prepare(
    options: &ServerOptions,
    budget: &Budget,
    mut states: Option<&mut States>,
    stop: &Stop,
    progress: &mut dyn Progress,
) -> Result<Prepared> {
    let started_at = jiff::Timestamp::now().to_string();
    let seed = seed::or_fresh(options.blocks.seed)?;
    trial::check_memory()?;
    let instance_lock = InstanceLock::claim();
    let host = meter::host();
    let cpus = choose_cpus(options.blocks.cpus, options.remote.is_none())?;
    if options.remote.is_none() {
        a_cpu_each(cpus)
            .map_err(|error| error.help("zc soak -- LOADGENERATOR measures both together"))?;
    }
    let mut load_from = None;
    let mut warnings: Vec<Warning> = Vec::new();
    let place = match (&options.serve, &options.remote) {
        (_, Some(end)) => {
            progress.preparing("connecting to the other machine", budget.left());
            let mut carrying = |carried: &Carried| progress.carrying(carried);
            let control = remote::control(end, Duties::Usual, stop, &mut carrying)?;
            load_from = Some(name(end, &control));
            warnings.extend_from_slice(&control.warnings);
            Place::from_afar(options, control)?
        }
        (Some(_), None) => {
            progress.preparing("bringing up the link", budget.left());
            Place::apart(options, cpus)?
        }
        (None, None) => Place::here(options)?,
    };
    let link = Arc::clone(place.link());
    if let Some(states) = states.as_deref_mut() {
        states.set_traffic(&place.up.links.namespaces(), &link.facts().device)?;
    }
    let behind = match (&options.origin, &options.mix) {
        (Some(files), Some(mix)) => Some(FileOrigin::start(files, mix, &link, cpus.receiver)?),
        _ => None,
    };
    let mut served = match &options.serve {
        Some(command) => {
            progress.preparing("starting the server", budget.left());
            Served::start(command, &*link, cpus.sender)?
        }
        None => Served::RanAlready(place.server()),
    };
    let found = matches!(&served, Served::RanAlready(server) if server.is_known());
    warnings.extend((options.serve.is_none() && !found).then(not_found));
    if let Some(states) = states.as_deref_mut() {
        states.run_in_mounts(served.own_mounts()?);
    }
    let steps = &mut Steps { budget, states, stop, progress };
    // A server may be told where to listen by its state.
    steps.enter_state(options.states.first().map(|each| &each.state))?;
    let Started { load, same_machine } =
        as_soon_as_it_answers(options, &mut served, steps, || {
            place.start_load(options, cpus.receiver)
        })?;
    let state_readings = match steps.states.as_deref_mut() {
        Some(states) => {
            let found = states.prove(|| go_on(stop))?;
            // A load generator that is not zc's begins anew in each trial.
            if options.reuse == Reuse::KeepAlive && options.generator.is_empty() {
                states.check_connections()?;
            }
            found
        }
        None => Vec::new(),
    };
    let FirstResponses { states: mut server_states, mut unavailable } =
        first_responses(options, &load, &mut served, steps)?;
    let compared = lengths::compare(&server_states, options.commands.is_some())?;
    warnings.extend(compared.warnings);
    warnings.extend((options.trust == Trust::Anybody).then(insecure));
    warnings.extend(link.warnings().to_vec());
    warnings.extend(same_machine.then(load_here));

    let mut cells = cells::cells(server_states.iter().map(|each| &each.state));
    let reference = cells[0].label.clone();
    let usual = match (&options.http2, options.generator.is_empty()) {
        (Some(_), _) => Usual::H2LOAD,
        (None, false) => Usual::GENERATOR,
        (None, true) => Usual::KEPT,
    };
    let timing = timing(&options.blocks, usual);
    let mut rig = ServerRig::new(ServerSetup {
        links: place.up.links.clone(),
        load,
        origin_of: origin_of(options.states.iter().map(|each| each.state.clone()).collect()),
        served,
        behind,
        fixed: fixed_params(options, cpus, link.facts().kind, trial::default_congestion(&*link))?,
        timing,
        replayed: options.mix.as_ref().map(|mix| mix::asked_for(mix, &cells)),
    })?;
    rig.limit_to(budget.limit(stop));
    let mut facts = link.facts().clone();
    facts.passed_over = place.up.passed_over;
    steps.say("looking at the machine");
    let (others, mut probes) = rig.examine(&host, &facts, instance_lock.sees_another(&[]))?;
    warnings.extend(others);

    let speeds = match &options.mix {
        None => rate::top_speeds(&mut rig, &cells, steps)?,
        Some(_) => {
            let (speeds, failed) = rate::top_speeds_or_errors(&mut rig, &cells, steps)?;
            cells.retain(|cell| !failed.contains_key(&cell.label));
            server_states.retain(|each| !failed.contains_key(each.state.name()));
            unavailable.extend(failed.into_iter().map(|(name, error)| no_answer(name, error)));
            one_to_compare(&server_states, &unavailable)?;
            speeds
        }
    };
    let body_bytes = server_states[0].response.body_bytes;
    let of_states: Vec<(String, u64)> = server_states
        .iter()
        .map(|each| (each.state.to_string(), each.response.body_bytes))
        .collect();
    probes.extend(of_states.iter().map(|(cell, bytes)| Probe::TopSpeed {
        cell: cell.clone(),
        bytes_per_s: speeds.get(cell).copied().unwrap_or(0.0) * *bytes as f64,
    }));
    // Also where the rate is given: a state that answers nothing is found here.
    let mut rates = match compared.several {
        true => rate::by_length(&of_states, &speeds)?,
        false if options.mix.is_some() => {
            BTreeMap::from([(body_bytes, rate::of_mix(&reference, &speeds)?)])
        }
        false => BTreeMap::from([(body_bytes, rate::choose(&speeds)?)]),
    };
    let earlier = rate::shared(&of_states, &speeds);
    let KnownRates { rates: known, note } =
        KnownRates::choose(&BTreeMap::new(), &options.blocks.earlier, link.facts().kind, &earlier);
    for (state, bytes) in &of_states {
        if let (Some(rate), Some(known)) = (rates.get_mut(bytes), known.get(state)) {
            *rate = known / *bytes as f64;
        }
    }
    warnings.extend(note);
    let given = |rates: &mut BTreeMap<u64, f64>, per_s: f64| {
        rates.values_mut().for_each(|rate| *rate = per_s);
    };
    if let Some(per_s) = options.requests_per_s {
        given(&mut rates, per_s);
    }
    let zc_chooses = options.requests_per_s.is_none() && options.generator.is_empty();
    rig.set_rate(rates[&body_bytes], body_bytes, zc_chooses);
    if let Some(mix) = &options.mix {
        rig.set_replay_rate(rates[&body_bytes]);
        rig.set_replayed(mix::at_rate(mix, rates[&body_bytes]));
    }
    if !options.generator.is_empty() {
        given(&mut rates, rate::of_generator(&mut rig, &cells, &speeds, steps)?);
        rig.set_rate(rates[&body_bytes], body_bytes, false);
    }
    let requests_per_s = rates[&body_bytes];
    if compared.several {
        lengths::put(&mut cells, &server_states, &rates);
    }
    let unit_s = meter::unit_time().as_secs_f64();
    cells.push(cells::positive(&cells[0], speeds[&reference], body_bytes, unit_s));

    let plan = Plan {
        experiment: EXPERIMENT.to_owned(),
        reference,
        cells,
        fixed: rig.fixed().clone(),
        timing,
        files: no_files(),
        seed,
        budget_ns: options.blocks.budget_ns,
        target: options.blocks.target,
        strict: options.blocks.strict,
        quick: false,
        factors: vec![Factor::State],
        unsoaked: Unsoaked::None,
        states: options.commands.clone(),
        traffic: Traffic::Server(ServerPlan {
            states: server_states,
            serve: options.serve.clone(),
            // A load that came here from another machine is in no clock.
            found: found && !same_machine,
            load_from,
            generator: match &options.http2 {
                Some(http2) => http2.words(),
                None => options.generator.clone(),
            },
            connections: options.connections,
            keepalive: options.reuse.keeps(),
            requests_per_connection: match options.reuse {
                Reuse::Requests(requests) => Some(requests.get()),
                Reuse::KeepAlive | Reuse::Close => None,
            },
            requests_per_s,
            mix: options.mix.as_ref().map(mix::plan),
        }),
    };
    let header = Header {
        unavailable,
        warnings,
        probes,
        state_readings,
        ..Header::new(started_at, options.blocks.command.clone(), plan, host, facts)
    };
    Ok(Prepared { header, bench: Box::new(rig), instance_lock })
}

/// A state has the origin at its place.
fn origin_of(states: Vec<HostState>) -> OriginOf {
    Box::new(move |cell| states.iter().position(|state| cell.levels.state.as_ref() == Some(state)))
}

/// The other machine in words.
fn name(end: &RemoteEnd, control: &Control) -> String {
    match (end, control.peer) {
        (RemoteEnd::Via { command, .. }, _) => command.clone(),
        (_, Some(peer)) => peer.ip().to_canonical().to_string(),
        (_, None) => String::new(),
    }
}

/// The load of another machine that is this one.
fn load_here() -> Warning {
    let text = "the load runs on this machine too, and what it takes is in every cost";
    Warning::new("load-here", Severity::Withhold, text)
        .remedy("leave --remote and --via out: zc then takes the load's CPU time off")
}

/// The warning of a server that may be another one.
fn insecure() -> Warning {
    let text = "the certificate of the server is not checked (--insecure)";
    Warning::new("insecure", Severity::Note, text.to_owned())
}

/// Parameters held fixed. The values of zc's own senders have no meaning here.
fn fixed_params(
    options: &ServerOptions,
    cpus: CpuPair,
    link: LinkKind,
    congestion: String,
) -> Result<FixedParams> {
    Ok(FixedParams {
        // A server that is there is where its owner put it, and its cost is the loss of all CPUs.
        realtime: false,
        placement: match options.serve {
            Some(_) => Placement::Separate,
            None => Placement::Free,
        },
        rate_bytes_per_s: 1.0, // until it is known
        burst_ns: 1,
        buffer_bytes: 1,
        recv_buffer_bytes: 1,
        piece_bytes: 1,
        flows: options.connections,
        ..usual(link, cpus, options.blocks.soaker, congestion)?
    })
}

fn no_files() -> FileSetFacts {
    FileSetFacts {
        origin: EXPERIMENT.to_owned(),
        files: 0,
        total_bytes: 0,
        min_bytes: 0,
        max_bytes: 0,
        filesystem: String::new(),
        skipped: Vec::new(),
    }
}
