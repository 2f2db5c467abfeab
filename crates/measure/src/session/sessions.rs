//! The sessions of a run: in each, state that outlives blocks is drawn anew.
//!
//! The places of the files, their mappings and their copy in memory, and the soakers, are drawn
//! once and then stay. Their effect on a path's cost is the same in every block, so that no
//! interval over blocks contains it: two runs of one machine differ by more than their intervals
//! say. Drawn anew every second, it is part of the scatter within one run.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use zc_rig::trial::Bench;
use zc_run::{Result, Severity, Warning};

/// Length of a session where the user gives no number of them. The more there are, the less an
/// interval over them is wider by chance: fifty in a minute cost 4 % of width, and drawing 40 ms
/// each as much of the time as costs another 2 %.
const LENGTH: Duration = Duration::from_secs(1);

/// A session is at least this many times as long as drawing takes: a slow disk must not take the
/// time of the blocks.
const BY_DRAWING: u32 = 20;

/// The session that a run is in, and when the next one begins.
#[derive(Debug)]
pub(super) struct Sessions {
    index: usize,
    /// `None` before the first block: however long that takes, the first session is not over by
    /// then.
    began: Option<Instant>,
    /// `None`: there is no further session.
    length: Option<Duration>,
    /// Whether the length may grow with the time that drawing takes.
    adapts: bool,
}

impl Sessions {
    /// The first session of a run with so much time left for its blocks.
    pub(super) fn new(asked: Option<NonZeroUsize>, left: Duration) -> Self {
        let length = match asked.map(NonZeroUsize::get) {
            None => Some(LENGTH),
            Some(1) => None,
            Some(asked) => Some(left.div_f64(asked as f64)),
        };
        Self { index: 0, began: None, length, adapts: asked.is_none() }
    }

    /// Counts from 0.
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Before a block: begins the first session, or the next one if it is due. Where nothing can be
    /// drawn there is no further one: the warning says why.
    pub(super) fn next(&mut self, rig: &mut dyn Bench) -> Option<Warning> {
        self.next_by(|| rig.redraw())
    }

    fn next_by(&mut self, draw: impl FnOnce() -> Result<()>) -> Option<Warning> {
        let begins = Instant::now();
        let Some(began) = self.began else {
            self.began = Some(begins);
            return None;
        };
        let length = self.length.filter(|length| begins - began >= *length)?;
        match draw() {
            Ok(()) => {
                self.index += 1;
                self.began = Some(Instant::now());
                if self.adapts {
                    self.length = Some(length.max(begins.elapsed() * BY_DRAWING));
                }
                None
            }
            Err(error) => {
                self.length = None;
                Some(not_drawn(self.index, &error.message))
            }
        }
    }
}

fn not_drawn(session: usize, why: &str) -> Warning {
    Warning::new(
        "one-session",
        Severity::Note,
        format!(
            "files and soakers were not drawn anew after session {}, and the rest of the run is \
             part of it: {why}",
            session + 1
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use zc_run::Error;

    fn sessions(asked: Option<usize>, left: Duration) -> Sessions {
        Sessions::new(asked.map(|asked| NonZeroUsize::new(asked).unwrap()), left)
    }

    /// In their first session.
    fn begun(mut sessions: Sessions) -> Sessions {
        assert_eq!(sessions.next_by(|| panic!("nothing is drawn before the first block")), None);
        assert_eq!(sessions.index(), 0);
        sessions
    }

    #[test]
    fn sessions_have_equal_shares_of_the_time_for_blocks() {
        let ten = sessions(Some(10), Duration::from_secs(50));
        assert_eq!(ten.length, Some(Duration::from_secs(5)));
        assert_eq!(sessions(None, Duration::from_secs(50)).length, Some(LENGTH));
    }

    #[test]
    fn one_session_lasts_for_the_whole_run() {
        let mut one = begun(sessions(Some(1), Duration::ZERO));
        assert_eq!(one.next_by(|| panic!("nothing is drawn")), None);
        assert_eq!(one.index(), 0);
    }

    #[test]
    fn a_session_begins_when_it_is_due_and_not_before() {
        let mut due = begun(sessions(Some(2), Duration::ZERO));
        assert_eq!(due.next_by(|| Ok(())), None);
        assert_eq!(due.index(), 1);
        let mut early = begun(sessions(Some(2), Duration::from_secs(3600)));
        assert_eq!(early.next_by(|| panic!("nothing is drawn")), None);
        assert_eq!(early.index(), 0);
    }

    #[test]
    fn where_drawing_takes_long_sessions_are_longer() {
        let mut slow = begun(Sessions { length: Some(Duration::ZERO), ..sessions(None, LENGTH) });
        let draw = Duration::from_millis(2);
        slow.next_by(|| {
            std::thread::sleep(draw);
            Ok(())
        });
        assert!(slow.length.unwrap() >= draw * BY_DRAWING);
    }

    #[test]
    fn what_cannot_be_drawn_is_a_note_and_the_session_goes_on() {
        let mut full = begun(sessions(Some(2), Duration::ZERO));
        let note = full.next_by(|| Err(Error::output("disk-full", "the disk is full"))).unwrap();
        assert_eq!(note.severity, Severity::Note);
        assert!(note.text.ends_with("of it: the disk is full"), "{}", note.text);
        assert_eq!(full.next_by(|| panic!("it is not tried again")), None);
        assert_eq!(full.index(), 0);
    }
}
