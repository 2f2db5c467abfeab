//! Signals at random moments: to zc, to its far end, to the command that it measures. The saved run
//! can be read up to the last block, and nothing is left behind.

use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use rand_pcg::Pcg64;
use rustix::process::Signal;

use super::faults::{address_in, with_address};
use super::marked::{Host, Started, as_nobody, signal, start};
use super::verdict::{self, End};
use super::{below, cases_of, dice, search, turn};
use crate::support::{NOTHING_KEPT, ZC, blocks_saved, stderr};

/// The process that a signal goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    /// The program that was started.
    Near,
    /// Its server, or the one that it has started with `--via`.
    Far,
    /// The command in `zc soak -- COMMAND`.
    Command,
    /// Any process that zc has started for itself, or zc.
    Any,
}

/// A program that is killed.
#[derive(Debug)]
struct Scenario {
    args: &'static [&'static str],
    unprivileged: bool,
    server: bool,
    victims: &'static [Victim],
    /// Time after which it has ended by itself.
    lasts_ms: u64,
}

const RUN: &[&str] = &["run", "--paths", "sendfile", "--budget", "2s", "--out", "run.json"];

const SCENARIOS: &[Scenario] = &[
    Scenario {
        args: &[
            "run", "--link", "veth", "--paths", "sendfile", "--budget", "2s", "--out", "run.json",
        ],
        unprivileged: true,
        server: false,
        victims: &[Victim::Near, Victim::Any],
        lasts_ms: 2500,
    },
    Scenario {
        args: RUN,
        unprivileged: false,
        server: false,
        victims: &[Victim::Near, Victim::Any],
        lasts_ms: 2500,
    },
    Scenario {
        args: &[
            "run",
            "--link",
            "loopback",
            "--paths",
            "sendfile",
            "--budget",
            "2s",
            "--ab-settle",
            "1ms",
            "--ab",
            "echo $ZC_STATE >> log",
            "--ab",
            "echo $ZC_STATE >> log",
            "--ab-restore",
            "echo restored >> log",
            "--out",
            "run.json",
        ],
        unprivileged: true,
        server: false,
        victims: &[Victim::Near],
        lasts_ms: 2500,
    },
    Scenario {
        args: &[
            "run", "--remote", "ADDRESS", "--paths", "sendfile", "--budget", "2s", "--out",
            "run.json",
        ],
        unprivileged: true,
        server: true,
        victims: &[Victim::Near, Victim::Far],
        lasts_ms: 2500,
    },
    Scenario {
        args: &[
            "run",
            "--via",
            "PATH=VIA:$PATH",
            "--paths",
            "sendfile",
            "--budget",
            "2s",
            "--out",
            "run.json",
        ],
        unprivileged: true,
        server: false,
        victims: &[Victim::Near, Victim::Far, Victim::Any],
        lasts_ms: 2500,
    },
    Scenario {
        args: &["soak", "--runs", "2", "--", "sleep", "1"],
        unprivileged: true,
        server: false,
        victims: &[Victim::Near, Victim::Command, Victim::Any],
        lasts_ms: 4500,
    },
    Scenario {
        args: &["soak", "--runs", "2", "--", "sleep", "1"],
        unprivileged: false,
        server: false,
        victims: &[Victim::Near, Victim::Any],
        lasts_ms: 4500,
    },
    Scenario {
        args: &["soak", "--count", "2"],
        unprivileged: true,
        server: false,
        victims: &[Victim::Near, Victim::Any],
        lasts_ms: 4000,
    },
];

const SIGNALS: [Signal; 3] = [Signal::KILL, Signal::TERM, Signal::INT];

#[derive(Debug)]
struct Case {
    scenario: &'static Scenario,
    victim: Victim,
    signal: Signal,
    after_ms: u64,
    /// Chooses among the processes of [`Victim::Any`].
    which: u64,
}

impl Case {
    fn drawn(dice: &mut Pcg64) -> Self {
        let scenario = &SCENARIOS[below(dice, SCENARIOS.len() as u64) as usize];
        Self {
            scenario,
            victim: scenario.victims[below(dice, scenario.victims.len() as u64) as usize],
            signal: SIGNALS[below(dice, SIGNALS.len() as u64) as usize],
            after_ms: below(dice, scenario.lasts_ms),
            which: below(dice, u64::MAX),
        }
    }
}

/// Least number of kills in a complete sweep.
const COMPLETE: usize = 300;

#[test]
fn whatever_is_killed_at_whatever_moment_nothing_is_lost_and_nothing_is_left() {
    let _turn = turn();
    let host = Host::now();
    let mut dice = dice("kills");
    let root = rustix::process::geteuid().is_root();
    let cases: Vec<Case> = std::iter::repeat_with(|| Case::drawn(&mut dice))
        .filter(|case| root || case.scenario.unprivileged)
        .take(cases_of(3).min(COMPLETE))
        .collect();
    search("kills", &cases, |case| format!("{case:?}"), one);
    host.is_as_it_was().unwrap();
}

fn one(case: &Case) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let scenario = case.scenario;
    let mut server = match scenario.server {
        true => Some(start(Command::new(ZC).args(["serve", "--listen", "127.0.0.1:0"]))?),
        false => None,
    };
    let address = server.as_mut().map(|server| server.says(address_in)).transpose()?;
    let bin = Path::new(ZC).parent().unwrap().display().to_string();
    let words = with_address(scenario.args, address.as_deref());
    let words = words.iter().map(|word| word.replace("VIA", &bin));
    let mut command = Command::new(ZC);
    command.args(words).current_dir(folder.path());
    if scenario.unprivileged {
        as_nobody(&mut command, folder.path());
    }
    let mut near = start(&mut command)?;
    std::thread::sleep(Duration::from_millis(case.after_ms));
    let blocks = blocks_saved(folder.path());
    let victim = victim_of(case, &near, server.as_ref());
    let own = victim == Some(near.pid());
    if let Some(pid) = victim {
        signal(pid, case.signal);
    }
    let output = near.ends_itself()?;
    if own {
        judge_victim(case, &output)?;
    } else {
        judge_bystander(case, &output)?;
    }
    if scenario.args[0] == "run" {
        saved(folder.path(), blocks, &output)?;
    }
    restored(folder.path(), &near)?;
    // A command that is measured is not zc's: after a SIGKILL it goes on, as under time(1).
    for process in near
        .processes()
        .iter()
        .filter(|process| process.words.first().is_some_and(|word| word == "sleep"))
    {
        signal(process.pid, Signal::KILL);
    }
    near.nothing_is_left()?;
    if let Some(server) = server {
        // A second signal would end it at once, and without a word.
        if case.victim != Victim::Far {
            signal(server.pid(), Signal::TERM);
        }
        let output = server.ends()?;
        let was_killed =
            case.victim == Victim::Far && output.status.signal() == Some(case.signal.as_raw());
        if !was_killed && verdict::end(&output, &[])? != End::Succeeded {
            return Err(format!("the server: {} {}", output.status, stderr(&output)));
        }
    }
    Ok(())
}

/// A program whose process group is killed while it has a helper of that kind.
struct Kind {
    args: &'static [&'static str],
    /// A word of the command line of the helper, or of what it keeps.
    helper: &'static str,
}

const WITH_HELPERS: [Kind; 4] = [
    // The keeper of a server, as of load generators and NFS servers.
    Kind {
        args: &[
            "run",
            "server",
            "--serve",
            "exec sleep 1000",
            "--state",
            "a=http://localhost:8001/f",
            "--state",
            "b=http://localhost:8002/f",
            "--out",
            "run.json",
        ],
        helper: "1000",
    },
    // The watchdog of host states.
    Kind {
        args: &[
            "run",
            "--link",
            "loopback",
            "--paths",
            "sendfile",
            "--budget",
            "60s",
            "--ab-settle",
            "1ms",
            "--ab",
            "echo $ZC_STATE >> log",
            "--ab",
            "echo $ZC_STATE >> log",
            "--ab-restore",
            "echo restored >> log",
            "--out",
            "run.json",
        ],
        helper: "watchdog",
    },
    // A far end.
    Kind {
        args: &[
            "run",
            "--via",
            "PATH=VIA:$PATH",
            "--paths",
            "sendfile",
            "--budget",
            "60s",
            "--out",
            "run.json",
        ],
        helper: "serve",
    },
    // Soakers in a process of their own.
    Kind {
        args: &["soak", "--run-anyway", "--budget", "60s", "--", "sleep", "1000"],
        helper: "1000",
    },
];

#[test]
fn a_process_group_that_is_killed_leaves_nothing_behind() {
    let _turn = turn();
    let host = Host::now();
    let bin = Path::new(ZC).parent().unwrap().display().to_string();
    for Kind { args, helper } in &WITH_HELPERS {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(ZC);
        command.args(args.iter().map(|word| word.replace("VIA", &bin))).current_dir(folder.path());
        // As timeout(1) and shells with job control have it.
        command.process_group(0);
        as_nobody(&mut command, folder.path());
        let mut zc = start(&mut command).unwrap();
        let is_there = zc.does(|| {
            zc.processes().iter().any(|process| {
                process.pid != zc.pid() && process.words.iter().any(|word| word.contains(helper))
            })
        });
        if !is_there {
            let output = zc.ends_itself().unwrap();
            assert_eq!(output.status.code(), Some(4), "{args:?}: {}", stderr(&output));
            eprintln!("skipped: {}", stderr(&output));
            continue;
        }
        rustix::process::kill_process_group(
            rustix::process::Pid::from_raw(zc.pid()).unwrap(),
            Signal::KILL,
        )
        .unwrap();
        let output = zc.ends_itself().unwrap();
        assert_eq!(output.status.signal(), Some(Signal::KILL.as_raw()), "{args:?}");
        restored(folder.path(), &zc).unwrap_or_else(|left| panic!("{args:?}: {left}"));
        zc.nothing_is_left().unwrap_or_else(|left| panic!("{args:?}: {left}"));
    }
    host.is_as_it_was().unwrap();
}

/// The process that gets the signal.
fn victim_of(case: &Case, near: &Started, server: Option<&Started>) -> Option<i32> {
    let named = |name: &str, word: &str| {
        let found = near.processes().into_iter().find(|process| {
            process.words.first().is_some_and(|word| word.ends_with(name))
                && process.words.iter().any(|own| own == word)
        });
        found.map(|process| process.pid)
    };
    match case.victim {
        Victim::Near => Some(near.pid()),
        Victim::Far => server.map_or_else(|| named("zc", "serve"), |server| Some(server.pid())),
        Victim::Command => named("sleep", "1"),
        Victim::Any => {
            // Without those that restore the host: only SIGKILL to them prevents that, as is
            // documented.
            let all = near.processes();
            let at = case.which as usize % all.len().max(1);
            all.get(at).map(|process| process.pid)
        }
    }
}

/// zc itself got the signal.
fn judge_victim(case: &Case, output: &Output) -> Result<(), String> {
    let by_signal = output.status.signal() == Some(case.signal.as_raw());
    let soaked = case.scenario.args.contains(&"--")
        && output.status.code() == Some(128 + case.signal.as_raw());
    match case.signal {
        Signal::KILL if by_signal => Ok(()),
        // Before its first line a program ends by the signal.
        _ if by_signal && stderr(output).is_empty() && case.after_ms < 1000 => Ok(()),
        _ if soaked => Ok(()),
        // 130, or it came too late.
        Signal::TERM | Signal::INT
            if case.scenario.args[0] == "run"
                && !matches!(output.status.code(), Some(0 | NOTHING_KEPT | 130)) =>
        {
            Err(format!("{} after {:?}: {}", output.status, case.signal, stderr(output)))
        }
        _ => judge_bystander(case, output),
    }
}

/// Something else got the signal, or it came too late.
fn judge_bystander(case: &Case, output: &Output) -> Result<(), String> {
    let around_a_command = case.scenario.args.contains(&"--");
    let code = output.status.code();
    if around_a_command && code == Some(128 + case.signal.as_raw()) {
        return Ok(()); // the command got it
    }
    let further: &[i32] = if around_a_command { &verdict::AROUND_A_COMMAND } else { &[] };
    verdict::end(output, further).map(drop)
}

/// The run that was saved can be read, with all blocks that it had before the signal.
fn saved(folder: &Path, before: usize, output: &Output) -> Result<(), String> {
    let Ok(text) = std::fs::read_to_string(folder.join("run.json")) else {
        return if before == 0 { Ok(()) } else { Err("the saved run is gone".to_owned()) };
    };
    if text.is_empty() && before == 0 {
        return Ok(());
    }
    let (run, broken) =
        zc_run::parse(&text).map_err(|error| format!("the saved run cannot be read: {error}"))?;
    let killed = output.status.signal().is_some();
    if run.blocks.len() < before || broken > usize::from(killed) {
        return Err(format!(
            "{} blocks of {before} were kept, {broken} are broken",
            run.blocks.len()
        ));
    }
    if !killed && run.end.is_none() {
        return Err(format!(
            "it ended by itself ({}), and the run saved has no end",
            output.status
        ));
    }
    Ok(())
}

/// The host is put back if it was in any state.
fn restored(folder: &Path, near: &Started) -> Result<(), String> {
    let last = || {
        std::fs::read_to_string(folder.join("log"))
            .ok()
            .and_then(|log| log.lines().last().map(str::to_owned))
    };
    if last().is_none() {
        return Ok(());
    }
    near.does(|| last().as_deref() == Some("restored"))
        .then_some(())
        .ok_or_else(|| format!("the host was left in state {:?}", last()))
}

#[test]
fn a_lost_block_and_a_host_that_is_not_put_back_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = zc_testkit::synthetic::Synthetic { blocks: 3, ..Default::default() }.run();
    run.end = None;
    std::fs::write(folder.path().join("run.json"), zc_run::run_lines(&run)).unwrap();
    let ended = |status| Output {
        status: std::process::ExitStatus::from_raw(status),
        stdout: Vec::new(),
        stderr: Vec::new(),
    };
    assert_eq!(saved(folder.path(), 3, &ended(9)), Ok(()));
    assert!(saved(folder.path(), 4, &ended(9)).unwrap_err().starts_with("3 blocks of 4"));
    assert!(saved(folder.path(), 3, &ended(130 << 8)).unwrap_err().contains("no end"));
    std::fs::remove_file(folder.path().join("run.json")).unwrap();
    assert!(saved(folder.path(), 1, &ended(9)).unwrap_err().contains("gone"));

    let mut near = start(&mut Command::new("true")).unwrap();
    near.ends_itself().unwrap();
    assert_eq!(restored(folder.path(), &near), Ok(()));
    std::fs::write(folder.path().join("log"), "A\nB\n").unwrap();
    assert!(restored(folder.path(), &near).unwrap_err().contains("\"B\""));
    std::fs::write(folder.path().join("log"), "A\nrestored\n").unwrap();
    assert_eq!(restored(folder.path(), &near), Ok(()));
}
