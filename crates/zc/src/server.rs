//! `zc run server`: what a request costs a server, in two or more states of it.

use std::time::Duration;

use super::earlier;
use super::experiment::{command, conduct, print_outcome};
use super::remote::without_token;
use super::server_args::{ServerArgs, StateArg};
use zc_load::Reuse;
use zc_measure::session::{BlockOptions, Kind, ServerOptions, StateOption};
use zc_run::{Error, Experiment, HostStates, Result, StateCommand};
use zc_servers::GENERATOR_URL;

/// Time limit of a response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit of the server's first answer.
const START: Duration = Duration::from_secs(10);

/// An example command.
const EXAMPLE: &str =
    "zc run server --state off=http://localhost:8001/f --state on=http://localhost:8002/f";

/// Measures a server and prints the result.
///
/// # Errors
/// An argument is not valid, the server does not answer, nothing could be measured, or a run ended
/// early.
pub(super) fn run(args: &ServerArgs) -> Result<()> {
    let options = options(args, without_token(command()))?;
    args.measuring.check(&options.blocks.out)?;
    let towards = args.remote.towards(options.remote.as_ref(), true, false);
    let outcome = conduct(Kind::Server(&options), &args.measuring.length.quiet, towards)?;
    print_outcome(outcome, &options.blocks.out, args.measuring.format)
}

fn options(args: &ServerArgs, command: Vec<String>) -> Result<ServerOptions> {
    let (states, commands) = states(args)?;
    if args.serve.as_deref().is_some_and(|serve| serve.trim().is_empty()) {
        return Err(Error::usage(
            "command-missing",
            "--serve: the command that starts the server is empty",
        )
        .help("leave it out for a server that runs already"));
    }
    let remote = args.remote.end(None)?;
    if remote.is_some() && args.serve.is_some() {
        return Err(Error::usage(
            "server-unreachable-from-far-end",
            "--serve starts the server in a network namespace, which no other machine reaches",
        )
        .help("start the server yourself, and leave --serve out"));
    }
    if remote.is_some() && args.request.names_a_file() {
        return Err(Error::usage(
            "cacert-with-remote",
            "--cacert names a file here, which the other machine has not",
        )
        .help(
            "--insecure accepts any certificate; the other machine's own authorities are known",
        ));
    }
    loadgen(args, remote.is_some())?;
    let ServerArgs { measuring, block, .. } = args;
    let out = measuring.out();
    let chooses = args.requests.is_none() && args.loadgen.is_empty();
    let earlier =
        if chooses { earlier::rates(&out, Experiment::Server.name()) } else { Vec::new() };
    Ok(ServerOptions {
        blocks: BlockOptions { earlier, ..block.options(measuring, command, out, false)? },
        states,
        commands,
        mix: None,
        http2: None,
        serve: args.serve.clone(),
        origin: None,
        remote,
        generator: args.loadgen.clone(),
        requests_per_s: args.requests,
        connections: args.connections as usize,
        reuse: if args.close { Reuse::Close } else { Reuse::KeepAlive },
        headers: args.request.headers.clone(),
        trust: args.request.trust(),
        timeout: TIMEOUT,
        start_limit: START,
    })
}

/// Checks what a load generator needs.
fn loadgen(args: &ServerArgs, is_remote: bool) -> Result<()> {
    let ServerArgs { loadgen, serve, requests, .. } = args;
    if loadgen.is_empty() {
        return Ok(());
    }
    if is_remote || serve.is_none() {
        return Err(Error::usage(
            "load-generator-needs-serve",
            "a load generator's responses are counted on the link of --serve, and there is none",
        )
        .help("start the server with --serve, or leave the load to zc"));
    }
    if requests.is_some() {
        return Err(Error::usage(
            "rate-given-twice",
            "the load generator sets the rate, and so does --requests",
        )
        .help("leave --requests out"));
    }
    if !loadgen.iter().any(|word| word.contains(GENERATOR_URL)) {
        return Err(Error::usage(
            "load-generator-url-missing",
            format!("the load generator is not told what to ask: no word has \"{GENERATOR_URL}\""),
        )
        .help("zc run server ... -- oha -z 1h -q 2000 {url}"));
    }
    Ok(())
}

/// The states with their URLs, and the commands of those that have one.
fn states(args: &ServerArgs) -> Result<(Vec<StateOption>, Option<HostStates>)> {
    let mut states: Vec<StateOption> = Vec::new();
    let mut commands = Vec::new();
    for typed in &args.state {
        let StateArg { state, what } = typed.clone();
        if states.iter().any(|other| other.state == state) {
            let shown = zc_run::escape(&format!("{state}={what}"), 60);
            let message = format!("--state: \"{shown}\" has a name that another state has");
            return Err(Error::usage("duplicate-state", message).help(EXAMPLE));
        }
        let url =
            match &args.url {
                _ if typed.is_url() => what,
                Some(url) => {
                    commands.push(StateCommand { state: state.clone(), command: what });
                    url.clone()
                }
                None => {
                    return Err(Error::usage("url-missing", format!(
                    "state \"{state}\" is a command, and --url does not say what to ask in it"
                ))
                .help("--url http://localhost:8080/file"));
                }
            };
        states.push(StateOption { state, url });
    }
    if states.len() < 2 {
        let given = if states.is_empty() { "none" } else { "one" };
        return Err(Error::usage(
            "too-few-states",
            format!("two states or more are compared, and {given} was given"),
        )
        .help(EXAMPLE));
    }
    // A state without a command would be measured in whatever state the last command left.
    if !commands.is_empty() && commands.len() < states.len() {
        return Err(Error::usage(
            "states-of-two-kinds",
            "some states are commands and some are URLs",
        )
        .help("give every state a command, or a URL each"));
    }
    if commands.is_empty() && args.state_commands.verify_state.is_some() {
        return Err(Error::usage(
            "option-needs-another",
            "\"--verify-state\" is about commands, and the states are URLs",
        )
        .help(EXAMPLE));
    }
    let has_commands = !commands.is_empty();
    Ok((states, has_commands.then(|| args.state_commands.states(commands))))
}
