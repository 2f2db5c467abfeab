//! NFS: the table of 2001, client and server by the size of a READ, and what NFS adds to a byte that
//! sendfile sends over the same link.

use super::historical::End;
use super::section::Section;
use crate::block::Part;
use crate::digits::{percent, signed_percent, significant, size, us_per_mb, with_half_width};
use crate::grid::{Column, Grid};
use crate::grids::{NONE, undecided};
use crate::note::{Note, note};
use crate::pivot::{Pivot, Placed};
use crate::rates::rates;
use zc_analysis::Estimates;
use zc_analysis::rules::TICK_NS;
use zc_run::{Factor, NfsClient, NfsMount, NfsPlan, Run, SendPath, escape};

/// Reading a file of 100 MB by NFS over UDP and 100 Mbit/s Ethernet, on Linux 2.4.1-pre10 with the
/// zero-copy patch: READ size, and for the client's and the server's machine MB/s and load of all CPUs
/// in percent. Andrew Morton, 27 January 2001.
const HISTORICAL: [(usize, [f64; 2], [f64; 2]); 5] = [
    (1024, [2.4, 10.3], [2.6, 19.1]),
    (2048, [3.7, 11.4], [3.9, 18.8]),
    (4096, [10.1, 29.0], [10.0, 34.5]),
    (8192, [11.9, 28.2], [11.8, 28.9]),
    (16_384, [11.9, 28.2], [11.8, 29.0]),
];

pub(super) fn section(run: &Run, estimates: &Estimates, nfs: &NfsPlan, pivot: &Pivot) -> Section {
    let parts = table(run, estimates, nfs, pivot).into_iter().chain(account(nfs, pivot)).collect();
    Section { parts, conclusion: conclusion(estimates, nfs, pivot) }
}

/// A row for each size of a READ; `None` where none has a load.
pub(crate) fn table(
    run: &Run,
    estimates: &Estimates,
    nfs: &NfsPlan,
    pivot: &Pivot,
) -> Option<Part> {
    let by_message = pivot.keys.iter().position(|key| *key == Factor::Message)?;
    let first = first_version(nfs)?;
    let mut columns = vec![Column::left("READ", ""), Column::right("READs", "/s")];
    for path in [first, SendPath::Sendfile] {
        columns.push(Column::right(path.name(), "client"));
        columns.push(Column::right(path.name(), "server"));
    }
    columns.push(Column::right("packets", "/s"));
    columns.push(Column::right("interrupts", "/s"));
    columns.push(Column::right("2001, MB/s:", "client, server"));
    let mut any = false;
    let mut rows = Vec::new();
    for row in &pivot.rows {
        let of = |path: SendPath| {
            row.cells.iter().flatten().copied().find(|placed| placed.cell.send == path)
        };
        let Some(read) = of(first) else { continue };
        let mut texts = vec![row.levels.get(by_message).cloned().unwrap_or_default()];
        texts.push(per_s(run.header.plan.messages_per_s(read.cell)));
        for placed in [Some(read), of(SendPath::Sendfile)] {
            for end in [End::Receiver, End::Sender] {
                let load = placed.and_then(|placed| end.load(run, estimates, placed.figures));
                any |= load.is_some();
                texts.push(load.unwrap_or_else(|| NONE.to_owned()));
            }
        }
        texts.push(per_s(read.figures.traffic.packets_per_s));
        texts.push(per_s(read.figures.traffic.interrupts_per_s));
        let in_2001 =
            HISTORICAL.iter().find(|(bytes, ..)| Some(*bytes) == read.cell.levels.message_bytes);
        let text = in_2001.map(|(_, [mb_per_s, client], [_, server])| {
            format!("{mb_per_s}: {client} %, {server} %")
        });
        texts.push(text.unwrap_or_default());
        rows.push(texts);
    }
    let cpus = End::Sender.cpus(run).unwrap_or(1);
    let caption = format!(
        "Load of all {cpus} CPUs at {}, softirqs included, beside that of 2001 (Andrew Morton, 27 January: \
         Linux 2.4.1 with the zero-copy patch, NFS over UDP, at the client's MB/s); packets and interrupts with {first}",
        rates(run)
    );
    any.then(|| Part::Table { caption, keys: 1, grid: Grid::new(columns, rows) })
}

/// Where the cost of the first version's READs is, by size: the accounts of the two programs, what
/// /proc/stat counts besides, and what is in none. `None` where there are no such accounts.
fn account(nfs: &NfsPlan, pivot: &Pivot) -> Option<Part> {
    let by_message = pivot.keys.iter().position(|key| *key == Factor::Message)?;
    let first = first_version(nfs)?;
    let columns = vec![
        Column::left("READ", ""),
        Column::right("soaked", ""),
        Column::right("server", ""),
        Column::right("client", ""),
        Column::right("besides", ""),
        Column::right("in no account", ""),
    ];
    let mut rows = Vec::new();
    for row in &pivot.rows {
        let read = row.cells.iter().flatten().find(|placed| placed.cell.send == first);
        let Some(figures) = read.map(|placed| placed.figures) else { continue };
        let (programs, stat) = (&figures.others.getrusage_soaked, &figures.others.proc_stat);
        let sides = &programs.cost_ns_per_kib;
        let (Some(server), Some(client)) = (sides.sender, sides.receiver) else { continue };
        let (Some(soaked), Some(counted)) =
            (figures.cost_ns_per_kib.both, stat.cost_ns_per_kib.both)
        else {
            continue;
        };
        let ticks = counted * stat.bytes as f64 / 1024.0 / TICK_NS;
        let share = stat.by_soaked.both.zip(soaked.half_width).map(|(by, half_width)| {
            // Both have a part in it; that of ticks is as of any count of events.
            let both = (half_width / soaked.value).hypot(by * 1.96 / ticks.sqrt());
            format!("{} ±{}", signed_percent(1.0 - by), percent(both))
        });
        rows.push(vec![
            row.levels.get(by_message).cloned().unwrap_or_default(),
            with_half_width(us_per_mb(soaked.value), soaked.half_width.map(us_per_mb)),
            significant(us_per_mb(server)),
            significant(us_per_mb(client)),
            significant(us_per_mb(counted - server - client)),
            share.unwrap_or_else(|| NONE.to_owned()),
        ]);
    }
    let caption = format!(
        "Whose the cost of both ends with {first} is, us/MB: the server's and the client's program by their clocks, \
         what /proc/stat counts besides (interrupts, softirqs, threads of the kernel), and the share in no account"
    );
    (!rows.is_empty()).then(|| Part::Table { caption, keys: 1, grid: Grid::new(columns, rows) })
}

fn per_s(figure: Option<f64>) -> String {
    figure.map_or_else(|| NONE.to_owned(), significant)
}

fn first_version(nfs: &NfsPlan) -> Option<SendPath> {
    nfs.mounts.first().map(|mount| mount.version)
}

/// Who serves and who reads.
pub(crate) fn about(nfs: &NfsPlan) -> Note {
    let version = escape(&nfs.server_version, 80);
    let server = if version.is_empty() { nfs.server.to_string() } else { version };
    let client = match nfs.client {
        NfsClient::User => "libnfs".to_owned(),
        NfsClient::Kernel if nfs.connections == 1 => "the kernel's client".to_owned(),
        NfsClient::Kernel => format!("the kernel's client over {} connections", nfs.connections),
    };
    let at_a_time = match nfs.depth {
        1 => "one READ".to_owned(),
        several => format!("up to {several} READs"),
    };
    note(
        "nfs",
        format!(
            "{server}, read by {client}, {at_a_time} at a time; its bytes are those of the files{}",
            copies(nfs)
        ),
    )
}

/// Whether the kernel's server copied what it sent; nothing where that is not known.
fn copies(nfs: &NfsPlan) -> String {
    let sum = |of: fn(&NfsMount) -> Option<u64>| nfs.mounts.iter().filter_map(of).sum::<u64>();
    match (sum(|mount| mount.spliced), sum(|mount| mount.copied)) {
        (0, 0) => String::new(),
        (_, 0) => "; the server splices them from its page cache, without a copy".to_owned(),
        (0, _) => "; the server copies them".to_owned(),
        (spliced, copied) => {
            let share = copied as f64 / (spliced + copied) as f64;
            format!(
                "; the server copies {} % of its READs, and splices the others",
                significant(100.0 * share)
            )
        }
    }
}

/// What a byte costs by NFS, in costs of one by sendfile.
fn conclusion(estimates: &Estimates, nfs: &NfsPlan, pivot: &Pivot) -> Option<String> {
    let first = first_version(nfs)?;
    let sent = pivot.cells().filter(|Placed { cell, .. }| cell.send == SendPath::Sendfile);
    let mut times: Vec<(f64, String)> = Vec::new();
    let mut unknown = 0;
    for placed in sent {
        let ratio = placed.figures.ratio.both.filter(|ratio| ratio.value > 0.0);
        let bytes = placed.cell.levels.message_bytes?;
        match ratio.filter(|_| !undecided(estimates, placed.figures)) {
            Some(ratio) => times.push((1.0 / ratio.value, size(bytes))),
            None => unknown += 1,
        }
    }
    times.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let told = match &times[..] {
        [] => return None,
        [(only, size)] => format!("{} times with READs of {size}", significant(*only)),
        [(least, at_least), .., (most, at_most)] => format!(
            "{} times (READs of {at_least}) to {} times ({at_most})",
            significant(*least),
            significant(*most)
        ),
    };
    let rest = match unknown {
        0 => String::new(),
        1 => ", and is not told apart at one size".to_owned(),
        several => format!(", and is not told apart at {several} sizes"),
    };
    Some(format!(
        "A byte by {first} costs {told} what it costs as a response of that length by sendfile, client and \
         server together{rest}."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::NfsServer;

    #[test]
    fn whether_the_server_copies_is_told_where_it_is_known() {
        let mount = |spliced, copied| NfsMount {
            spliced,
            copied,
            ..NfsMount::to_be(SendPath::Nfs3, Some(4096), String::new())
        };
        let told = |mounts| {
            let plan = NfsPlan {
                server: NfsServer::Knfsd,
                server_version: "the kernel's server, 8 threads".to_owned(),
                client: NfsClient::Kernel,
                depth: 1,
                file_bytes: 1,
                crc32: 0,
                connections: 4,
                mounts,
            };
            about(&plan).text
        };
        let text = told(vec![mount(None, None)]);
        assert!(
            text.contains("client over 4 connections, one READ") && text.ends_with("of the files")
        );
        let text = told(vec![mount(Some(5), Some(0)), mount(None, None)]);
        assert!(text.ends_with("splices them from its page cache, without a copy"), "{text}");
        assert!(told(vec![mount(Some(0), Some(5))]).ends_with("the server copies them"));
        let text = told(vec![mount(Some(3), Some(0)), mount(Some(0), Some(1))]);
        assert!(text.ends_with("copies 25.0 % of its READs, and splices the others"), "{text}");
    }
}
