//! Memory measurements as text: speeds by working set, ratios to memcpy, rows as in lmbench, and
//! conclusions.

use std::fmt::Write as _;

use crate::digits::{bound, percent, ratio, seconds, significant, size, with_half_width};
use crate::terminal::layout::Layout;
use crate::terminal::table::{Column, Grid};
use crate::text::{list, wrap};
use zc_analysis::Figure;
use zc_analysis::memory::{FoldedRatio, MemoryEstimates, Roofline, TARGET, Within};
use zc_run::{MemoryLoop, MemoryRun, MemorySet, escape};

/// The report of `zc run memory`; with `roofline`, also the top speeds of a saved run.
pub fn memory(run: &MemoryRun, estimates: &MemoryEstimates, roofline: Option<&Roofline>) -> String {
    let mut text = heading(run, estimates);
    let own = |name: &MemoryLoop| !name.is_lmbench();
    let figure = |figure: Option<Figure>| figure.map_or_else(|| "-".to_owned(), gigabytes);
    let rows = |wanted: &dyn Fn(&MemoryLoop) -> bool| -> Vec<Vec<String>> {
        let rows = estimates.rows.iter().filter(|row| wanted(&row.name));
        rows.map(|row| {
            labelled(row.name.name(), row.bytes_per_s.iter().map(|speed| figure(*speed)))
        })
        .collect()
    };
    text.push_str(&table("GB/s", &run.sets, &rows(&own)));

    let ratios = estimates.rows.iter().filter(|row| own(&row.name) && row.name.has_two_buffers());
    let ratios = ratios.filter(|row| row.name != MemoryLoop::Memcpy);
    let shown = |figure: &Option<Figure>| figure.map_or_else(|| "-".to_owned(), by_memcpy);
    let mut ratios: Vec<Vec<String>> =
        ratios.map(|row| labelled(row.name.name(), row.by_memcpy.iter().map(shown))).collect();
    let taken = estimates
        .folded
        .iter()
        .map(|folded| folded.map_or_else(|| "-".to_owned(), |folded| verdict(&folded)));
    ratios.push(labelled("folded is", taken));
    text.push_str(&table("by memcpy", &run.sets, &ratios));

    text.push_str(&table("bw_mem, GB/s", &run.sets, &rows(&|name| name.is_lmbench())));
    text.push_str(LEGEND);
    if let Some(roofline) = roofline {
        text.push_str(&roofline_table(roofline));
    }
    for row in &run.unavailable {
        if let zc_run::Support::No(no) = &row.support {
            let _ = writeln!(
                text,
                "{}  {}: {}",
                escape(&row.name, 40),
                no.kind.name(),
                escape(&no.reason, 400)
            );
        }
    }
    text.push('\n');
    text.push_str(&sentences(run, estimates));
    text
}

/// The width of sentences.
const COLUMNS: usize = 120;
/// The meaning of the rows.
const LEGEND: &str = "\
read, write            all 64-bit words of the set are added up, or stored
memcpy                 the C library's, from one half of the set to the other; \
a copied byte counts once
rep-movsb              the copy instruction of x86-64, which the kernel copies with where it is fast
checksum               the Internet checksum (RFC 1071) alone
checksum+memcpy        the checksum in a pass of its own, then memcpy
folded                 checksum and copy in one pass: portable code; AVX2; AVX2 with \
stores past the caches (streaming), which
                       zc takes for sets that no cache holds
aes, chacha20          encryption in place, in TLS records of 16 KiB: the bound of tls-write
rd wr rdwr cp          lmbench's loops over ints of 4 bytes, one in four of which is read, \
written, read and written, copied
frd fwr fcp            every one of which is read, written, copied
bzero bcopy            memset, memmove. lmbench's size is that of one buffer: \
half of the set for cp, fcp and bcopy
";

fn heading(run: &MemoryRun, estimates: &MemoryEstimates) -> String {
    let host = &run.host;
    let caches = run.caches.iter().map(|cache| {
        let shared = cache.shared_by.as_deref().filter(|cpus| cpus.contains([',', '-']));
        let shared =
            shared.map(|cpus| format!(" of CPUs {}", escape(cpus, 40))).unwrap_or_default();
        format!("L{} {}{shared}", cache.level, bytes(cache.bytes))
    });
    let caches = caches.collect::<Vec<_>>().join(", ");
    let known = if run.caches_known { "" } else { " (assumed: the kernel reports none)" };
    let mut text = format!(
        "machine       {}, Linux {} {}, {}{}; all of it on CPU {}\n\
         caches        {caches}{known}\n\
         figures       10^9 bytes a second of the thread's CPU time, medians over blocks ± \
         half-width of the 95 % interval\n\
         sets          all buffers of a loop together, touched before; huge pages: {}\n\
         run           zc {}, seed {}, {} in {}\n",
        escape(&host.hostname, 64),
        escape(&host.kernel_release, 64),
        escape(&host.machine, 32),
        escape(&host.cpu.model, 64),
        host.hypervisor
            .as_deref()
            .map(|name| format!(", {}", escape(name, 32)))
            .unwrap_or_default(),
        run.cpu,
        run.huge_pages.as_deref().map_or_else(|| "not known".to_owned(), |text| escape(text, 64)),
        escape(&run.zc_version, 32),
        run.seed,
        if estimates.blocks == 1 {
            "1 block".to_owned()
        } else {
            format!("{} blocks", estimates.blocks)
        },
        seconds(run.budget_ns),
    );
    for sentence in &run.left_out {
        let _ = writeln!(text, "note          {}", escape(sentence, 400));
    }
    if estimates.off_cpu > 0.02 {
        let _ = writeln!(
            text,
            "note          something else used the CPU for {} of the time, and with it caches and \
             memory",
            percent(estimates.off_cpu)
        );
    }
    if host.is_emulated() {
        text.push_str(
            "note          the CPU is emulated: this is the speed of its translated instructions, \
            not that of memory\n",
        );
    } else if host.hypervisor.is_some() {
        text.push_str(
            "note          this is a virtual machine: neighbours share its last cache \
            and its memory\n",
        );
    }
    text.push('\n');
    text
}

/// A table with a column for each set.
fn table(title: &str, sets: &[MemorySet], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let place = |set: &MemorySet| {
        set.level.map_or_else(|| "memory".to_owned(), |level| format!("L{level}"))
    };
    let mut columns = vec![Column::left(title, "")];
    columns.extend(sets.iter().map(|set| Column::right(bytes(set.bytes), place(set))));
    let mut text = Grid::new(columns, rows.to_vec()).terminal(Layout::plain(COLUMNS));
    text.push('\n');
    text
}

fn labelled(label: &str, cells: impl Iterator<Item = String>) -> Vec<String> {
    std::iter::once(label.to_owned()).chain(cells).collect()
}

fn bytes(bytes: u64) -> String {
    size(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// 10^9 bytes per second.
fn gigabytes(speed: Figure) -> String {
    with_half_width(speed.value / 1e9, speed.half_width.map(|half| half / 1e9))
}

fn by_memcpy(figure: Figure) -> String {
    ratio(figure.value, figure.half_width.map(|half| half / figure.value))
}

fn verdict(folded: &FoldedRatio) -> String {
    let variant = folded.name.name().trim_start_matches("folded-");
    let clauses = match folded.within {
        Within::Yes if folded.ratio.interval.is_some_and(|interval| interval.low > 1.0) => "faster",
        Within::Yes => "within 5 %",
        Within::No => "slower",
        Within::Undecided => "undecided",
        Within::TooFewBlocks => "few blocks",
    };
    format!("{variant}: {clauses}")
}

/// The top speeds of a run's paths relative to memcpy.
fn roofline_table(roofline: &Roofline) -> String {
    let mut text =
        format!("\ntop speed of each path by memcpy of a set of {}\n", bytes(roofline.set_bytes));
    for row in &roofline.rows {
        let gbit = row.top_bytes_per_s;
        let gbit = with_half_width(gbit.value * 8e-9, gbit.half_width.map(|half| half * 8e-9));
        let _ = writeln!(
            text,
            "{:<22} {:>16}  {gbit:>14} Gbit/s",
            escape(&row.label, 40),
            by_memcpy(row.by_memcpy)
        );
    }
    text
}

fn sentences(run: &MemoryRun, estimates: &MemoryEstimates) -> String {
    let mut sentences = Vec::new();
    let beyond: Vec<(&MemorySet, FoldedRatio)> = run
        .sets
        .iter()
        .zip(&estimates.folded)
        .filter(|(set, _)| set.beyond_l2)
        .filter_map(|(set, folded)| Some((set, (*folded)?)))
        .collect();
    if !beyond.is_empty() {
        let each = beyond.iter().map(|(set, folded)| {
            format!(
                "{} ({})",
                bound(folded.ratio.value, folded.ratio.half_width.unwrap_or(0.01)),
                bytes(set.bytes)
            )
        });
        let each = list(&each.collect::<Vec<_>>());
        let named = |wanted: Within| {
            let sets = beyond.iter().filter(|(_, folded)| folded.within == wanted);
            list(&sets.map(|(set, _)| bytes(set.bytes)).collect::<Vec<_>>())
        };
        let all = beyond.iter().all(|(_, folded)| folded.within == Within::Yes);
        let (no, undecided, few) =
            (named(Within::No), named(Within::Undecided), named(Within::TooFewBlocks));
        let target = format!("{:.0} %", 100.0 * TARGET);
        let mut clauses = Vec::new();
        if all {
            clauses.push(format!(
                "it is nowhere more than {target} slower, so the checksum is free there"
            ));
        }
        for (sets, what) in [
            (no, format!("it is more than {target} slower")),
            (undecided, format!("undecided whether it is more than {target} slower")),
            (few, "there are too few blocks: give more time with --budget".to_owned()),
        ] {
            if !sets.is_empty() {
                clauses.push(format!("at {sets} {what}"));
            }
        }
        sentences.push(format!(
            "Beyond L2 folded checksum-and-copy reaches {each} of memcpy's speed: {}.",
            clauses.join("; ")
        ));
    }
    let last = run.sets.len().checked_sub(1);
    if let Some(two) = last.and_then(|last| estimates.ratio(MemoryLoop::ChecksumThenCopy, last)) {
        sentences.push(format!(
            "A checksum in a separate pass leaves memcpy {} of its speed on a set of {}.",
            bound(two.value, two.half_width.unwrap_or(0.01)),
            last.map_or_else(String::new, |last| bytes(run.sets[last].bytes)),
        ));
    }
    let by =
        |name| last.and_then(|last| estimates.figure(name, last)).map(|speed| (name, speed.value));
    let copies: Vec<(MemoryLoop, f64)> =
        [MemoryLoop::Memcpy, MemoryLoop::RepMovsb].into_iter().filter_map(by).collect();
    if !copies.is_empty() {
        let set = last.and_then(|last| run.sets.get(last)).map_or(0, |set| set.bytes);
        let copies = copies.iter().map(|(name, speed)| {
            format!(
                "{} GB/s ({} Gbit/s) by {name}",
                significant(speed / 1e9),
                significant(speed * 8e-9)
            )
        });
        sentences.push(format!(
            "A path that copies each byte once on one CPU is bound by the copy: {} on a set of {}.",
            list(&copies.collect::<Vec<_>>()),
            bytes(set),
        ));
    }
    let ciphers = [MemoryLoop::Aes128Gcm, MemoryLoop::Aes256Gcm, MemoryLoop::Chacha20Poly1305];
    let speeds = ciphers.into_iter().filter_map(by);
    let speeds: Vec<String> = speeds
        .map(|(name, speed)| format!("{} GB/s by {name}", significant(speed / 1e9)))
        .collect();
    if !speeds.is_empty() {
        sentences.push(format!(
            "One that encrypts each byte is bound by the cipher as well: {}.",
            list(&speeds)
        ));
    }
    sentences.iter().map(|sentence| wrap("", sentence, 0, COLUMNS)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_analysis::memory::{memory as estimate, roofline};
    use zc_run::{Cache, Support, SupportRow, Unavailable};
    use zc_testkit::synthetic::{Synthetic, memory_run};

    const SPEEDS: [(MemoryLoop, [f64; 2]); 7] = [
        (MemoryLoop::Read, [120e9, 34e9]),
        (MemoryLoop::Memcpy, [140e9, 20e9]),
        (MemoryLoop::ChecksumThenCopy, [60e9, 13e9]),
        (MemoryLoop::FoldedPortable, [45e9, 18.5e9]),
        (MemoryLoop::FoldedAvx2, [105e9, 19.6e9]),
        (MemoryLoop::FoldedStreaming, [60e9, 24e9]),
        (MemoryLoop::LmbenchBcopy, [140e9, 20e9]),
    ];

    fn machine(blocks: usize) -> MemoryRun {
        let mut run = memory_run(blocks, &SPEEDS);
        run.host.hostname = "box\u{1b}[2J".to_owned();
        run.host.kernel_release = "6.18.0".to_owned();
        run.host.machine = "x86_64".to_owned();
        run.host.cpu.model = "Example CPU".to_owned();
        let cache =
            |level, bytes, cpus: &str| Cache { level, bytes, shared_by: Some(cpus.to_owned()) };
        run.caches =
            vec![cache(1, 48 << 10, "1"), cache(2, 1 << 20, "1"), cache(3, 32 << 20, "0-1")];
        run.huge_pages = Some("always [madvise] never".to_owned());
        run
    }

    #[test]
    fn walks_over_memory_make_a_table_and_a_sentence() {
        let run = machine(12);
        insta::assert_snapshot!(memory(&run, &estimate(&run), None));
    }

    #[test]
    fn missing_figures_are_named_as_missing() {
        let mut run = machine(3);
        run.left_out = vec!["a set of 128 MiB is left out: too little".to_owned()];
        run.caches_known = false;
        run.host.hypervisor = Some("kvm".to_owned());
        for block in &mut run.blocks {
            block.visits.retain(|visit| {
                !matches!(visit.name, MemoryLoop::FoldedAvx2 | MemoryLoop::LmbenchBcopy)
            });
        }
        let support = Support::No(Unavailable::unsupported("this CPU has no AVX2"));
        run.unavailable =
            vec![SupportRow { what: "memory loop".into(), name: "folded-avx2".into(), support }];
        let text = memory(&run, &estimate(&run), None);
        for part in [
            "(assumed: the kernel reports none)",
            "note          a set of 128 MiB is left out",
            "note          something else used the CPU for 20 % of the time",
            "note          this is a virtual machine",
            "folded-avx2  unsupported: this CPU has no AVX2",
            "at 128m there are too few blocks",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("bw_mem, GB/s"), "{text}");
    }

    #[test]
    fn a_run_without_figures_is_a_heading() {
        let mut run = machine(0);
        run.sets.clear();
        assert!(memory(&run, &estimate(&run), None).starts_with("machine "));
    }

    #[test]
    fn the_paths_of_a_run_are_compared_with_memcpy() {
        let run = machine(12);
        let estimates = estimate(&run);
        let paths = zc_analysis::estimate(&Synthetic::default().run());
        let roofline = roofline(&run, &estimates, &paths).unwrap();
        let text = roofline_table(&roofline);
        assert!(
            text.starts_with("\ntop speed of each path by memcpy of a set of 128m\n"),
            "{text}"
        );
        assert!(text.contains("\nread+send  "), "{text}");
        assert!(text.contains(" Gbit/s\n"), "{text}");
    }
}
