//! Resolves the options of experiments that send by a plan: what goes together, and the defaults.
//! It does not examine the machine.

use std::path::PathBuf;

use super::anonymise;
use super::remote::without_token;
use super::run_args::{LinkChoice, StreamArgs};
use zc_measure::plan::{self, Spec};
use zc_measure::session::{self, RunOptions};
use zc_run::factor::MTU_BYTES;
use zc_run::{
    AckOptions, Cell, Error, Factor, HostState, HostStates, IpVersion, LinkKind, LinkOptions,
    RecvPath, Result, SendPath, StateCommand, units,
};

/// The budget of `--quick`.
const QUICK_NS: u64 = 15_000_000_000;
/// RFC 8200 has a higher minimum than RFC 791.
const MTU_BYTES_OF_IP_6: std::ops::RangeInclusive<u64> = 1280..=*MTU_BYTES.end();

/// Resolves the options of a plan. `command` and `out` are saved in the run.
///
/// # Errors
/// [`ErrorKind::Usage`](zc_run::ErrorKind): options do not go together, or not with the plan.
pub(super) fn run(
    args: &StreamArgs,
    plan: Spec,
    command: Vec<String>,
    out: PathBuf,
) -> Result<RunOptions> {
    if args.anonymise {
        anonymise::check(&plan.name)?;
    }
    let StreamArgs { transfer, measuring, order, .. } = args;
    // A cell with the typed levels.
    let mut held = Cell::of_paths(SendPath::ReadSend, RecvPath::Recv);
    args.factors.levels().for_each(|level| level.put(&mut held));
    if args.realtime && transfer.responses.is_some() {
        return Err(Error::usage(
            "incompatible-with-responses",
            "--realtime: responses are sent by a server, not by threads of flows",
        )
        .help("leave --realtime or --responses out"));
    }
    let recv = held.transfer.receiver();
    let link = link(args)?;
    if link == Some(LinkKind::Null) && recv != RecvPath::Recv {
        return Err(Error::usage(
            "link-without-receiver",
            format!("--recv: the link \"null\" has no receiver, and \"{recv}\" was asked for"),
        )
        .help("leave --recv out, or take --link veth"));
    }
    let send = match args.factors.levels().filter(|level| level.factor == Factor::Send).count() {
        _ if plan.levels(Factor::Send).is_some() => SendPath::ReadSend,
        0 | 1 => held.transfer.send_path().unwrap_or(SendPath::ReadSend),
        _ if plan.factors.is_empty() => SendPath::ReadSend,
        _ => {
            return Err(Error::usage(
                "plan-has-one-path",
                format!("--paths: the plan \"{}\" has one send path", plan.name),
            )
            .help("give one, or run a plan that compares them"));
        }
    };
    let command = match args.anonymise {
        true => anonymise::command(&command),
        false => without_token(command),
    };
    let two_machines = args.remote.is_given() || transfer.link == Some(LinkChoice::Wire);
    let blocks = order.block.options(measuring, command, out, two_machines)?;
    let plain = RunOptions::plain(plan, blocks);
    let mut options = RunOptions {
        files: args.files.paths.clone(),
        send,
        recv,
        responses: transfer.responses,
        rcvbuf_bytes: transfer.rcvbuf.map(|bytes| bytes as usize),
        quick: args.quick,
        sessions: order.sessions,
        link,
        link_options: link_options(args)?.at(&held.levels),
        held: held.levels,
        remote: args.remote.end(args.far_address)?,
        states: states(args, &plain.plan)?,
        rates: args.rates.clone(),
        burns: args.burn.iter().cloned().collect(),
        realtime: args.realtime,
        sample: args.sample,
        counters: args.counters,
        anonymise: args.anonymise,
        ..plain
    };
    let asked = measuring.length.budget.or(args.quick.then_some(QUICK_NS));
    let timing = session::timing(&options, options.link);
    options.blocks.budget_ns = plan::time::budget_ns(&options.plan, &options.held, &timing, asked)?;
    Ok(options)
}

/// The two states of the host, if commands for them were typed.
fn states(args: &StreamArgs, plan: &Spec) -> Result<Option<HostStates>> {
    const HELP: &str = "--ab 'COMMAND' --ab 'COMMAND', each of which puts the host into a state";
    let wrong = |message: &str| Err(Error::usage("invalid-states", message).help(HELP));
    let [a, b] = match args.ab.as_slice() {
        [] if plan.levels(Factor::State).is_some() => {
            return wrong(&format!(
                "the plan \"{}\" has states of the host, and no command makes them",
                plan.name
            ));
        }
        [] if args.state_commands.is_given() => {
            return wrong(
                "\"--ab-restore\", \"--ab-settle\", \"--ab-limit\" and \"--verify-state\" are \
                 about commands, and no \"--ab\" names any",
            );
        }
        [] => return Ok(None),
        commands if commands.iter().any(|command| command.trim().is_empty()) => {
            return wrong("a command of \"--ab\" is empty");
        }
        [_] => return wrong("\"--ab\" was given once, and it takes two states to compare"),
        [a, b] => [a, b],
        more => {
            return wrong(&format!(
                "\"--ab\" was given {} times, and two states are compared",
                more.len()
            ));
        }
    };
    args.state_commands.check(HELP)?;
    let command = |state, command: &String| StateCommand { state, command: command.clone() };
    let commands = vec![command(HostState::a(), a), command(HostState::b(), b)];
    Ok(Some(args.state_commands.states(commands)))
}

/// The link that was asked for: by name, or by an option that only `null` has.
fn link(args: &StreamArgs) -> Result<Option<LinkKind>> {
    let transfer = &args.transfer;
    let named = match transfer.link {
        None | Some(LinkChoice::Auto) => None,
        Some(LinkChoice::Kind(kind)) => Some(kind),
        // To the near guest, the far one is another machine.
        Some(LinkChoice::Wire) if args.remote.is_given() => None,
        Some(LinkChoice::Wire) if args.kernels.is_given() => Some(LinkKind::Remote),
        Some(LinkChoice::Wire) => {
            return Err(Error::usage(
                "wire-without-kernels",
                "--link: \"wire\" is between two guests, which only --kernel boots",
            )
            .help("--kernel A=KERNEL --kernel B=KERNEL, or --remote HOST for another machine"));
        }
    };
    let of_far_end = [
        ("--ack-every", transfer.ack_every),
        ("--ack-interval", transfer.ack_interval),
        ("--rtt", transfer.rtt),
    ];
    let Some((option, _)) = of_far_end.iter().find(|(_, typed)| typed.is_some()) else {
        return Ok(named);
    };
    if args.remote.is_given() || named.is_some_and(|link| link != LinkKind::Null) {
        return Err(Error::usage(
            "option-needs-null-link",
            format!("{option}: it is the link \"null\" that acknowledges so"),
        )
        .help("--link null, or leave the option out"));
    }
    Ok(Some(LinkKind::Null))
}

/// The options of the link, without those of factors.
fn link_options(args: &StreamArgs) -> Result<LinkOptions> {
    let transfer = &args.transfer;
    let plain = LinkOptions::default();
    let ip = transfer.ip.unwrap_or(plain.ip);
    let mtu = args.factors.levels().find(|level| level.factor == Factor::Mtu);
    if let (IpVersion::V6, Some(mtu)) = (ip, mtu) {
        units::size(&mtu.to_string(), MTU_BYTES_OF_IP_6)
            .map_err(|error| error.prefixed("--mtu: "))?;
    }
    let usual = AckOptions::default();
    // Who asks for more acknowledgements is to get them.
    let usual_interval_ns = if transfer.ack_every.is_some() { 0 } else { usual.ack_interval_ns };
    Ok(LinkOptions {
        far_end: AckOptions {
            ack_every_bytes: transfer.ack_every.unwrap_or(usual.ack_every_bytes),
            ack_interval_ns: transfer.ack_interval.unwrap_or(usual_interval_ns),
            rtt_ns: transfer.rtt.unwrap_or(usual.rtt_ns),
        },
        ip,
        ..plain
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::super::{planned, run_line};
    use super::*;
    use zc_measure::session::CpuPair;
    use zc_run::{Experiment, OffloadSwitch, SoakerKind};

    const MS: u64 = 1_000_000;
    const S: u64 = 1_000 * MS;

    fn resolved(words: &[&str]) -> RunOptions {
        let words: Vec<String> =
            ["zc", "run"].iter().chain(words).map(ToString::to_string).collect();
        let args = run_line::parse(&words).unwrap().remove(0).stream;
        let paths = planned::of_experiment(Experiment::Paths).unwrap();
        let (plan, args) = planned::merge_options(paths, args).unwrap();
        let out = args.measuring.out.clone().unwrap_or_else(|| "default.json".into());
        run(&args, plan, vec!["zc".to_owned()], out).unwrap()
    }

    fn paths_of(options: &RunOptions) -> Vec<String> {
        options.plan.levels(Factor::Send).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn no_option_at_all_has_a_meaning() {
        let options = resolved(&[]);
        assert_eq!(options.held, zc_run::Levels::default());
        assert_eq!(options.recv, RecvPath::Recv);
        assert_eq!(options.blocks.budget_ns, 60 * S);
        assert_eq!(options.blocks.target, 0.025);
        assert_eq!(options.blocks.soaker, SoakerKind::Alu);
        assert_eq!(options.blocks.out, PathBuf::from("default.json"));
        assert_eq!((options.link, options.blocks.cpus), (None, None));
        assert_eq!(paths_of(&options).len(), SendPath::basic().count());
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
        ]);
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
        assert_eq!(options.blocks.cpus, Some(CpuPair { sender: 1, receiver: 0 }));
        assert_eq!(options.sessions, NonZeroUsize::new(12));
        assert_eq!(
            (options.blocks.budget_ns, options.blocks.target, options.blocks.seed),
            (120 * S, 0.05, Some(7))
        );
        assert_eq!(options.blocks.soaker, SoakerKind::Cache);
        assert_eq!(
            (options.blocks.window_ns, options.blocks.idle_ns, options.blocks.warmup_ns),
            (Some(80 * MS), Some(40 * MS), Some(0))
        );
        assert_eq!(options.blocks.out, PathBuf::from("x.json"));
    }
}
