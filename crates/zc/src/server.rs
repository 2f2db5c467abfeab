//! `zc run server`: what a request costs a server, in two or more states of it. It takes some of
//! the options of `zc run`, and refuses the others instead of ignoring them.

use std::time::Duration;

use super::experiment::{OF_BLOCKS, command, takes_no_other, told, watched};
use super::remote::without_token;
use super::run_args::RunArgs;
use super::server_args::ServerArgs;
use super::{earlier, interrupt, quiet, resolve};
use zc_load::Reuse;
use zc_measure::session::{self, GENERATOR_URL, ServerOptions, StateOption};
use zc_rig::privileges::{self, Work};
use zc_run::{Error, Experiment, HostState, HostStates, Result, StateCommand, units};

/// The options of its own that it takes, those of another machine, and those of states.
const OWN: [&str; 20] = [
    "--state",
    "--url",
    "--serve",
    "--requests",
    "--connections",
    "--close",
    "--header",
    "--insecure",
    "--cacert",
    "--remote",
    "--via",
    "--token",
    "--token-file",
    "--wait-for-remote",
    "--carry",
    "--no-carry",
    "--ab-restore",
    "--ab-settle",
    "--ab-limit",
    "--verify-state",
];
/// All options that it takes.
pub(super) const TAKES: [&[&str]; 2] = [&OWN, &OF_BLOCKS];
const CONNECTIONS: u64 = 8;
/// More than any server's workers hold.
const MOST_CONNECTIONS: u64 = 10_000;
/// Time limit of a response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit of the server's first answer.
const START: Duration = Duration::from_secs(10);

/// An example command.
const EXAMPLE: &str =
    "zc run server --state off=http://localhost:8001/f --state on=http://localhost:8002/f";

/// Measures a server and prints the result; `given` are the options that were typed.
///
/// # Errors
/// An argument is not valid, the server does not answer, nothing could be measured, or a run ended
/// early.
pub(super) fn run(args: &RunArgs, given: &[String]) -> Result<()> {
    takes_no_other(Experiment::Server, &TAKES, given, EXAMPLE)?;
    let options = options(args, without_token(command()))?;
    resolve::check_out(&options.out, args.out.is_some(), args.format)?;
    let at_most = args.quiet.at_most()?;
    let stop = interrupt::flag()?;
    let far_end = args.remote.awaited()?;
    quiet::wait(at_most, &stop)?;
    if args.remote.is_given() {
        let starts_commands = args.starts_commands();
        privileges::keep_for(Work::TowardsFarEnd { starts_commands, realtime: false })?;
    }
    far_end.wait(&stop)?;
    let outcome = watched(options.budget_ns, &stop, |interim, stop, watcher| {
        session::run_server(&options, interim, stop, watcher)
    })?;
    told(outcome, &options.out, args.format)
}

fn options(args: &RunArgs, command: Vec<String>) -> Result<ServerOptions> {
    let of = resolve::of;
    let server = &args.server;
    let (states, commands) = states(args)?;
    if server.serve.as_deref().is_some_and(|serve| serve.trim().is_empty()) {
        return Err(Error::usage("--serve: the command that starts the server is empty")
            .help("leave it out for a server that runs already"));
    }
    let remote = args.remote.end()?;
    if remote.is_some() && server.serve.is_some() {
        return Err(Error::usage(
            "--serve starts the server in a network namespace, which no other machine reaches",
        )
        .help("start the server yourself, and leave --serve out"));
    }
    if remote.is_some() && server.request.names_a_file() {
        return Err(Error::usage("--cacert names a file here, which the other machine has not")
            .help(
                "--insecure accepts any certificate; the other machine's own authorities are known",
            ));
    }
    loadgen(args, remote.is_some())?;
    let count = |option, text: &Option<String>, default, most| match text {
        Some(text) => units::count("number", text, 1..=most).map_err(|error| of(option, error)),
        None => Ok(default),
    };
    let duration = |option, text: &Option<String>| {
        resolve::optional_duration(option, text.as_deref(), 1_000_000)
    };
    let rate = |text: &str| units::per_second(text).map_err(|error| of("--requests", error));
    let out = args.out.clone().unwrap_or_else(|| resolve::default_out(&jiff::Zoned::now()));
    let chooses = server.requests.is_none() && server.loadgen.is_empty();
    let earlier =
        if chooses { earlier::rates(&out, Experiment::Server.name()) } else { Vec::new() };
    let connections = count("--connections", &server.connections, CONNECTIONS, MOST_CONNECTIONS)?;
    Ok(ServerOptions {
        command,
        states,
        commands,
        serve: server.serve.clone(),
        remote,
        generator: server.loadgen.clone(),
        requests_per_s: server.requests.as_deref().map(rate).transpose()?,
        earlier,
        connections: connections as usize,
        reuse: if server.close { Reuse::Close } else { Reuse::KeepAlive },
        headers: server.request.headers()?,
        trust: server.request.trust(),
        timeout: TIMEOUT,
        start_limit: START,
        cpus: args.cpus.as_deref().map(|text| resolve::cpus(text, false)).transpose()?,
        soaker: resolve::soaker(args)?,
        budget_ns: resolve::budget(args.budget.as_deref(), Experiment::Server.definition().budget)?,
        target: resolve::target(args)?,
        strict: args.strict,
        seed: resolve::seed(args.seed.as_deref())?,
        window_ns: duration("--window", &args.window)?,
        idle_ns: duration("--idle", &args.idle)?,
        warmup_ns: duration("--warmup", &args.warmup)?,
        out,
    })
}

/// Checks what a load generator needs.
fn loadgen(args: &RunArgs, is_remote: bool) -> Result<()> {
    let ServerArgs { loadgen, serve, requests, .. } = &args.server;
    if loadgen.is_empty() {
        return Ok(());
    }
    if is_remote || serve.is_none() {
        return Err(Error::usage(
            "a load generator's responses are counted on the link of --serve, and there is none",
        )
        .help("start the server with --serve, or leave the load to zc"));
    }
    if requests.is_some() {
        return Err(Error::usage("the load generator sets the rate, and so does --requests")
            .help("leave --requests out"));
    }
    if !loadgen.iter().any(|word| word.contains(GENERATOR_URL)) {
        return Err(Error::usage(format!(
            "the load generator is not told what to ask: no word has \"{GENERATOR_URL}\""
        ))
        .help("zc run server ... -- oha -z 1h -q 2000 {url}"));
    }
    Ok(())
}

/// The states with their URLs, and the commands of those that have one.
fn states(args: &RunArgs) -> Result<(Vec<StateOption>, Option<HostStates>)> {
    let server = &args.server;
    let mut states: Vec<StateOption> = Vec::new();
    let mut commands = Vec::new();
    for typed in &server.state {
        let wrong = |what: &str| {
            let shown = zc_run::escape(typed, 60);
            Error::usage(format!("--state: \"{shown}\" {what}"))
                .help("a name, \"=\", and a URL or a command: on=http://localhost:8002/file")
        };
        let (name, what) = typed.split_once('=').ok_or_else(|| wrong("has no \"=\""))?;
        let state: HostState =
            name.trim().parse().map_err(|error| resolve::of("--state", error))?;
        if states.iter().any(|other| other.state == state) {
            return Err(wrong("has a name that another state has"));
        }
        let is_url = what.starts_with("http://") || what.starts_with("https://");
        let url = match (is_url, &server.url) {
            _ if what.trim().is_empty() => return Err(wrong("names nothing")),
            (true, _) => what.to_owned(),
            (false, Some(url)) => url.clone(),
            (false, None) => {
                return Err(Error::usage(format!(
                    "state \"{state}\" is a command, and --url does not say what to ask in it"
                ))
                .help("--url http://localhost:8080/file"));
            }
        };
        if !is_url {
            commands.push(StateCommand { state: state.clone(), command: what.to_owned() });
        }
        states.push(StateOption { state, url });
    }
    if states.len() < 2 {
        let given = if states.is_empty() { "none" } else { "one" };
        return Err(Error::usage(format!(
            "two states or more are compared, and {given} was given"
        ))
        .help(EXAMPLE));
    }
    // A state without a command would be measured in whatever state the last command left.
    if !commands.is_empty() && commands.len() < states.len() {
        return Err(Error::usage("some states are commands and some are URLs")
            .help("give every state a command, or a URL each"));
    }
    if commands.is_empty() && args.verify_state.is_some() {
        return Err(Error::usage("\"--verify-state\" is about commands, and the states are URLs")
            .help(EXAMPLE));
    }
    let commands =
        if commands.is_empty() { None } else { Some(resolve::host_states(args, commands)?) };
    Ok((states, commands))
}
