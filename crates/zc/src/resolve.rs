//! Resolves the typed arguments: looks up names, parses units, fills in defaults. It does not
//! examine the machine, except the place where the run is to be saved.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::anonymise;
use super::format::FormatArgs;
use super::remote::without_token;
use super::run_args::{REUSES, RunArgs};
use super::tell;
use zc_load::Reuse;
use zc_measure::plan::{self, Spec};
use zc_measure::session::{self, CpuPair, RunOptions, is_left_over, is_stdout};
use zc_run::factor::{MTU_BYTES, SOCKET_BUFFER_BYTES};
use zc_run::nearest::{unknown, unknown_among};
use zc_run::{
    AckOptions, Cell, Error, Factor, HostState, HostStates, IpVersion, LinkKind, LinkOptions,
    RecvPath, Result, SendPath, SoakerKind, StateCommand, UnknownName, in_words, units,
};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// Half-width of the intervals at which a run may end early.
const TARGET: f64 = 0.025;
/// The budget of `--quick`.
const QUICK: &str = "15s";
/// More sessions than blocks that any budget holds.
const MOST_SESSIONS: u64 = 1_000_000;
/// The bound of `--burn`, per MB: no path costs more.
const MOST_BURNED_NS: u64 = 10 * MS;
/// The wait after a command that puts the host into a state, for its effects.
const SETTLE_NS: u64 = 100 * MS;
/// The limit of such a command: one that takes longer than a service's restart hangs.
const LIMIT_NS: u64 = 30 * S;
/// RFC 8200 has a higher minimum than RFC 791.
const MTU_BYTES_OF_IP_6: std::ops::RangeInclusive<u64> = 1280..=*MTU_BYTES.end();
/// The bounds of `--ack-every`. Above a few megabytes the send buffer is full before anything is
/// acknowledged, and the sender waits for the far end's timeout.
const ACK_EVERY: std::ops::RangeInclusive<u64> = 1..=1 << 20;

/// Resolves the options of `zc run` with a plan. `command` is saved in the run; `default_out` is
/// used if no `--out` was given.
///
/// # Errors
/// [`ErrorKind::Usage`](zc_run::ErrorKind): an argument is not valid.
pub(super) fn run(
    args: &RunArgs,
    plan: Spec,
    command: Vec<String>,
    default_out: impl FnOnce() -> PathBuf,
) -> Result<RunOptions> {
    if args.anonymise {
        anonymise::check(&plan.name)?;
    }
    let typed = args.factors.levels()?;
    // A cell with the typed levels.
    let mut held = Cell::of_paths(SendPath::ReadSend, RecvPath::Recv);
    typed.iter().for_each(|level| level.put(&mut held));
    if args.realtime && args.responses.is_some() {
        return Err(Error::usage(
            "--realtime: responses are sent by a server, not by threads of flows",
        )
        .help("leave --realtime or --responses out"));
    }
    let recv = held.transfer.receiver();
    let link = link_of(args)?;
    if link == Some(LinkKind::Remote) {
        return Err(Error::usage(
            "--link: \"remote\" leads to another machine, which has to be named",
        )
        .help("--remote HOST, or --via 'ssh HOST'"));
    }
    if link == Some(LinkKind::Null) && recv != RecvPath::Recv {
        return Err(Error::usage(format!(
            "--recv: the link \"null\" has no receiver, and \"{recv}\" was asked for"
        ))
        .help("leave --recv out, or take --link veth"));
    }
    let send = match typed.iter().filter(|level| level.factor == Factor::Send).count() {
        _ if plan.levels(Factor::Send).is_some() => SendPath::ReadSend,
        0 | 1 => held.transfer.send_path().unwrap_or(SendPath::ReadSend),
        _ if plan.factors.is_empty() => SendPath::ReadSend,
        _ => {
            return Err(Error::usage(format!(
                "--paths: the plan \"{}\" has one send path",
                plan.name
            ))
            .help("give one, or run a plan that compares them"));
        }
    };
    let mut options = RunOptions {
        command: match args.anonymise {
            true => anonymise::command(&command),
            false => without_token(command),
        },
        files: args.files.clone(),
        send,
        recv,
        responses: args.responses.as_deref().map(reuse).transpose()?,
        replay: None,
        rcvbuf_bytes: args
            .rcvbuf
            .as_deref()
            .map(|text| buffer("--rcvbuf", text, SOCKET_BUFFER_BYTES))
            .transpose()?,
        budget_ns: 0,
        target: target(args)?,
        strict: args.strict,
        quick: args.quick,
        sessions: args.sessions.as_deref().map(sessions).transpose()?,
        seed: seed(args.seed.as_deref())?,
        link,
        link_options: link_options(args)?.at(&held.levels),
        held: held.levels,
        remote: args.remote.end()?,
        cpus: args.cpus.as_deref().map(|text| cpus(text, args.remote.is_given())).transpose()?,
        states: states(args, &plan)?,
        soaker: soaker(args)?,
        out: args.out.clone().unwrap_or_else(default_out),
        window_ns: optional_duration("--window", args.window.as_deref(), MS)?,
        idle_ns: optional_duration("--idle", args.idle.as_deref(), MS)?,
        warmup_ns: optional_duration("--warmup", args.warmup.as_deref(), 0)?,
        rates: args.rates.clone(),
        earlier: Vec::new(),
        burns: args.burn.iter().map(|text| burn(text)).collect::<Result<_>>()?,
        realtime: args.realtime,
        sample: args.sample,
        anonymise: args.anonymise,
        plan,
    };
    let typed = args.budget.as_deref().or(args.quick.then_some(QUICK));
    let asked = typed.map(|text| budget(Some(text), text)).transpose()?;
    options.budget_ns =
        plan::time::budget_ns(&options.plan, &session::timing(&options, options.link), asked)?;
    Ok(options)
}

/// Parses the use of a connection after a response.
fn reuse(text: &str) -> Result<Reuse> {
    match text {
        "keep-alive" => Ok(Reuse::KeepAlive),
        "close" => Ok(Reuse::Close),
        other => Err(of("--responses", unknown_among("use of a connection", other, &REUSES))),
    }
}

/// The two states of the host, if commands for them were typed.
fn states(args: &RunArgs, plan: &Spec) -> Result<Option<HostStates>> {
    let empty = |text: &&String| text.trim().is_empty();
    let wrong = |message: &str| {
        Err(Error::usage(message)
            .help("--ab 'COMMAND' --ab 'COMMAND', each of which puts the host into a state"))
    };
    match args.ab.as_slice() {
        [] if plan.levels(Factor::State).is_some() => wrong(&format!(
            "the plan \"{}\" has states of the host, and no command makes them",
            plan.name
        )),
        [] if [&args.ab_restore, &args.ab_settle, &args.ab_limit, &args.verify_state]
            .iter()
            .any(|it| it.is_some()) =>
        {
            wrong(
                "\"--ab-restore\", \"--ab-settle\", \"--ab-limit\" and \"--verify-state\" are about \
                 commands, and no \"--ab\" names any",
            )
        }
        [] => Ok(None),
        commands if commands.iter().chain(&args.ab_restore).any(|command| empty(&command)) => {
            wrong("a command of \"--ab\" is empty")
        }
        _ if args.verify_state.as_ref().is_some_and(|command| empty(&command)) => {
            wrong("the command of \"--verify-state\" is empty")
        }
        [_] => wrong("\"--ab\" was given once, and it takes two states to compare"),
        [a, b] => {
            let commands = vec![
                StateCommand { state: HostState::a(), command: a.clone() },
                StateCommand { state: HostState::b(), command: b.clone() },
            ];
            host_states(args, commands).map(Some)
        }
        more => {
            wrong(&format!("\"--ab\" was given {} times, and two states are compared", more.len()))
        }
    }
}

/// The states of the host that these commands make, with the options that all commands share.
///
/// # Errors
/// Same as for [`run`].
pub(super) fn host_states(args: &RunArgs, commands: Vec<StateCommand>) -> Result<HostStates> {
    let duration = |option, text: &Option<String>, least_ns, default| match text {
        Some(text) => units::duration(text, least_ns..=3600 * S).map_err(|error| of(option, error)),
        None => Ok(default),
    };
    Ok(HostStates {
        commands,
        restore: args.ab_restore.clone(),
        settle_ns: duration("--ab-settle", &args.ab_settle, 0, SETTLE_NS)?,
        limit_ns: duration("--ab-limit", &args.ab_limit, MS, LIMIT_NS)?,
        verify: args.verify_state.clone(),
    })
}

/// Kind of the soakers.
///
/// # Errors
/// Same as for [`run`].
pub(super) fn soaker(args: &RunArgs) -> Result<SoakerKind> {
    known_or(args.soaker.as_deref(), SoakerKind::Alu)
}

/// The half-width at which a run may end early.
///
/// # Errors
/// Same as for [`run`].
pub(super) fn target(args: &RunArgs) -> Result<f64> {
    let typed = args.target.as_deref();
    typed.map_or(Ok(TARGET), units::percent).map_err(|error| of("--target", error))
}

/// A name that was typed, or the default.
fn known_or<T: std::str::FromStr<Err = UnknownName>>(text: Option<&str>, usual: T) -> Result<T> {
    text.map_or(Ok(usual), |text| text.parse().map_err(unknown))
}

/// The budget that was typed, or the experiment's own.
///
/// # Errors
/// Same as for [`run`].
pub(super) fn budget(text: Option<&str>, default: &str) -> Result<u64> {
    units::duration(text.unwrap_or(default), S..=24 * 3600 * S)
        .map_err(|error| of("--budget", error))
}

/// Parses `CELL=TIME`: a cell's label, and nanoseconds per MB.
fn burn(text: &str) -> Result<(String, u64)> {
    let Some((cell, time)) = text.rsplit_once('=') else {
        return Err(Error::usage(format!(
            "--burn: \"{}\" names no time",
            zc_run::escape(text, 60)
        ))
        .help("a cell's name, \"=\", and CPU time per MB, as in sendfile=4us"));
    };
    let ns = units::duration(time, 1..=MOST_BURNED_NS).map_err(|error| of("--burn", error))?;
    Ok((cell.trim().to_owned(), ns))
}

fn sessions(text: &str) -> Result<NonZeroUsize> {
    let count = units::count("number of sessions", text, 1..=MOST_SESSIONS)
        .map_err(|error| of("--sessions", error))?;
    Ok(usize::try_from(count).ok().and_then(NonZeroUsize::new).unwrap_or(NonZeroUsize::MIN))
}

/// A seed, if one was typed.
///
/// # Errors
/// Same as for [`run`].
pub(super) fn seed(text: Option<&str>) -> Result<Option<u64>> {
    text.map(|text| units::count("seed", text, 0..=u64::MAX).map_err(|error| of("--seed", error)))
        .transpose()
}

/// Prefixes an error with the option.
pub(super) fn of(option: &str, error: Error) -> Error {
    error.prefixed(format_args!("{option}: "))
}

fn buffer(option: &str, text: &str, bounds: std::ops::RangeInclusive<u64>) -> Result<usize> {
    units::size(text, bounds).map(|bytes| bytes as usize).map_err(|error| of(option, error))
}

pub(super) fn optional_duration(
    option: &str,
    text: Option<&str>,
    least_ns: u64,
) -> Result<Option<u64>> {
    text.map(|text| units::duration(text, least_ns..=60 * S).map_err(|error| of(option, error)))
        .transpose()
}

fn link(text: &str) -> Result<Option<LinkKind>> {
    if text == "auto" {
        return Ok(None);
    }
    let known: Vec<&str> =
        std::iter::once("auto").chain(LinkKind::ALL.iter().map(|link| link.name())).collect();
    text.parse::<LinkKind>()
        .map(Some)
        .map_err(|error| unknown_among(error.what, &error.given, &known))
}

/// The link that was asked for: by name, or by an option that only `null` has.
fn link_of(args: &RunArgs) -> Result<Option<LinkKind>> {
    let named = args.link.as_deref().map_or(Ok(None), link)?;
    let of_far_end = [
        ("--ack-every", &args.ack_every),
        ("--ack-interval", &args.ack_interval),
        ("--rtt", &args.rtt),
    ];
    let Some((option, _)) = of_far_end.iter().find(|(_, typed)| typed.is_some()) else {
        return Ok(named);
    };
    if args.remote.is_given() || named.is_some_and(|link| link != LinkKind::Null) {
        return Err(Error::usage(format!(
            "{option}: it is the link \"null\" that acknowledges so"
        ))
        .help("--link null, or leave the option out"));
    }
    Ok(Some(LinkKind::Null))
}

/// The options of the link, without those of factors.
fn link_options(args: &RunArgs) -> Result<LinkOptions> {
    let ip = known_or(args.ip.as_deref(), IpVersion::V4)?;
    if let (IpVersion::V6, Some(mtu)) = (ip, args.factors.text(Factor::Mtu)) {
        buffer("--mtu", mtu, MTU_BYTES_OF_IP_6)?;
    }
    let usual = AckOptions::default();
    // Who asks for more acknowledgements is to get them.
    let usual_interval_ns = if args.ack_every.is_some() { 0 } else { usual.ack_interval_ns };
    Ok(LinkOptions {
        far_end: AckOptions {
            ack_every_bytes: args
                .ack_every
                .as_deref()
                .map_or(Ok(usual.ack_every_bytes), |text| {
                    buffer("--ack-every", text, ACK_EVERY).map(|bytes| bytes as u64)
                })?,
            ack_interval_ns: args
                .ack_interval
                .as_deref()
                .map_or(Ok(usual_interval_ns), |text| units::duration(text, 0..=S))
                .map_err(|error| of("--ack-interval", error))?,
            rtt_ns: args
                .rtt
                .as_deref()
                .map_or(Ok(usual.rtt_ns), |text| units::duration(text, 0..=S))
                .map_err(|error| of("--rtt", error))?,
        },
        ip,
        ..LinkOptions::default()
    })
}

/// Parses `S,R`: two CPUs, which differ unless they are of two machines. The session checks that
/// they exist.
pub(super) fn cpus(text: &str, two_machines: bool) -> Result<CpuPair> {
    const HINT: &str =
        "two CPU numbers and a comma: 0,1 puts the sender on CPU 0 and the receiver on CPU 1";
    let wrong = |what: &str| {
        Error::usage(format!("--cpus: \"{}\" {what}", zc_run::escape(text, 40))).help(HINT)
    };
    let mut parts = text.split(',');
    let (Some(sender), Some(receiver), None) = (parts.next(), parts.next(), parts.next()) else {
        return Err(wrong("is not two CPUs"));
    };
    let number = |part: &str| {
        units::count("CPU", part, 0..=65_535)
            .map(|cpu| cpu as usize)
            .map_err(|error| of("--cpus", error).help(HINT))
    };
    let (sender, receiver) = (number(sender)?, number(receiver)?);
    if sender == receiver && !two_machines {
        return Err(wrong("puts both sides on one CPU"));
    }
    Ok(CpuPair { sender, receiver })
}

/// Checks that a run can be saved at `out`, before anything is measured.
///
/// # Errors
/// [`ErrorKind::Output`](zc_run::ErrorKind): the file exists, its folder does not exist, or is not
/// writable. [`ErrorKind::Usage`](zc_run::ErrorKind): stdout would have two forms of the run.
pub(super) fn check_out(out: &Path, named: bool, format: FormatArgs) -> Result<()> {
    let name = tell::path(out);
    if out.as_os_str().is_empty() {
        return Err(Error::usage("--out: the file name is empty").help("--out FILE"));
    }
    if is_stdout(out) {
        return match format == FormatArgs::default() {
            true => Ok(()),
            false => Err(Error::usage(
                "--out -: stdout has the run itself, and another form of it was asked for",
            )
            .help("save it in a file, or have zc show FILE print the form later")),
        };
    }
    match out.symlink_metadata() {
        Ok(found) if found.is_dir() => {
            return Err(Error::output(format!(
                "cannot save the run as \"{name}\": it is a directory"
            ))
            .help("name a file in it with --out"));
        }
        // What a process left that was killed before it wrote anything; `Saving` claims it.
        Ok(found) if is_left_over(&found) => {}
        Ok(_) => {
            return Err(Error::output(format!(
                "file \"{name}\" exists, and zc does not write over anything"
            ))
            .help("choose another name with --out, or remove it"));
        }
        Err(_) => {}
    }
    let folder =
        out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let place = if folder == Path::new(".") {
        "this folder".to_owned()
    } else {
        format!("folder \"{}\"", tell::path(folder))
    };
    let help = if named {
        "choose another place with --out"
    } else {
        "choose a place with --out, as in --out /tmp/run.jsonl.gz"
    };
    match folder.metadata() {
        Ok(found) if !found.is_dir() => {
            return Err(Error::output(format!(
                "cannot save the run in {place}: it is not a directory"
            ))
            .help(help));
        }
        Ok(_) => {}
        Err(error) => {
            return Err(Error::output(format!(
                "cannot save the run in {place}: {}",
                in_words(&error)
            ))
            .help(help));
        }
    }
    // access(2) checks the real user's permissions, and also detects a read-only file system
    // (EROFS).
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).map_err(
        |error| {
            Error::output(format!("cannot save the run in {place}: {}", in_words(&error.into())))
                .help(help)
        },
    )
}

/// `zc-2026-11-21T20-25-00.jsonl.gz`, with `-2` and so on if the file exists already.
pub(super) fn default_out(now: &jiff::Zoned) -> PathBuf {
    let stem = now.strftime("zc-%Y-%m-%dT%H-%M-%S").to_string();
    let mut name = PathBuf::from(format!("{stem}.jsonl.gz"));
    let mut count = 2;
    while count < 100 && name.symlink_metadata().is_ok() {
        name = PathBuf::from(format!("{stem}-{count}.jsonl.gz"));
        count += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::args::{Cli, Command};
    use super::super::planned;
    use super::*;
    use zc_run::{Experiment, OffloadSwitch};

    fn resolved(words: &[&str]) -> Result<RunOptions> {
        let cli = Cli::try_parse_from(["zc", "run"].iter().chain(words)).expect("clap takes it");
        let Command::Run(args) = cli.command else { panic!("not a run") };
        let paths = planned::of_experiment(Experiment::Paths)?;
        let (plan, args) = planned::merge_options(paths, args)?;
        run(&args, plan, vec!["zc".to_owned()], || PathBuf::from("default.json"))
    }

    fn paths_of(options: &RunOptions) -> Vec<String> {
        options.plan.levels(Factor::Send).unwrap().iter().map(ToString::to_string).collect()
    }

    fn refused(words: &[&str]) -> String {
        resolved(words).unwrap_err().message
    }

    #[test]
    fn no_option_at_all_has_a_meaning() {
        let options = resolved(&[]).unwrap();
        assert_eq!(options.held, zc_run::Levels::default());
        assert_eq!(options.recv, RecvPath::Recv);
        assert_eq!(options.budget_ns, 60 * S);
        assert_eq!(options.target, 0.025);
        assert_eq!(options.soaker, SoakerKind::Alu);
        assert_eq!(options.out, PathBuf::from("default.json"));
        assert_eq!((options.link, options.cpus), (None, None));
        assert_eq!(paths_of(&options).len(), SendPath::ALL.len());
    }

    #[test]
    fn every_option_arrives() {
        let options = resolved(&[
            "--files",
            "/a",
            "/b",
            "--paths",
            "sendfile,splice,sendfile",
            "--recv",
            "splice:1m",
            "--buffer",
            "16k",
            "--rate",
            "400MB/s",
            "--link",
            "veth",
            "--ip",
            "6",
            "--mtu",
            "9000",
            "--offloads",
            "no-tso,no-checksum",
            "--flows",
            "4",
            "--congestion",
            "reno",
            "--sndbuf",
            "1m",
            "--rcvbuf",
            "2m",
            "--cpus",
            "1,0",
            "--budget",
            "2m",
            "--target",
            "5%",
            "--sessions",
            "12",
            "--seed",
            "7",
            "--soaker",
            "cache",
            "--window",
            "80ms",
            "--idle",
            "40ms",
            "--warmup",
            "0ms",
            "--out",
            "x.json",
            "--json",
        ])
        .unwrap();
        assert_eq!(options.files, [PathBuf::from("/a"), PathBuf::from("/b")]);
        assert_eq!(paths_of(&options), ["read+send", "sendfile", "splice"]);
        assert_eq!(
            (options.recv, options.held.recv_buffer_bytes),
            (RecvPath::Splice, Some(1 << 20))
        );
        assert_eq!(options.held.message_bytes, Some(16 << 10));
        assert_eq!(options.held.rate_bytes_per_s, Some(400e6));
        assert_eq!(options.link, Some(LinkKind::Veth));
        assert_eq!(
            (options.link_options.ip, options.link_options.mtu_bytes),
            (IpVersion::V6, Some(9000))
        );
        let off = [OffloadSwitch::NoTso, OffloadSwitch::NoChecksum];
        assert_eq!(options.link_options.switched_off, off.into());
        assert_eq!(options.held.flows, Some(4));
        assert_eq!(options.held.congestion.as_deref(), Some("reno"));
        assert_eq!(
            (options.held.sockbuf_bytes, options.rcvbuf_bytes),
            (Some(1 << 20), Some(2 << 20))
        );
        assert_eq!(options.cpus, Some(CpuPair { sender: 1, receiver: 0 }));
        assert_eq!(options.sessions, NonZeroUsize::new(12));
        assert_eq!((options.budget_ns, options.target, options.seed), (120 * S, 0.05, Some(7)));
        assert_eq!(options.soaker, SoakerKind::Cache);
        assert_eq!(
            (options.window_ns, options.idle_ns, options.warmup_ns),
            (Some(80 * MS), Some(40 * MS), Some(0))
        );
        assert_eq!(options.out, PathBuf::from("x.json"));
    }

    #[test]
    fn an_empty_file_is_a_place_for_a_run_and_one_with_something_in_it_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run.json");
        std::fs::write(&out, "").unwrap();
        let check = |out: &Path, format| check_out(out, true, format);
        check(&out, FormatArgs::default()).unwrap();
        std::fs::write(&out, "x").unwrap();
        assert!(check(&out, FormatArgs::default()).unwrap_err().message.contains("exists"));
        check(Path::new("-"), FormatArgs::default()).unwrap();
        let json = FormatArgs { json: true, ..FormatArgs::default() };
        assert!(check(Path::new("-"), json).unwrap_err().message.contains("stdout has the run"));
    }

    #[test]
    fn what_has_no_meaning_names_its_option() {
        for (words, message) in [
            (&["--paths", "senfile"][..], "unknown send path \"senfile\""),
            (&["--paths", "sendfile,"], "the name of a send path is empty"),
            (&["--recv", "read"], "unknown receive path \"read\""),
            (
                &["--recv", "recv:64kB"],
                "--recv: size \"64kB\" could be binary or decimal: \"kB\" means both",
            ),
            (&["--buffer", "64x"], "--buffer: size \"64x\" has an unknown unit \"x\""),
            (&["--buffer", "-64k"], "--buffer: size \"-64k\" is negative"),
            (&["--buffer", "0"], "--buffer: size \"0\" is zero"),
            (&["--buffer", "8g"], "--buffer: size \"8g\" is too large: at most 1g"),
            (
                &["--rate", "10G"],
                "--rate: rate \"10G\" could be bits or bytes a second: \"G\" does not say",
            ),
            (&["--budget", "60"], "--budget: duration \"60\" has no unit"),
            (&["--budget", "10ms"], "--budget: duration \"10ms\" is too short: at least 1s"),
            (&["--target", "0"], "--target: percentage \"0\" is zero"),
            (&["--sessions", "0"], "--sessions: number of sessions \"0\" is zero"),
            (&["--seed", "x"], "--seed: seed \"x\" does not begin with a number"),
            (&["--link", "ethernet"], "unknown link \"ethernet\""),
            (&["--ip", "5"], "unknown IP version \"5\""),
            (&["--ip", "6", "--mtu", "576"], "--mtu: size \"576\" is too small: at least 1280"),
            (&["--mtu", "64k"], "--mtu: size \"64k\" is too large: at most 65535"),
            (&["--offloads", "tso"], "unknown offload \"tso\""),
            (&["--flows", "0"], "--flows: number of flows \"0\" is zero"),
            (&["--congestion", "a b"], "--congestion: \"a b\" cannot be a congestion control"),
            (&["--cpus", "0"], "--cpus: \"0\" is not two CPUs"),
            (&["--cpus", "0,1,2"], "--cpus: \"0,1,2\" is not two CPUs"),
            (&["--cpus", "1,1"], "--cpus: \"1,1\" puts both sides on one CPU"),
            (&["--cpus", "-1,1"], "--cpus: CPU \"-1\" is negative"),
            (&["--soaker", "mmx"], "unknown soaker \"mmx\""),
            (&["--window", "0ms"], "--window: duration \"0ms\" is zero"),
        ] {
            assert_eq!(refused(words), message);
        }
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let now: jiff::Zoned = "2026-11-21T20:25:00+00:00[UTC]".parse().unwrap();
        assert_eq!(default_out(&now), PathBuf::from("zc-2026-11-21T20-25-00.jsonl.gz"));
    }
}
