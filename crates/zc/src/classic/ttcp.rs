//! The output of `ttcp`, in its format of 1984. Progress goes to stderr. The summary goes to
//! stdout, or to stderr if the received bytes go to stdout.

use std::ffi::OsString;

use super::output::line;
use super::{transfer, usage};
use crate::tell;
use zc_classic::{KBYTE, Tool, TtcpOptions, TtcpSaid, TtcpTally};
use zc_run::{Result, escape};

pub(super) fn ttcp(words: &[OsString]) -> Result<()> {
    let options = TtcpOptions::read(words)?;
    if options.help {
        return usage::print(Tool::Ttcp);
    }
    let me = if options.transmit { "ttcp-t" } else { "ttcp-r" };
    let mut failed = None;
    zc_classic::ttcp(&options, &mut |said| match said {
        TtcpSaid::Begins => tell::note(&format!("{me}: {}", heading(&options))),
        TtcpSaid::Capped(capped) => transfer::tell_capped(capped),
        TtcpSaid::Listening(port) => tell::note(&format!("{me}: listening on port {port}")),
        TtcpSaid::Connected => tell::note(&format!("{me}: connect")),
        TtcpSaid::Accepted(from) => tell::note(&format!("{me}: accept from {from}")),
        TtcpSaid::Over(tally) => {
            for text in summary(&tally, options.verbose) {
                let text = format!("{me}: {text}");
                if options.writes_to_stdout() {
                    tell::note(&text);
                } else if line(&text, &mut failed).is_break() {
                    return;
                }
            }
        }
    })?;
    failed.map_or(Ok(()), Err)
}

fn heading(options: &TtcpOptions) -> String {
    let mut text =
        format!("buflen={}, nbuf={}, port={}", options.length, options.number, options.port);
    if let Some(bytes) = options.socket_buffer {
        text += &format!(", sockbufsize={bytes}");
    }
    text += "  tcp";
    if let Some(host) = options.host.as_deref().filter(|_| options.transmit) {
        text += &format!("  -> {}", escape(host, 200));
    }
    text
}

/// The lines of the summary.
fn summary(tally: &TtcpTally, verbose: bool) -> Vec<String> {
    // Avoids a division by 0. A clock of nanoseconds always advances over a system call.
    let real_s = (tally.elapsed_ns.max(1)) as f64 / 1e9;
    let cpu_s = (tally.used.user_ns + tally.used.system_ns) as f64 / 1e9;
    let kbytes = tally.bytes as f64 / KBYTE as f64;
    let mut lines = vec![format!(
        "{} bytes in {real_s:.2} real seconds = {:.2} KB/sec +++",
        tally.bytes,
        kbytes / real_s
    )];
    if verbose {
        // Below the microsecond resolution of getrusage there is no rate.
        let per_cpu_s = if cpu_s > 0.0 { kbytes / cpu_s } else { 0.0 };
        lines.push(format!(
            "{} bytes in {cpu_s:.2} CPU seconds = {per_cpu_s:.2} KB/cpu sec",
            tally.bytes
        ));
    }
    let calls = tally.calls as f64;
    lines.push(format!(
        "{} I/O calls, msec/call = {:.2}, calls/sec = {:.2}",
        tally.calls,
        1000.0 * real_s / calls.max(1.0),
        calls / real_s
    ));
    let used = &tally.used;
    let whole_s = real_s as u64;
    lines.push(format!(
        "{:.1}user {:.1}sys {}:{:02}real {:.0}% 0i+0d {}maxrss {}+{}pf {}+{}csw",
        used.user_ns as f64 / 1e9,
        used.system_ns as f64 / 1e9,
        whole_s / 60,
        whole_s % 60,
        100.0 * cpu_s / real_s,
        used.max_resident_kib,
        used.major_faults,
        used.minor_faults,
        used.voluntary_switches,
        used.involuntary_switches
    ));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally_of(bytes: u64, elapsed_ns: u64) -> TtcpTally {
        TtcpTally { bytes, calls: bytes / 8192, elapsed_ns, used: Default::default() }
    }

    #[test]
    fn the_summary_has_the_lines_that_scripts_look_for() {
        let mut tally = tally_of(16_777_216, 1_500_000_000);
        (tally.used.user_ns, tally.used.system_ns) = (100_000_000, 400_000_000);
        assert_eq!(
            summary(&tally, true),
            [
                "16777216 bytes in 1.50 real seconds = 10922.67 KB/sec +++",
                "16777216 bytes in 0.50 CPU seconds = 32768.00 KB/cpu sec",
                "2048 I/O calls, msec/call = 0.73, calls/sec = 1365.33",
                "0.1user 0.4sys 0:01real 33% 0i+0d 0maxrss 0+0pf 0+0csw",
            ]
        );
        assert_eq!(summary(&tally, false).len(), 3);
        assert!(!summary(&tally_of(0, 0), true).concat().contains("NaN"));
    }
}
