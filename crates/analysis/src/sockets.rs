//! State of the sockets of a cell's flows, whatever was asked for, as its soaked windows closed.

use std::collections::BTreeSet;

use crate::kept::KeptBlocks;
use crate::model::cell::SocketState;
use zc_run::{Cell, SocketFacts, TcpReading, Trial, TrialKind};

/// Medians over the soaked windows of kept blocks; each name of a congestion control once.
pub(super) fn state(kept: &KeptBlocks, cell: &Cell) -> SocketState {
    let trials: Vec<&Trial> =
        kept.trials(&cell.label, TrialKind::Soaked).map(|(_, trial)| trial).collect();
    let facts = |of: &dyn Fn(&SocketFacts) -> Option<u64>| {
        middle(trials.iter().filter_map(|trial| of(trial.sockets.as_ref()?)).collect())
    };
    let tcp = |of: fn(&TcpReading) -> u32| {
        let each = trials.iter().filter_map(|trial| trial.closed.tcp.as_ref());
        middle(each.map(|tcp| u64::from(of(tcp))).filter(|number| *number > 0).collect())
    };
    let names: BTreeSet<&str> = trials
        .iter()
        .filter_map(|trial| trial.sockets.as_ref())
        .map(|sockets| sockets.congestion.as_str())
        .collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    SocketState {
        congestion: (!names.is_empty()).then_some(names),
        mss_bytes: tcp(|tcp| tcp.snd_mss),
        cwnd_packets: tcp(|tcp| tcp.snd_cwnd),
        ssthresh_packets: facts(&|it| it.snd_ssthresh_packets.map(u64::from)),
        sndbuf_bytes: facts(&|it| Some(it.sndbuf_bytes as u64)),
        rcvbuf_bytes: facts(&|it| it.rcvbuf_bytes.map(|bytes| bytes as u64)),
        rcv_ssthresh_bytes: facts(&|it| it.rcv_ssthresh_bytes.map(u64::from)),
        pacing_bytes_per_s: facts(&|it| it.pacing_bytes_per_s),
    }
}

/// The number in the middle, which is one of them.
fn middle(mut numbers: Vec<u64>) -> Option<u64> {
    numbers.sort_unstable();
    numbers.get(numbers.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::Slot;
    use zc_testkit::synthetic::Synthetic;

    #[test]
    fn the_state_is_that_in_the_middle_of_the_soaked_windows() {
        let mut run = Synthetic::default().run();
        let state_of =
            |run: &zc_run::Run| state(&KeptBlocks::from_run(run), &run.header.plan.cells[0]);
        assert_eq!(state_of(&run), SocketState::default());
        let label = run.header.plan.cells[0].label.clone();
        for (block, place) in run.blocks.iter_mut().zip(0_u32..) {
            for slot in &mut block.slots {
                let Slot::Trial(trial) = slot else { continue };
                // What is not soaked, and other cells, count for nothing.
                let odd = if trial.kind == TrialKind::Soaked { 0 } else { 1_000_000 };
                let odd = odd + if trial.cell == label { 0 } else { 1_000_000 };
                trial.closed.tcp.as_mut().unwrap().snd_cwnd = place + 1 + odd;
                trial.sockets = Some(SocketFacts {
                    congestion: "cubic".to_owned(),
                    pacing_bytes_per_s: None,
                    snd_ssthresh_packets: (place > 0).then_some(7 + odd),
                    sndbuf_bytes: 87_040,
                    rcvbuf_bytes: None,
                    rcv_ssthresh_bytes: Some(place + odd),
                });
            }
        }
        let found = state_of(&run);
        let last = run.blocks.len() as u64;
        assert_eq!(found.congestion.as_deref(), Some("cubic"));
        assert_eq!((found.cwnd_packets, found.ssthresh_packets), (Some(last / 2 + 1), Some(7)));
        assert_eq!((found.sndbuf_bytes, found.rcvbuf_bytes), (Some(87_040), None));
        assert_eq!(found.rcv_ssthresh_bytes, Some(last / 2));
        assert_eq!(found.mss_bytes, None, "0 was not read");
    }
}
