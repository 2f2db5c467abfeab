//! NFS: the table of 2001, client and server by the size of a READ or WRITE, and what NFS adds to a
//! byte that sendfile sends over the same link.

use super::historical::End;
use super::section::Section;
use crate::digits::{percent, signed_percent, significant, size, us_per_mb, with_half_width};
use crate::run::pivot::{Pivot, Placed};
use crate::run::pivot_tables::{NONE, undecided};
use crate::run::rates::rates;
use crate::terminal::note::{Note, note};
use crate::terminal::part::Part;
use crate::terminal::table::{Column, Grid};
use crate::text::distinct;
use zc_analysis::Estimates;
use zc_analysis::ticks::TICK_NS;
use zc_run::{
    Cell, Factor, NfsClient, NfsMount, NfsOperation, NfsPlan, NfsServer, Run, SendPath, Transfer,
    escape,
};

/// Reading a file of 100 MB by NFS over UDP and 100 Mbit/s Ethernet, on Linux 2.4.1-pre10 with the
/// zero-copy patch: READ size, and for the client's and the server's machine MB/s and load of all
/// CPUs in percent. Andrew Morton, 27 January 2001.
const HISTORICAL: [(usize, [f64; 2], [f64; 2]); 5] = [
    (1024, [2.4, 10.3], [2.6, 19.1]),
    (2048, [3.7, 11.4], [3.9, 18.8]),
    (4096, [10.1, 29.0], [10.0, 34.5]),
    (8192, [11.9, 28.2], [11.8, 28.9]),
    (16_384, [11.9, 28.2], [11.8, 29.0]),
];

pub(super) fn section(run: &Run, estimates: &Estimates, nfs: &NfsPlan, pivot: &Pivot) -> Section {
    let parts = table(run, estimates, nfs, pivot).into_iter().chain(account(nfs, pivot)).collect();
    Section { parts, conclusion: conclusion(run, estimates, nfs, pivot) }
}

/// A row for each size of a call and number of connections; `None` where none has a load.
pub(crate) fn table(
    run: &Run,
    estimates: &Estimates,
    nfs: &NfsPlan,
    pivot: &Pivot,
) -> Option<Part> {
    let (first, operation) = (first_call(nfs)?, operation(nfs));
    let is_read = operation == NfsOperation::Read;
    let of_ends = |transfer| ends(nfs).iter().map(move |(name, end)| (transfer, *name, *end));
    let loads: Vec<(Transfer, &str, End)> =
        shown_transfers(first, pivot).into_iter().flat_map(of_ends).collect();
    // Sizes of today alone are beside nothing.
    let has_2001 = is_read && pivot.cells().any(|placed| in_2001(placed.cell).is_some());
    let mut columns = keys(nfs, pivot);
    columns.push(Column::right(format!("{}s", operation.name()), "/s"));
    columns.extend(loads.iter().map(|(transfer, name, _)| Column::right(transfer.sender(), *name)));
    columns.push(Column::right("packets", "/s"));
    columns.push(Column::right("interrupts", "/s"));
    if has_2001 {
        columns.push(Column::right("2001, MB/s:", "client, server"));
    }
    let mut any = false;
    let mut rows = Vec::new();
    for row in &pivot.rows {
        let placed_at = |transfer: Transfer| {
            row.cells.iter().flatten().copied().find(|placed| placed.cell.transfer == transfer)
        };
        let Some(read) = placed_at(first) else { continue };
        let mut texts = row.levels.clone();
        texts.push(per_s(run.header.plan.messages_per_s(read.cell)));
        for (transfer, _, end) in &loads {
            let load =
                placed_at(*transfer).and_then(|placed| end.load(run, estimates, placed.figures));
            any |= load.is_some();
            texts.push(load.unwrap_or_else(|| NONE.to_owned()));
        }
        texts.push(per_s(read.figures.traffic.packets_per_s));
        texts.push(per_s(read.figures.traffic.interrupts_per_s));
        if has_2001 {
            texts.push(in_2001(read.cell).unwrap_or_default());
        }
        rows.push(texts);
    }
    let cpus = End::Sender.cpus(run).unwrap_or(1);
    let beside = match has_2001 {
        true => {
            ", beside that of 2001 (Andrew Morton, 27 January: Linux 2.4.1 with the zero-copy \
             patch, NFS over UDP, at the client's MB/s)"
        }
        false => "",
    };
    let caption = format!(
        "Load of all {cpus} CPUs at {}, softirqs included{beside}; packets and interrupts with \
         {first}",
        rates(run)
    );
    any.then(|| Part::Table { caption, keys: pivot.keys.len(), grid: Grid::new(columns, rows) })
}

/// The ends whose cost is measured: of a server that is there already, one end is elsewhere, or
/// both are here and share the CPUs.
fn ends(nfs: &NfsPlan) -> &'static [(&'static str, End)] {
    match nfs.server {
        NfsServer::External if nfs.shares_machine => &[("both ends", End::Both)],
        NfsServer::External if nfs.is_of_the_server() => &[("server", End::Both)],
        NfsServer::External => &[("client", End::Both)],
        NfsServer::Knfsd | NfsServer::Ganesha => {
            &[("client", End::Receiver), ("server", End::Sender)]
        }
    }
}

/// The first call, and the reference, or where there is none the call that is compared with the
/// first.
fn shown_transfers(first: Transfer, pivot: &Pivot) -> Vec<Transfer> {
    let others = || pivot.cells().map(|placed| placed.cell.transfer).filter(|each| *each != first);
    let second = others().find(|each| is_sendfile(*each)).or_else(|| others().next());
    std::iter::once(first).chain(second).collect()
}

/// A column for each factor of the rows.
fn keys(nfs: &NfsPlan, pivot: &Pivot) -> Vec<Column> {
    let name = |key: &Factor| match key {
        Factor::Message => operation(nfs).name(),
        Factor::Flows => "connections",
        other => other.name(),
    };
    pivot.keys.iter().map(|key| Column::left(name(key), "")).collect()
}

/// Result of 2001 for that size, if there is one.
fn in_2001(cell: &Cell) -> Option<String> {
    let then = HISTORICAL.iter().find(|(bytes, ..)| Some(*bytes) == cell.levels.message_bytes);
    then.map(|(_, [mb_per_s, client], [_, server])| format!("{mb_per_s}: {client} %, {server} %"))
}

/// Account of the cost of the first call, by size: the accounts of the two programs,
/// further counts of /proc/stat, and the rest, which is in none. `None` where there are no such
/// accounts.
fn account(nfs: &NfsPlan, pivot: &Pivot) -> Option<Part> {
    let first = first_call(nfs)?;
    let has_server = nfs.server != NfsServer::External;
    let mut columns = keys(nfs, pivot);
    columns.push(Column::right("soaked", ""));
    columns.extend(has_server.then(|| Column::right("server", "")));
    columns.push(Column::right("client", ""));
    columns.push(Column::right("besides", ""));
    columns.push(Column::right("in no account", ""));
    let mut rows = Vec::new();
    for row in &pivot.rows {
        let read = row.cells.iter().flatten().find(|placed| placed.cell.transfer == first);
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
        let mut texts = row.levels.clone();
        texts.push(with_half_width(us_per_mb(soaked.value), soaked.half_width.map(us_per_mb)));
        texts.extend(has_server.then(|| significant(us_per_mb(server))));
        texts.push(significant(us_per_mb(client)));
        texts.push(significant(us_per_mb(counted - server - client)));
        texts.push(share.unwrap_or_else(|| NONE.to_owned()));
        rows.push(texts);
    }
    let programs = match has_server {
        true => "the server's and the client's program by their clocks",
        false => "the client's program by its clock",
    };
    let of = if nfs.is_of_the_client() { "the client" } else { "both ends" };
    let caption = format!(
        "Whose the cost of {of} with {first} is, us/MB: {programs}, what /proc/stat counts besides \
         (interrupts, softirqs, threads of the kernel), and the share in no account"
    );
    let keys = pivot.keys.len();
    (!rows.is_empty()).then(|| Part::Table { caption, keys, grid: Grid::new(columns, rows) })
}

fn per_s(figure: Option<f64>) -> String {
    figure.map_or_else(|| NONE.to_owned(), significant)
}

fn first_call(nfs: &NfsPlan) -> Option<Transfer> {
    nfs.mounts.first().map(|mount| Transfer::Nfs(mount.call))
}

fn is_sendfile(transfer: Transfer) -> bool {
    transfer.send_path() == Some(SendPath::Sendfile)
}

/// Operation of the plan: READs, or WRITEs of either kind.
fn operation(nfs: &NfsPlan) -> NfsOperation {
    nfs.mounts.first().map_or(NfsOperation::Read, |mount| mount.call.operation)
}

/// Note on server and client.
pub(crate) fn about(nfs: &NfsPlan) -> Note {
    let version = escape(&nfs.server_version, 80);
    let server = if version.is_empty() { nfs.server.to_string() } else { version };
    let client = match nfs.client {
        NfsClient::User => "libnfs".to_owned(),
        NfsClient::Kernel => format!("the kernel's client{}", over(nfs)),
    };
    let client = match &nfs.client_at {
        None => client,
        Some(command) => format!("{client} at {}", escape(command, 80)),
    };
    let operation = operation(nfs);
    let (is_read, calls) = (operation == NfsOperation::Read, operation.name());
    let at_a_time = match nfs.depth {
        1 => format!("one {calls}"),
        several => format!("up to {several} {calls}s"),
    };
    let bytes = match (nfs.server, is_read) {
        (NfsServer::External, _) => format!("{} bytes of the file", nfs.file_bytes),
        (_, true) => "its bytes are those of the files".to_owned(),
        (_, false) => "its file is as long as the files are together, and in memory".to_owned(),
    };
    let (done, copies) = if is_read { ("read", copies(nfs)) } else { ("written", String::new()) };
    note("nfs", format!("{server}, {done} by {client}, {at_a_time} at a time; {bytes}{copies}"))
}

/// The connections of each mount, where that is one number other than one.
fn over(nfs: &NfsPlan) -> String {
    let mut numbers = nfs.mounts.iter().map(|mount| mount.connections);
    match numbers.next() {
        Some(first) if first > 1 && numbers.all(|each| each == first) => {
            format!(" over {first} connections")
        }
        _ => String::new(),
    }
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

fn conclusion(run: &Run, estimates: &Estimates, nfs: &NfsPlan, pivot: &Pivot) -> Option<String> {
    let sentences = [against_sendfile(estimates, nfs, pivot), narrower(run, nfs, pivot)];
    let told: Vec<String> = sentences.into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(" "))
}

/// A ratio of neighbouring sizes is to be known to this.
const WANTED: f64 = 0.1;

/// Advice on narrower ratios of larger sizes, if they are wide because the rate is what small ones
/// leave.
fn narrower(run: &Run, nfs: &NfsPlan, pivot: &Pivot) -> Option<String> {
    let first = first_call(nfs)?;
    let placed: Vec<Placed> =
        pivot.cells().filter(|placed| placed.cell.transfer == first).collect();
    let half_width = |placed: &Placed| placed.figures.ratio.both.and_then(|ratio| ratio.half_width);
    let is_wide = |placed: &Placed| half_width(placed).is_some_and(|width| width > WANTED);
    // Together with the one that it is compared with.
    let from = placed.iter().position(is_wide)?.checked_sub(1).filter(|from| *from > 0)?;
    let sizes = |of: &[Placed]| -> Vec<String> {
        distinct(of.iter().filter_map(|each| each.cell.levels.message_bytes.map(size)))
    };
    let widest = placed.iter().filter_map(half_width).fold(0.0, f64::max);
    run.header.plan.fixed.rate_chosen.then(|| {
        format!(
            "The rate, {}, is what {}s of {} leave, and ratios of larger ones are known to ±{} \
             only: --rsize {} measures these at a higher one.",
            rates(run),
            operation(nfs).name(),
            sizes(&placed[..1]).join(""),
            percent(widest),
            sizes(&placed[from..]).join(",")
        )
    })
}

/// Cost of a byte by NFS, as a multiple of the cost by sendfile.
fn against_sendfile(estimates: &Estimates, nfs: &NfsPlan, pivot: &Pivot) -> Option<String> {
    let first = first_call(nfs)?;
    let sent = pivot.cells().filter(|Placed { cell, .. }| is_sendfile(cell.transfer));
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
        "A byte by {first} costs {told} what it costs as a response of that length by sendfile, \
         client and server together{rest}."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{NfsCall, NfsVersion};

    #[test]
    fn costs_are_named_by_the_end_that_is_on_this_machine() {
        let plan = |server, shares_machine, client_at: Option<&str>| NfsPlan {
            server,
            server_version: "192.0.2.1:/srv/file".to_owned(),
            shares_machine,
            client: NfsClient::User,
            client_at: client_at.map(str::to_owned),
            all_clocks: false,
            depth: 4,
            file_bytes: 9,
            crc32: 0,
            mounts: Vec::new(),
        };
        let names =
            |plan: NfsPlan| -> Vec<&str> { ends(&plan).iter().map(|(name, _)| *name).collect() };
        let (there, far) = (NfsServer::External, Some("ssh far"));
        assert_eq!(names(plan(there, false, None)), ["client"]);
        assert_eq!(names(plan(there, false, far)), ["server"]);
        assert_eq!(names(plan(there, true, far)), ["both ends"]);
        assert_eq!(names(plan(there, true, None)), ["both ends"]);
        assert_eq!(names(plan(NfsServer::Knfsd, false, None)), ["client", "server"]);
        let text = about(&plan(there, false, far)).text;
        assert!(
            text.starts_with("192.0.2.1:/srv/file, read by libnfs at ssh far, up to"),
            "{text}"
        );
    }

    #[test]
    fn whether_the_server_copies_is_told_where_it_is_known() {
        let mount = |spliced, copied| NfsMount {
            spliced,
            copied,
            ..NfsMount::to_be(
                NfsCall { version: NfsVersion::V3, operation: NfsOperation::Read },
                Some(4096),
                4,
                String::new(),
            )
        };
        let sentence = |mounts| {
            let plan = NfsPlan {
                server: NfsServer::Knfsd,
                server_version: "the kernel's server, 8 threads".to_owned(),
                shares_machine: false,
                client: NfsClient::Kernel,
                client_at: None,
                all_clocks: false,
                depth: 1,
                file_bytes: 1,
                crc32: 0,
                mounts,
            };
            about(&plan).text
        };
        let text = sentence(vec![mount(None, None)]);
        assert!(
            text.contains("client over 4 connections, one READ") && text.ends_with("of the files")
        );
        let text = sentence(vec![mount(Some(5), Some(0)), mount(None, None)]);
        assert!(text.ends_with("splices them from its page cache, without a copy"), "{text}");
        assert!(sentence(vec![mount(Some(0), Some(5))]).ends_with("the server copies them"));
        let text = sentence(vec![mount(Some(3), Some(0)), mount(Some(0), Some(1))]);
        assert!(text.ends_with("copies 25.0 % of its READs, and splices the others"), "{text}");
    }
}
