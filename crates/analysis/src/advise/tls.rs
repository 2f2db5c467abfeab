//! What TLS adds to a byte for the sender, by way of encrypting, from a run of `zc run tls`.
//!
//! A way is a call that encrypts and the call that is otherwise the same in the clear: what TLS
//! adds is the difference of their costs, in the same blocks. In user space there is one way,
//! whatever a server does in the clear: it needs the bytes in a buffer, to encrypt them
//! (`tls-write`, beside `read+send`). The kernel's TLS has two: from a buffer (`ktls-write`), and
//! from the file (`ktls-sendfile`, beside `sendfile`).

use super::log::observed;
use super::model::TlsUnfit;
use crate::account;
use crate::block_costs::BlockCosts;
use crate::bootstrap::Bootstrap;
use crate::cells;
use crate::controls::{Controls, Limits};
use crate::costs::{Side, cell_has_separate_costs, sender_alone};
use crate::kept::KeptBlocks;
use crate::model::verdict::Withheld;
use crate::parallel;
use zc_run::{Cell, Cipher, Plan, Run, SendPath};
use zc_stats::Wander;

/// The ways of encrypting, and what each does in the clear.
const WAYS: [(SendPath, SendPath); 3] = [
    (SendPath::TlsWrite, SendPath::ReadSend),
    (SendPath::KtlsWrite, SendPath::ReadSend),
    (SendPath::KtlsSendfile, SendPath::Sendfile),
];

/// Ciphers that are looked at unless one is named: those that servers and clients choose where the
/// CPU has instructions for AES.
const AES_GCM: [Cipher; 2] = [Cipher::Aes128Gcm, Cipher::Aes256Gcm];

/// What a run of `zc run tls` says that encryption costs the sender.
#[derive(Debug, Clone)]
pub(super) struct TlsCosts {
    pub(super) cipher: Cipher,
    /// In user space first.
    pub(super) ways: Vec<Way>,
    /// Ways that the run has no cost of.
    pub(super) missing: Vec<SendPath>,
    /// Kept blocks.
    pub(super) blocks: usize,
    pub(super) level: f64,
    pub(super) withheld: Vec<Withheld>,
    pub(super) limits: Limits,
    /// Wander of its costs and of its ratios.
    pub(super) costs: Option<Wander>,
    pub(super) ratios: Option<Wander>,
}

/// A way of encrypting.
#[derive(Debug, Clone)]
pub(super) struct Way {
    pub(super) path: SendPath,
    /// The call that is otherwise the same.
    pub(super) clear: SendPath,
    /// What it costs more a byte, in ns, in each resample of the run's blocks.
    pub(super) added_ns: Vec<Option<f64>>,
    /// The whole cost of a byte by it, in ns.
    pub(super) whole_ns: f64,
}

impl TlsCosts {
    /// Without a cipher the AES-GCM is taken that costs least.
    ///
    /// # Errors
    /// See [`TlsUnfit`].
    pub(super) fn from_run(
        run: &Run,
        cipher: Option<Cipher>,
        resamples: usize,
    ) -> Result<Self, TlsUnfit> {
        let plan = &run.header.plan;
        let in_user_space = encrypted(plan, SendPath::TlsWrite);
        if in_user_space.is_empty() {
            return Err(TlsUnfit::NotOfTls);
        }
        let is_wanted = |own: &Cipher| match cipher {
            Some(named) => *own == named,
            None => AES_GCM.contains(own),
        };
        let wanted: Vec<(usize, Cipher)> =
            in_user_space.iter().filter(|(_, own)| is_wanted(own)).copied().collect();
        let Some((first, _)) = wanted.first() else {
            return Err(TlsUnfit::NoSuchCipher(
                in_user_space.iter().map(|(_, own)| *own).collect(),
            ));
        };
        let side = if cell_has_separate_costs(&run.header, &plan.cells[*first].levels) {
            Side::Sender
        } else if sender_alone(&run.header) {
            Side::Both
        } else {
            return Err(TlsUnfit::SidesTogether);
        };

        let kept = KeptBlocks::from_run(run);
        // Drawn independently of the blocks of the other run, whose seed may be the same.
        let boot = Bootstrap::with_seed(&kept, resamples, plan.seed.rotate_left(32) ^ 0x54_4c53);
        let costs = BlockCosts::normalize(&kept, side, &boot);
        let drawn = |cell: usize| {
            let ns_per_byte = |times: &[u32]| Some(costs.drawn(cell, times)? / 1024.0);
            let at_level = boot.map_resamples(ns_per_byte).into_iter().zip(costs.relative_levels());
            at_level.map(|(ns, level)| Some(ns? * level?)).collect::<Vec<_>>()
        };
        let cheapest = wanted
            .iter()
            .filter_map(|(cell, cipher)| Some((observed(&drawn(*cell))?, *cell, *cipher)))
            .min_by(|(one, ..), (other, ..)| f64::total_cmp(one, other));
        let Some((_, cell, cipher)) = cheapest else { return Err(TlsUnfit::NoCosts) };

        let way = |path: SendPath, clear: SendPath| {
            let own = match path {
                SendPath::TlsWrite => cell,
                _ => encrypted(plan, path).into_iter().find(|(_, own)| *own == cipher)?.0,
            };
            let beside = in_the_clear(plan, clear, &plan.cells[own])?;
            let (with, without) = (drawn(own), drawn(beside));
            let difference =
                std::iter::zip(&with, without).map(|(with, without)| Some((*with)? - without?));
            let added_ns: Vec<Option<f64>> = difference.collect();
            observed(&added_ns)?;
            Some(Way { path, clear, added_ns, whole_ns: observed(&with)? })
        };
        let ways: Vec<Way> =
            WAYS.into_iter().filter_map(|(path, clear)| way(path, clear)).collect();
        if ways.first().is_none_or(|first| first.path != SendPath::TlsWrite) {
            return Err(TlsUnfit::NoCosts);
        }
        if ways[0].added_ns.len() < 2 {
            return Err(TlsUnfit::TooFewBlocks(kept.costs.len()));
        }
        let missing = WAYS.into_iter().map(|(path, _)| path);
        let missing = missing.filter(|path| ways.iter().all(|way| way.path != *path)).collect();
        let controls = Controls::from_blocks(&kept);
        let estimates = parallel::each(plan.cells.len(), |cell| cells::cell(&kept, cell));
        let account = account::blocks(run, kept.account);
        let verdict = crate::verdict::verdict(run, &kept, &estimates, &controls, &account);
        Ok(Self {
            cipher,
            missing,
            ways,
            blocks: kept.costs.len(),
            level: kept.level,
            withheld: verdict.withheld,
            limits: controls.limits(),
            costs: kept.wanders.costs(side),
            ratios: kept.wanders.ratios(side),
        })
    }

    /// Encryption in user space.
    pub(super) fn in_user_space(&self) -> &Way {
        &self.ways[0]
    }

    /// Encryption by the kernel, where the run has it.
    pub(super) fn by_the_kernel(&self) -> &[Way] {
        &self.ways[1..]
    }
}

/// The cells of a path that encrypts, with their ciphers.
fn encrypted(plan: &Plan, path: SendPath) -> Vec<(usize, Cipher)> {
    let records = |cell: &Cell| plan.fixed.at(&cell.levels).tls(cell.transfer);
    let cells = plan.cells.iter().enumerate().filter(|(_, cell)| is_of(cell, path));
    cells.filter_map(|(place, cell)| Some((place, records(cell)?.cipher))).collect()
}

/// The cell of a path in the clear, beside one that encrypts: with messages as long, if there is.
fn in_the_clear(plan: &Plan, path: SendPath, beside: &Cell) -> Option<usize> {
    let of_path = || plan.cells.iter().enumerate().filter(|(_, cell)| is_of(cell, path));
    let alike = |cell: &Cell| cell.levels.message_bytes == beside.levels.message_bytes;
    let found = of_path().find(|(_, cell)| alike(cell)).or_else(|| of_path().next());
    found.map(|(place, _)| place)
}

fn is_of(cell: &Cell, path: SendPath) -> bool {
    !cell.control && cell.transfer.send_path() == Some(path)
}
