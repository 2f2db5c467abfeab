//! `zcs` and `zcc`: their lines. `N kbytes/sec` has kbytes of 1,024 bytes, as in 2001.

use std::ffi::OsString;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;
use std::time::Instant;

use super::output::{debug, line};
use super::{load, usage};
use crate::tell;
use zc_classic::{
    Capped, ClientEnd, EndSignals, KBYTE, Tally, Tool, ZccOptions, ZccSaid, ZcsOptions, ZcsSaid,
};
use zc_kernel::stop::Stop;
use zc_remote::log_limit::LogLimit;
use zc_rig::privileges::{self, Work};
use zc_run::Result;

pub(super) fn zcs(words: &[OsString]) -> Result<()> {
    let options = ZcsOptions::read(words)?;
    if options.help {
        return usage::print(Tool::Zcs);
    }
    privileges::keep_for(Work::Discarding)?;
    let mut failed = None;
    // Before any thread starts.
    let signals = EndSignals::hold()?;
    let mut line = |text: &str| match signals.wait_writable(io::stdout().as_fd()) {
        true => line(text, &mut failed),
        false => ControlFlow::Break(()),
    };
    let mut clients = Clients { debug: options.debug > 0, ..Clients::default() };
    zc_classic::zcs(&options, &signals, &mut |said| {
        clients.catch_up();
        match said {
            ZcsSaid::Listening { port } => tell::note(&format!("zcs: listening on port {port}")),
            ZcsSaid::Capped(capped) => tell_capped(capped),
            ZcsSaid::Came { client } => clients.came(&client),
            ZcsSaid::Throughput { bytes, elapsed_ns } => return line(&rate(bytes, elapsed_ns)),
            ZcsSaid::Full { client, clients } => tell::warning(
                &format!("client \"{client}\" was turned away: {clients} are being served"),
                Some("those that come after it are turned away without a word until one has ended"),
            ),
            ZcsSaid::NotTaken(error) => tell::warning(&error.message, error.help.as_deref()),
            ZcsSaid::Ended(end) => {
                if clients.ended(&end) {
                    return line(&client_line(&end));
                }
            }
        }
        ControlFlow::Continue(())
    })?;
    clients.end();
    failed.map_or(Ok(()), Err)
}

/// Messages about unauthenticated clients: limited, like those of `zc serve`. A client that has
/// sent anything has its line of results in any case.
#[derive(Default)]
struct Clients {
    debug: bool,
    came: LogLimit,
    wrong: LogLimit,
}

impl Clients {
    /// A client has connected.
    fn came(&mut self, client: &str) {
        if self.debug && self.came.admits(Instant::now()) {
            tell::note(&format!("zcs: {client} is there"));
        }
    }

    /// A client is gone. Returns whether its line of results is to be printed.
    fn ended(&mut self, end: &ClientEnd) -> bool {
        let Some(wrong) = &end.wrong else { return true };
        let admitted = self.wrong.admits(Instant::now());
        if admitted {
            tell::warning(&format!("client \"{}\" {wrong}", end.client), None);
        }
        admitted || end.tally.file_bytes > 0
    }

    /// Says how many were not reported in periods that are over.
    fn catch_up(&mut self) {
        let now = Instant::now();
        tell_untold(self.came.catch_up(now), self.wrong.catch_up(now));
    }

    /// Says how many were not reported.
    fn end(&mut self) {
        tell_untold(self.came.end(), self.wrong.end());
    }
}

fn tell_untold(came: Option<u64>, wrong: Option<u64>) {
    for (untold, what) in [(came, "more came"), (wrong, "more ended with a warning")] {
        if let Some(count) = untold {
            tell::note(&format!("zcs: {count} {what}"));
        }
    }
}

pub(super) fn zcc(words: &[OsString]) -> Result<()> {
    let options = ZccOptions::read(words)?;
    if options.help {
        return usage::print(Tool::Zcc);
    }
    let mut failed = None;
    if options.calibrate {
        // Ctrl-C ends zcc at any time: there is nothing to finish.
        load::calibrate(options.nr_cpus, options.debug, &Stop::default())?;
    }
    if options.server.is_none() {
        return Ok(());
    }
    let calibration = options.load.then(|| load::calibration(options.nr_cpus)).transpose()?;
    let rates = calibration.as_ref().map(|calibration| calibration.rates());
    let mut doubts = load::Doubts::default();
    let mut load = |window| {
        let load = rates.as_deref().and_then(|rates| load::window_load(&window, rates));
        load.inspect(|load| doubts.look(load))
    };
    zc_classic::zcc(&options, calibration.as_ref(), &mut |said| match said {
        ZccSaid::Skipped(why) => {
            debug(options.debug > 0, || format!("zcc: left out: {}", zc_run::escape(&why, 500)));
            ControlFlow::Continue(())
        }
        ZccSaid::Capped(capped) => {
            tell_capped(capped);
            ControlFlow::Continue(())
        }
        ZccSaid::Sending { files, bytes } => {
            debug(options.debug > 0, || {
                format!(
                    "zcc: sending {files} files, {bytes} bytes, {} times, by {}",
                    options.loops,
                    options.path.name()
                )
            });
            ControlFlow::Continue(())
        }
        ZccSaid::Load(window) => match load(window) {
            Some(load) => line(&load::line_of(&load, &[]), &mut failed),
            None => ControlFlow::Continue(()),
        },
        ZccSaid::WholeLoad(window) => match load(window) {
            Some(load) => line(
                &format!(
                    "{} over {:.3} s",
                    load::line_of(&load, &[]),
                    load.elapsed_ns as f64 / 1e9
                ),
                &mut failed,
            ),
            None => ControlFlow::Continue(()),
        },
        ZccSaid::Sent { tally, elapsed_ns } => {
            line(&amount(&tally, options.raw, elapsed_ns), &mut failed)
        }
    })?;
    failed.map_or(Ok(()), Err)
}

fn client_line(end: &ClientEnd) -> String {
    format!("{}: {}", end.client, amount(&end.tally, end.raw, end.elapsed_ns))
}

/// `35000000 bytes of 6300 files in 100 loops, 1.234 s: 27698 kbytes/sec`.
fn amount(tally: &Tally, bare: bool, elapsed_ns: u64) -> String {
    let of = if bare {
        String::new()
    } else {
        format!(" of {} files in {} loops", tally.files, tally.loops)
    };
    let seconds = elapsed_ns as f64 / 1e9;
    format!(
        "{} bytes{of}, {seconds:.3} s: {}",
        tally.file_bytes,
        rate(tally.file_bytes, elapsed_ns)
    )
}

/// `27698 kbytes/sec`.
fn rate(bytes: u64, elapsed_ns: u64) -> String {
    let per_s = bytes as f64 / KBYTE as f64 / (elapsed_ns.max(1) as f64 / 1e9);
    format!("{per_s:.0} kbytes/sec")
}

pub(super) fn tell_capped(capped: Capped) {
    let (what, sysctl) = match capped.receive {
        true => ("receive", "net.core.rmem_max"),
        false => ("send", "net.core.wmem_max"),
    };
    tell::warning(
        &format!(
            "the TCP {what} buffer has {} bytes, not \"{}\"",
            capped.given_bytes, capped.asked_bytes
        ),
        Some(&format!("the kernel's limit is {sysctl}: sysctl -w {sysctl}={}", capped.asked_bytes)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kbytes_are_of_1024_bytes() {
        assert_eq!(rate(68_120 * 1024 * 5, 5_000_000_000), "68120 kbytes/sec");
        assert_eq!(rate(0, 0), "0 kbytes/sec");
    }

    #[test]
    fn bare_bytes_have_no_files() {
        let tally = Tally { loops: 2, files: 6, file_bytes: 2048 };
        assert_eq!(
            amount(&tally, false, 1_000_000_000),
            "2048 bytes of 6 files in 2 loops, 1.000 s: 2 kbytes/sec"
        );
        assert_eq!(amount(&tally, true, 1_000_000_000), "2048 bytes, 1.000 s: 2 kbytes/sec");
    }
}
