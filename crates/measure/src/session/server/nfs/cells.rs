//! The cells of a run of NFS, what each asks for, and their one rate.

use std::collections::BTreeMap;

use crate::plan::spec::CONTROL_SUFFIX;
use crate::session::earlier::KnownRates;
use crate::session::proving::cannot_run;
use crate::session::server::asked::body_bytes;
use crate::session::server::cells::positive;
use crate::session::server::nfs::options::NfsOptions;
use crate::session::server::rate;
use crate::session::steps::Steps;
use zc_rig::meter;
use zc_run::{
    Cell, Levels, NfsCall, NfsMount, Probe, RecvPath, Result, SendPath, SupportRow, Transfer,
    Unavailable, Warning, units,
};
use zc_servers::{CallsOf, OriginOf, ServerRig};

/// The share of the slowest cell's top speed that a chosen rate is at most. At half of it, 14,600
/// READs of 4k per second here, the client was at work for 85 % of the time: a READ that finds it
/// so wakes nobody, and 2.5 of 3.7 % that were added were found.
const SHARE: f64 = 1.0 / 3.0;

/// The transfer that calls are compared with: the same bytes from zc's own server.
const SENDFILE: Transfer = Transfer::Paths { send: SendPath::Sendfile, recv: RecvPath::Recv };

/// Requests from which the cells are made: each kind of call at each size and number of
/// connections.
pub(super) struct Asked<'a> {
    /// The first is the one that others are compared with.
    pub(super) calls: &'a [NfsCall],
    /// Ascending. Each is compared with the next smaller one.
    pub(super) sizes: &'a [usize],
    /// The first is the one that others are compared with.
    pub(super) connections: &'a [usize],
    /// Mounts that were opened.
    pub(super) mounts: &'a [NfsMount],
    /// Whether there is zc's own server beside them, which sends as many bytes by sendfile.
    pub(super) beside_sendfile: bool,
    /// Bytes of the file.
    pub(super) file_bytes: u64,
}

impl Asked<'_> {
    /// The cells, the A/A control with them, and rows for what the server does not allow or the
    /// file has no room for. Other numbers of connections are compared with the first at the same
    /// call and size, other calls and the reference with the first call at the same size.
    pub(super) fn cells(&self) -> Result<(Vec<Cell>, Vec<SupportRow>)> {
        let (mut can, mut cannot) = (Vec::new(), Vec::new());
        let (Some(first), Some(usual)) = (self.calls.first(), self.connections.first()) else {
            return Ok((can, Vec::new()));
        };
        let mut smaller: Option<String> = None;
        for bytes in self.sizes {
            let mut of_first = None;
            for (call, connections) in self
                .calls
                .iter()
                .flat_map(|call| self.connections.iter().map(move |number| (call, number)))
            {
                let Some(mount) =
                    self.mounts.iter().find(|mount| mount.is_for(*call, *bytes, *connections))
                else {
                    continue; // a row tells why
                };
                let transfer = Transfer::Nfs(*call);
                let cell = self.cell(transfer, *bytes, *connections);
                if let Some(no) = self.not_of_this_size(mount, *bytes as u64) {
                    cannot.push((cell.label, no));
                    continue;
                }
                let usual_of_call = self.cell(transfer, *bytes, *usual).label;
                let has_usual = can.iter().any(|each: &Cell| each.label == usual_of_call);
                let by = match (call == first, connections == usual) {
                    (_, false) => has_usual.then_some(usual_of_call),
                    (false, true) => of_first.clone(),
                    (true, true) => smaller.clone(),
                };
                if call == first && connections == usual {
                    of_first = Some(cell.label.clone());
                }
                can.push(Cell { by, ..cell });
            }
            if let Some(of_first) = of_first {
                if self.beside_sendfile {
                    let sent = self.cell(SENDFILE, *bytes, *usual);
                    can.push(Cell { by: Some(of_first.clone()), ..sent });
                }
                smaller = Some(of_first);
            }
        }
        // The first is the reference, which no run is without.
        let reference = can.first().map(|first: &Cell| first.label.clone());
        let reference = reference.or_else(|| cannot.first().map(|(label, _)| label.clone()));
        let reference = reference.unwrap_or_default();
        let row = |(label, no)| cannot_run(label, &reference, no);
        let cannot = cannot.into_iter().map(row).collect::<Result<_>>()?;
        let control = can.first().map(|first| Cell {
            label: format!("{reference}{CONTROL_SUFFIX}"),
            control: true,
            ..first.clone()
        });
        can.extend(control);
        Ok((can, cannot))
    }

    fn cell(&self, transfer: Transfer, bytes: usize, connections: usize) -> Cell {
        let several = (self.connections.len() > 1).then_some(connections);
        let of_client = several.filter(|_| transfer != SENDFILE);
        Cell {
            label: label(transfer, bytes as u64, of_client),
            levels: Levels { message_bytes: Some(bytes), flows: several, ..Levels::default() },
            ..Cell::with_transfer(transfer)
        }
    }

    /// Why calls of so many bytes are not to be had there; `None`: they are.
    fn not_of_this_size(&self, mount: &NfsMount, bytes: u64) -> Option<Unavailable> {
        let calls = mount.call.operation.name();
        let most = units::size_text(mount.largest);
        let no = match mount.size {
            _ if bytes > self.file_bytes => format!("the file has {} bytes", self.file_bytes),
            None if bytes > mount.largest => {
                format!("the server allows {calls}s of {most} at most")
            }
            Some(_) if bytes != mount.largest => {
                format!("client and server agreed on {calls}s of {most}")
            }
            _ => return None,
        };
        Some(Unavailable::refused(no))
    }
}

/// The label of a cell, with the number of connections where there are several.
pub(super) fn label(transfer: Transfer, bytes: u64, connections: Option<usize>) -> String {
    let size = units::size_text(bytes);
    match connections {
        None => format!("{size} {transfer}"),
        Some(connections) => format!("{size} {connections} {transfer}"),
    }
}

/// Connections by which a cell asks.
fn connections(cell: &Cell, usual: usize) -> usize {
    cell.levels.flows.unwrap_or(usual)
}

/// The calls of the client in the cells, each once: the file's number is that of its mount. `usual`
/// is the number of connections where a cell has none of its own.
pub(super) fn calls(cells: &[Cell], mounts: &[NfsMount], usual: usize) -> Vec<CallsOf> {
    let of = |cell: &Cell| {
        let (bytes, flows) = (body_bytes(cell), connections(cell, usual));
        let call = cell.transfer.nfs_call()?;
        let file = mounts.iter().position(|mount| mount.is_for(call, bytes, flows))?;
        Some(CallsOf { file, bytes })
    };
    cells.iter().filter(|cell| !cell.control).filter_map(of).collect()
}

/// The place of a cell: in [`calls`], or after them by size.
pub(super) fn origin_of(
    calls: &[CallsOf],
    mounts: &[NfsMount],
    sizes: &[usize],
    usual: usize,
) -> OriginOf {
    let (calls, mounts, sizes) = (calls.to_vec(), mounts.to_vec(), sizes.to_vec());
    Box::new(move |cell| {
        let bytes = body_bytes(cell);
        match cell.transfer.nfs_call() {
            None => sizes.iter().position(|each| *each == bytes).map(|size| calls.len() + size),
            Some(call) => calls.iter().position(|each| {
                let flows = connections(cell, usual);
                each.bytes == bytes && mounts[each.file].is_for(call, bytes, flows)
            }),
        }
    })
}

/// Gives all cells one rate in bytes per second, which is typed, that of an earlier run, which is
/// then said, or what the slowest of them can well sustain. Adds the positive control.
pub(super) fn at_one_rate(
    rig: &mut ServerRig,
    mut cells: Vec<Cell>,
    options: &NfsOptions,
    steps: &mut Steps<'_>,
) -> Result<(Vec<Cell>, Vec<Probe>, Option<Warning>)> {
    let speeds = rate::top_speeds(rig, &cells, steps)?;
    let mut bytes_per_s = BTreeMap::new();
    for cell in cells.iter().filter(|cell| !cell.control) {
        let per_s = speeds.get(&cell.label).copied().unwrap_or_default();
        bytes_per_s.insert(cell.label.clone(), per_s * body_bytes(cell) as f64);
    }
    let slowest = rate::slowest(&bytes_per_s)?;
    let typed = options.rate_bytes_per_s;
    let each: Vec<_> = bytes_per_s.keys().map(|label| (label.clone(), slowest)).collect();
    let earlier = if typed.is_none() { options.blocks.earlier.as_slice() } else { &[] };
    let KnownRates { rates, note } =
        KnownRates::choose(&BTreeMap::new(), earlier, rig.fixed().link, &each);
    let kept = || rates.get(&cells.first()?.label).copied();
    let rate = typed.or_else(kept).unwrap_or_else(|| rate::round_below(slowest * SHARE));
    for cell in &mut cells {
        cell.levels.rate_bytes_per_s = Some(rate);
    }
    if let Some(first) = cells.first() {
        let bytes = body_bytes(first);
        rig.set_rate(rate / bytes as f64, bytes as u64, typed.is_none());
        let unit_s = meter::unit_time().as_secs_f64();
        let positive = positive(first, speeds[&first.label], bytes as u64, unit_s);
        cells.push(positive);
    }
    let probe = |(cell, bytes_per_s)| Probe::TopSpeed { cell, bytes_per_s };
    Ok((cells, bytes_per_s.into_iter().map(probe).collect(), note))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::{NfsOperation, NfsVersion, Support};

    fn reads(version: NfsVersion) -> NfsCall {
        NfsCall { version, operation: NfsOperation::Read }
    }

    fn mounts(calls: &[NfsCall], largest: u64) -> Vec<NfsMount> {
        let mount =
            |call: &NfsCall| NfsMount { largest, ..NfsMount::to_be(*call, None, 1, String::new()) };
        calls.iter().map(mount).collect()
    }

    fn asked<'a>(calls: &'a [NfsCall], sizes: &'a [usize], mounts: &'a [NfsMount]) -> Asked<'a> {
        let (connections, file_bytes) = (&[1][..], 1 << 24);
        Asked { calls, sizes, connections, mounts, beside_sendfile: true, file_bytes }
    }

    fn compared(cells: &[Cell]) -> Vec<(&str, Option<&str>)> {
        cells.iter().map(|cell| (cell.label.as_str(), cell.by.as_deref())).collect()
    }

    #[test]
    fn each_size_is_compared_with_the_next_smaller_one_and_others_at_the_same_size() {
        let calls_made = [reads(NfsVersion::V3), reads(NfsVersion::V40)];
        let sizes = [4096, 65_536];
        let mounts = mounts(&calls_made, 1 << 20);
        let (cells, cannot) = asked(&calls_made, &sizes, &mounts).cells().unwrap();
        assert_eq!(
            compared(&cells),
            [
                ("4k nfs-v3", None),
                ("4k nfs-v4.0", Some("4k nfs-v3")),
                ("4k sendfile", Some("4k nfs-v3")),
                ("64k nfs-v3", Some("4k nfs-v3")),
                ("64k nfs-v4.0", Some("64k nfs-v3")),
                ("64k sendfile", Some("64k nfs-v3")),
                ("4k nfs-v3 (A/A)", None),
            ]
        );
        assert!(cannot.is_empty());
        let calls = calls(&cells, &mounts, 1);
        let seen: Vec<_> = calls.iter().map(|each| (each.file, each.bytes)).collect();
        assert_eq!(seen, [(0, 4096), (1, 4096), (0, 65_536), (1, 65_536)]);
        let place = origin_of(&calls, &mounts, &sizes, 1);
        let places: Vec<_> = cells.iter().map(&place).collect();
        assert_eq!(places, [0, 1, 4, 2, 3, 5, 0].map(Some));
    }

    #[test]
    fn numbers_of_connections_are_compared_with_the_first_at_the_same_path_and_size() {
        let mount = |size, connections| NfsMount {
            largest: size,
            ..NfsMount::to_be(reads(NfsVersion::V42), Some(size), connections, String::new())
        };
        let mounts = [mount(4096, 1), mount(4096, 8), mount(65_536, 1), mount(65_536, 8)];
        let (calls_made, sizes) = ([reads(NfsVersion::V42)], [4096, 65_536]);
        let asked = Asked { connections: &[1, 8], ..asked(&calls_made, &sizes, &mounts) };
        let (cells, _) = asked.cells().unwrap();
        assert_eq!(
            compared(&cells),
            [
                ("4k 1 nfs-v4.2", None),
                ("4k 8 nfs-v4.2", Some("4k 1 nfs-v4.2")),
                ("4k sendfile", Some("4k 1 nfs-v4.2")),
                ("64k 1 nfs-v4.2", Some("4k 1 nfs-v4.2")),
                ("64k 8 nfs-v4.2", Some("64k 1 nfs-v4.2")),
                ("64k sendfile", Some("64k 1 nfs-v4.2")),
                ("4k 1 nfs-v4.2 (A/A)", None),
            ]
        );
        let calls = calls(&cells, &mounts, 1);
        let place = origin_of(&calls, &mounts, &sizes, 1);
        let places: Vec<_> = cells.iter().map(&place).collect();
        assert_eq!(places, [0, 1, 4, 2, 3, 5, 0].map(Some));
    }

    #[test]
    fn writes_of_both_kinds_have_no_reference_by_sendfile() {
        let calls_made = [
            NfsCall { operation: NfsOperation::Write, ..reads(NfsVersion::V3) },
            NfsCall { operation: NfsOperation::WriteSync, ..reads(NfsVersion::V3) },
        ];
        let mounts = mounts(&calls_made, 1 << 20);
        let asked = Asked { beside_sendfile: false, ..asked(&calls_made, &[4096], &mounts) };
        let (cells, _) = asked.cells().unwrap();
        assert_eq!(
            compared(&cells),
            [
                ("4k nfs-v3-write", None),
                ("4k nfs-v3-write-sync", Some("4k nfs-v3-write")),
                ("4k nfs-v3-write (A/A)", None),
            ]
        );
    }

    #[test]
    fn where_each_size_has_a_mount_of_its_own_another_size_than_was_asked_for_is_a_row() {
        let mount = |size, largest| NfsMount {
            largest,
            ..NfsMount::to_be(reads(NfsVersion::V3), Some(size), 1, String::new())
        };
        let mounts =
            [mount(3072, 2048), mount(4096, 4096), mount(5120, 4096), mount(65_536, 65_536)];
        let sizes = [3072, 4096, 5120, 65_536];
        let (cells, cannot) = asked(&[reads(NfsVersion::V3)], &sizes, &mounts).cells().unwrap();
        let calls = calls(&cells, &mounts, 1);
        let seen: Vec<_> = calls.iter().map(|each| (each.file, each.bytes)).collect();
        assert_eq!(seen, [(1, 4096), (3, 65_536)]);
        assert_eq!(cells[0].label, "4k nfs-v3");
        let Support::No(no) = &cannot[1].support else { panic!("{cannot:?}") };
        assert_eq!((cannot.len(), cannot[1].name.as_str()), (2, "5k nfs-v3"));
        assert_eq!(no.reason, "client and server agreed on READs of 4k");
        let place = origin_of(&calls, &mounts, &sizes, 1);
        let of = |label: &str| cells.iter().find(|cell| cell.label == label).and_then(&place);
        assert_eq!([of("64k nfs-v3"), of("4k sendfile"), of("64k sendfile")], [1, 3, 5].map(Some));
    }

    #[test]
    fn a_size_that_the_server_refuses_or_the_file_has_not_is_a_row_and_is_compared_with_nothing() {
        let calls_made = [reads(NfsVersion::V3)];
        let refusing = mounts(&calls_made, 4096);
        let (cells, cannot) = asked(&calls_made, &[4096, 65_536], &refusing).cells().unwrap();
        assert_eq!(cells.len(), 3, "{cells:?}");
        assert_eq!(cannot[0].name, "64k nfs-v3");
        let none = asked(&calls_made, &[65_536], &refusing).cells().unwrap_err();
        assert!(none.id == "reference-unavailable" && none.message.contains("4k"), "{none:?}");
        let allowing = mounts(&calls_made, 1 << 20);
        let short = Asked { file_bytes: 5000, ..asked(&calls_made, &[4096, 65_536], &allowing) };
        let (cells, cannot) = short.cells().unwrap();
        assert_eq!(cells.len(), 3, "{cells:?}");
        let Support::No(no) = &cannot[0].support else { panic!("{cannot:?}") };
        assert_eq!(no.reason, "the file has 5000 bytes");
    }
}
