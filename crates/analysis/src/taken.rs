//! CPU time taken from the CPUs in one window, and the side whose cost it is.
//!
//! Interrupts that arrive while another program has a CPU are in that program's clock alone. They
//! arrive as often as while the soaker has it. So what they took from the soakers of a cell, as a
//! share of the soakers' time, shows what they took from other programs. In a single window a
//! soaker may hardly have run, so the share is taken over the blocks around it: not over all, as
//! the machine changes within seconds.

use crate::division::per;
use crate::losses::Losses;
use zc_stats::median;

/// Blocks on either side whose soakers say how much time interrupts take: with them, some seven
/// seconds of a run with all paths.
const REACH: usize = 7;

/// The least share of the time that the traffic left over which the soakers of a CPU must have had
/// in these blocks: what they lost in less says little about what others lost in the rest.
pub(crate) const LEAST_SHARE: f64 = 0.05;

/// Longest delay with which a reader that other programs keep from its CPU closes a window: more
/// than the scheduling delays of a loaded machine.
const LATE_NS: f64 = 250e6;

/// The side that CPU time was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    Sender,
    Receiver,
    /// The two of them together, where they have no separate costs.
    Both,
    OtherCpus,
}

/// CPU time that was taken from a set of CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct TakenFrom {
    /// The part that is known directly: the clocks of the traffic's threads and of ksoftirqd, and
    /// what interrupts took from the soakers; by wall time all that the soakers lost.
    pub(crate) known_ns: f64,
    /// Time that interrupts took from the soakers.
    pub(crate) interrupts_ns: f64,
    /// CPU time of the soakers, `interrupts_ns` included.
    pub(crate) soakers_ns: f64,
    /// CPU time of other programs, with what interrupts took from them; by wall time 0.
    pub(crate) others_ns: f64,
    /// Time in which zc was stopped, which is in none of the others.
    pub(crate) stopped_ns: f64,
    /// Time that neither the traffic nor the soakers had: `others_ns` and what the hypervisor took.
    pub(crate) left_ns: f64,
    /// The same beyond what that was in idle windows; by wall time 0. It includes steal: its ticks
    /// are longer than most windows, and it takes as much from idle ones.
    pub(crate) beyond_idle_ns: f64,
}

impl TakenFrom {
    pub(crate) fn add(&mut self, more: &Self) {
        self.known_ns += more.known_ns;
        self.interrupts_ns += more.interrupts_ns;
        self.soakers_ns += more.soakers_ns;
        self.others_ns += more.others_ns;
        self.stopped_ns += more.stopped_ns;
        self.left_ns += more.left_ns;
        self.beyond_idle_ns += more.beyond_idle_ns;
    }

    /// The same in a window that is `by` times as long.
    pub(crate) fn times(self, by: f64) -> Self {
        Self {
            known_ns: self.known_ns * by,
            interrupts_ns: self.interrupts_ns * by,
            soakers_ns: self.soakers_ns * by,
            others_ns: self.others_ns * by,
            stopped_ns: self.stopped_ns * by,
            left_ns: self.left_ns * by,
            beyond_idle_ns: self.beyond_idle_ns * by,
        }
    }

    /// See [`Taken::others_share`].
    fn others_share(&self) -> f64 {
        // `known_ns` has `interrupts_ns`, which are in `soakers_ns` too.
        let away_ns = self.others_ns + self.stopped_ns;
        let all_ns = self.known_ns - self.interrupts_ns + self.soakers_ns + away_ns;
        per(away_ns, all_ns).map_or(0.0, |share| share.clamp(0.0, 1.0))
    }

    /// The known time, plus what interrupts took from other programs, estimated by what they took
    /// from the soakers in the windows `around`: this one and its neighbours, added up. `None`
    /// where these soakers hardly ran.
    ///
    /// That is `interrupts / soakers` of all of them times this window's `others`. A share of what
    /// this window's soakers lost beyond that is added: 0 on average, it makes costs scatter by as
    /// much as that quotient is uncertain (the delta method). Where soakers have the same share of
    /// each window, it is the same as to scale each window by itself.
    fn settled_ns(&self, around: &Self) -> Option<f64> {
        let left_ns = around.soakers_ns + around.others_ns;
        if around.soakers_ns < LEAST_SHARE * left_ns {
            return None;
        }
        if around.soakers_ns <= 0.0 {
            return Some(self.known_ns);
        }
        let share = around.interrupts_ns / around.soakers_ns;
        let others_by_soakers = around.others_ns / around.soakers_ns;
        let beyond_ns = self.interrupts_ns - share * self.soakers_ns;
        Some(self.known_ns + share * self.others_ns + others_by_soakers * beyond_ns)
    }

    /// CPU time that other tasks used beyond what they use in idle windows, without what interrupts
    /// took from them, which is in [`settled_ns`](Self::settled_ns).
    fn unattributed_ns(&self, around: &Self) -> Option<f64> {
        // None come in time that the hypervisor took, which is too little here by that much. It is
        // known in ticks alone, whose noise would be in all windows around alike.
        let share = per(around.interrupts_ns, around.soakers_ns).unwrap_or(0.0);
        Some(self.beyond_idle_ns - share * self.left_ns)
    }
}

/// CPU time taken in one window.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Taken {
    /// Length of the window, above 0.
    pub(crate) window_ns: f64,
    /// Time by set of CPUs: the same sets in all windows of a cell.
    pub(crate) parts: Vec<(For, TakenFrom)>,
}

impl Taken {
    /// The share of the time of CPUs, other than those that only [`For::OtherCpus`] has, which
    /// other programs used, or in which zc was stopped: of the set with the largest. From 0 to 1.
    pub(crate) fn others_share(&self) -> f64 {
        let own = self.parts.iter().filter(|(side, _)| *side != For::OtherCpus);
        own.map(|(_, part)| part.others_share()).fold(0.0, f64::max)
    }
}

/// CPU time lost in the windows of one cell, by block. `None` where it is not known.
///
/// A window much longer than the others is of a process that was stopped while other programs had
/// the CPUs. The traffic did not interrupt them, so the window is used for no cost, its own or its
/// neighbours'.
pub(crate) fn losses(windows: &[Option<&Taken>]) -> Vec<Option<Losses>> {
    by_block(windows, TakenFrom::settled_ns)
}

/// CPU time that other tasks used in the windows of one cell beyond what they used in the idle
/// windows beside them, by block.
pub(crate) fn unattributed(windows: &[Option<&Taken>]) -> Vec<Option<Losses>> {
    by_block(windows, TakenFrom::unattributed_ns)
}

/// `ns` of each window's parts and of these parts in the blocks around it, which are added up.
fn by_block(
    windows: &[Option<&Taken>],
    ns: fn(&TakenFrom, &TakenFrom) -> Option<f64>,
) -> Vec<Option<Losses>> {
    let lengths: Vec<f64> = windows.iter().flatten().map(|window| window.window_ns).collect();
    let longest_ns = median(&lengths).map_or(f64::INFINITY, |usual| 2.0 * usual + LATE_NS);
    let is_usual = |window: &&Taken| window.window_ns <= longest_ns;
    let windows: Vec<Option<&Taken>> =
        windows.iter().map(|window| window.filter(is_usual)).collect();
    let of_block = |at: usize| {
        let window = windows[at]?;
        let near = &windows[at.saturating_sub(REACH)..windows.len().min(at + REACH + 1)];
        let of_part = |place: usize| {
            let mut around = TakenFrom::default();
            let same = near.iter().flatten().filter_map(|window| window.parts.get(place));
            same.for_each(|(_, part)| around.add(part));
            ns(&window.parts[place].1, &around)
        };
        losses_of_sides(window, of_part)
    };
    (0..windows.len()).map(of_block).collect()
}

/// Adds up what was taken by side. `None` where the cost of an end is not known.
fn losses_of_sides(window: &Taken, ns: impl Fn(usize) -> Option<f64>) -> Option<Losses> {
    let mut losses = Losses {
        window_ns: window.window_ns,
        sender_ns: None,
        receiver_ns: None,
        both_ns: 0.0,
        other_cpus_ns: None,
    };
    for (place, (side, _)) in window.parts.iter().enumerate() {
        let side = match side {
            // Without it the cost is what it is.
            For::OtherCpus => {
                losses.other_cpus_ns = ns(place);
                continue;
            }
            For::Sender => Some(&mut losses.sender_ns),
            For::Receiver => Some(&mut losses.receiver_ns),
            For::Both => None,
        };
        let ns = ns(place)?;
        losses.both_ns += ns;
        if let Some(side) = side {
            *side.get_or_insert(0.0) += ns;
        }
    }
    Some(losses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(part: TakenFrom) -> Taken {
        Taken { window_ns: 100.0, parts: vec![(For::Sender, part)] }
    }

    fn both_ns(windows: &[Taken]) -> Vec<Option<f64>> {
        let windows: Vec<Option<&Taken>> = windows.iter().map(Some).collect();
        losses(&windows).into_iter().map(|found| Some(found?.both_ns)).collect()
    }

    /// A tenth of what is left over goes to interrupts, wherever they find it.
    fn part(soakers_ns: f64, others_ns: f64) -> TakenFrom {
        let interrupts_ns = soakers_ns / 10.0;
        let known_ns = 40.0 + interrupts_ns;
        TakenFrom {
            known_ns,
            interrupts_ns,
            soakers_ns,
            others_ns,
            left_ns: others_ns,
            beyond_idle_ns: others_ns,
            ..TakenFrom::default()
        }
    }

    #[test]
    fn what_interrupts_take_from_others_is_the_share_that_they_take_from_soakers() {
        let windows =
            [part(60.0, 0.0), part(45.0, 15.0), part(0.0, 60.0), part(30.0, 30.0)].map(window);
        for found in both_ns(&windows) {
            assert!((found.unwrap() - 46.0).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn what_interrupts_take_from_others_is_no_work_of_others() {
        let windows = [part(60.0, 0.0), part(45.0, 15.0), part(30.0, 30.0)].map(window);
        let windows: Vec<Option<&Taken>> = windows.iter().map(Some).collect();
        let found: Vec<f64> =
            unattributed(&windows).into_iter().map(|found| found.unwrap().both_ns).collect();
        let near = |at: usize, ns: f64| (found[at] - ns).abs() < 1e-9;
        assert!(near(0, 0.0) && near(1, 0.9 * 15.0) && near(2, 0.9 * 30.0), "{found:?}");
    }

    #[test]
    fn soakers_that_hardly_ran_tell_no_cost() {
        let hardly = |share: f64| vec![window(part(60.0 * share, 60.0 * (1.0 - share))); 20];
        assert!(both_ns(&hardly(0.06)).iter().all(Option::is_some));
        assert!(both_ns(&hardly(0.04)).iter().all(Option::is_none));
        // Blocks that are far away say nothing of it.
        let mut windows = hardly(0.0);
        windows.extend(hardly(1.0));
        let found = both_ns(&windows);
        assert!(found[..13].iter().all(Option::is_none), "{found:?}");
        assert!(found[20..].iter().all(Option::is_some), "{found:?}");
    }

    #[test]
    fn costs_scatter_by_what_the_share_of_interrupts_is_uncertain() {
        // Half of the windows tell nothing of interrupts: their costs are those of the others.
        let windows: Vec<Taken> = (0..15)
            .map(|at| {
                let noise = if at % 4 == 0 { 2.0 } else { -2.0 };
                let mut part = if at % 2 == 0 { part(60.0, 0.0) } else { part(0.0, 60.0) };
                if at % 2 == 0 {
                    part.interrupts_ns += noise;
                    part.known_ns += noise;
                }
                window(part)
            })
            .collect();
        let found: Vec<f64> = both_ns(&windows).into_iter().map(Option::unwrap).collect();
        let near = |at: usize, ns: f64| (found[at] - ns).abs() < 1.0;
        // All blocks are neighbours of the middle one: 7 windows with others, 8 without.
        assert!(near(6, 40.0 + 6.0 - 2.0 - 2.0 * 7.0 / 8.0), "{found:?}");
        assert!(near(8, 40.0 + 6.0 + 2.0 + 2.0 * 7.0 / 8.0), "{found:?}");
        let mean = found.iter().sum::<f64>() / 15.0;
        assert!((mean - 46.0).abs() < 0.5, "{found:?}");
    }

    #[test]
    fn the_share_of_others_is_that_of_the_cpu_that_they_use_most() {
        let parts = vec![
            (For::Sender, part(45.0, 15.0)),
            (For::Receiver, part(60.0, 0.0)),
            (For::OtherCpus, part(0.0, 60.0)),
        ];
        assert!((Taken { window_ns: 100.0, parts }.others_share() - 0.15).abs() < 1e-9);
        let by_wall = TakenFrom { known_ns: 30.0, ..TakenFrom::default() };
        assert_eq!(window(by_wall).others_share(), 0.0);
        // Ticks of steal may leave less than nothing.
        assert_eq!(window(part(70.0, -10.0)).others_share(), 0.0);
    }

    #[test]
    fn parts_add_up_by_side() {
        let part = |known_ns| TakenFrom { known_ns, ..TakenFrom::default() };
        let parts = vec![
            (For::Sender, part(1.0)),
            (For::Receiver, part(2.0)),
            (For::Both, part(4.0)),
            (For::OtherCpus, part(8.0)),
        ];
        let window = Taken { window_ns: 100.0, parts };
        let found = losses(&[None, Some(&window)]);
        assert_eq!(found[0], None);
        let found = found[1].unwrap();
        assert_eq!((found.sender_ns, found.receiver_ns), (Some(1.0), Some(2.0)));
        assert_eq!((found.both_ns, found.other_cpus_ns), (7.0, Some(8.0)));
    }
}
