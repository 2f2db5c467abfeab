//! Requests by minute, and the busiest ones. Logs are not sorted: requests are logged when they
//! end, files of one set are named in any order, and several hosts' logs follow one another. So
//! minutes stay open, and of a log that touches more of them than memory may hold, those that were
//! not touched for longest are closed.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::tally::Tally;

/// The most minutes of a generation; two are kept. Together they are a quarter of a year.
const GENERATION: usize = 1 << 16;

/// The longest duration that is spread over minutes: of a longer one, these are charged.
const MOST_MINUTES_OF_ONE: u64 = 60;

/// A minute in which there were requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Minute {
    /// Its beginning, in s since 1970.
    pub begin_unix_s: i64,
    /// Its responses, by the time that the log has of them.
    pub all: Tally,
    /// The time that requests spent in it, all together, in us. Divided by a minute it is the mean
    /// number of requests at a time. 0 where durations are not logged.
    pub busy_us: u64,
}

/// Summary of the minutes of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Minutes {
    /// Minutes with a request.
    pub count: u64,
    /// The one with most requests.
    pub most_requests: Minute,
    /// The one with most bytes.
    pub most_bytes: Minute,
    /// The one with most requests at a time; null where durations are not logged.
    pub most_busy: Option<Minute>,
    /// Minutes that were counted again after they had been closed, because more than 100,000 others
    /// lay between. Each may be busier than what is known of it.
    pub reopened: u64,
}

/// Minutes while they are being filled.
#[derive(Debug, Default)]
pub(super) struct OpenMinutes {
    /// The minute of the last request, since 1970, and what it has so far.
    last: Option<(i64, Load)>,
    young: HashMap<i64, Load>,
    old: HashMap<i64, Load>,
    closed: Option<Minutes>,
    /// The range of minutes that have been closed.
    closed_range: Option<(i64, i64)>,
    reopened: u64,
}

#[derive(Debug, Default, Clone, Copy)]
struct Load {
    all: Tally,
    busy_us: u64,
}

impl Load {
    fn merge(&mut self, other: Self) {
        self.all.merge(other.all);
        self.busy_us = self.busy_us.saturating_add(other.busy_us);
    }
}

impl OpenMinutes {
    /// Counts a response in the minute that its time is in.
    pub(super) fn add(&mut self, unix_s: i64, size_bytes: u64) {
        let load = self.open(unix_s.div_euclid(60));
        load.all.add(size_bytes);
    }

    /// Charges the minutes that a request took with what it spent in each.
    pub(super) fn add_duration(&mut self, begin_unix_us: i64, duration_us: u64) {
        const MINUTE_US: u64 = 60_000_000;
        let begin_us = begin_unix_us.max(0) as u64;
        let first = begin_us / MINUTE_US;
        let mut left_us = duration_us;
        let mut room_us = MINUTE_US - begin_us % MINUTE_US;
        for minute in first..first + MOST_MINUTES_OF_ONE {
            let spent_us = left_us.min(room_us);
            let load = self.open(minute as i64);
            load.busy_us = load.busy_us.saturating_add(spent_us);
            left_us -= spent_us;
            if left_us == 0 {
                return;
            }
            room_us = MINUTE_US;
        }
    }

    /// The minute's load so far, since it was last put away.
    fn open(&mut self, minute: i64) -> &mut Load {
        if let Some((last, load)) = self.last.take_if(|(last, _)| *last != minute) {
            self.store(last, load);
        }
        &mut self.last.get_or_insert((minute, Load::default())).1
    }

    fn store(&mut self, minute: i64, load: Load) {
        if let Some(known) = self.young.get_mut(&minute) {
            known.merge(load);
            return;
        }
        let mut load = load;
        match self.old.remove(&minute) {
            Some(known) => load.merge(known),
            None => {
                let was_closed =
                    self.closed_range.is_some_and(|(from, to)| (from..=to).contains(&minute));
                self.reopened += u64::from(was_closed);
            }
        }
        self.young.insert(minute, load);
        if self.young.len() == GENERATION {
            let old = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
            self.close(old);
        }
    }

    fn close(&mut self, minutes: HashMap<i64, Load>) {
        for (minute, load) in minutes {
            let (from, to) = self.closed_range.unwrap_or((minute, minute));
            self.closed_range = Some((from.min(minute), to.max(minute)));
            let Load { all, busy_us } = load;
            let minute = Minute { begin_unix_s: minute * 60, all, busy_us };
            // A minute in which a request only went on has none of its own.
            let count = u64::from(all.requests > 0);
            let busy = (busy_us > 0).then_some(minute);
            let Some(known) = &mut self.closed else {
                self.closed = Some(Minutes {
                    count,
                    most_requests: minute,
                    most_bytes: minute,
                    most_busy: busy,
                    reopened: 0,
                });
                continue;
            };
            known.count += count;
            // The earliest of equal minutes, whatever the order.
            let is_more = |than: &Minute, of: fn(&Minute) -> u64| {
                let earlier = minute.begin_unix_s < than.begin_unix_s;
                of(&minute) > of(than) || (of(&minute) == of(than) && earlier)
            };
            if is_more(&known.most_requests, |minute| minute.all.requests) {
                known.most_requests = minute;
            }
            if is_more(&known.most_bytes, |minute| minute.all.bytes) {
                known.most_bytes = minute;
            }
            if busy.is_some()
                && known.most_busy.is_none_or(|most| is_more(&most, |minute| minute.busy_us))
            {
                known.most_busy = busy;
            }
        }
    }

    /// `None` if there were no requests.
    pub(super) fn finish(mut self) -> Option<Minutes> {
        if let Some((minute, load)) = self.last.take() {
            self.store(minute, load);
        }
        let (old, young) = (std::mem::take(&mut self.old), std::mem::take(&mut self.young));
        self.close(old);
        self.close(young);
        self.closed.map(|minutes| Minutes { reopened: self.reopened, ..minutes })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn count(requests: &[(i64, u64)]) -> Minutes {
        let mut minutes = OpenMinutes::default();
        requests.iter().for_each(|(unix_s, bytes)| minutes.add(*unix_s, *bytes));
        minutes.finish().unwrap()
    }

    #[test]
    fn the_busiest_minute_is_found_in_any_order() {
        let minutes = count(&[(0, 1), (600, 1), (61, 1), (1, 1), (660, 9), (59, 1), (62, 1)]);
        let all = |requests, bytes| Tally { requests, bytes };
        assert_eq!(minutes.count, 4);
        assert_eq!((minutes.most_requests.begin_unix_s, minutes.most_requests.all), (0, all(3, 3)));
        assert_eq!((minutes.most_bytes.begin_unix_s, minutes.most_bytes.all), (660, all(1, 9)));
        assert_eq!((minutes.most_busy, minutes.reopened), (None, 0));
    }

    #[test]
    fn time_is_charged_to_the_minutes_that_a_request_took() {
        let mut minutes = OpenMinutes::default();
        minutes.add(100, 1);
        minutes.add_duration(30_000_000, 100_000_000);
        minutes.add_duration(65_000_000, 1_000_000);
        let minutes = minutes.finish().unwrap();
        let busiest = minutes.most_busy.unwrap();
        assert_eq!((busiest.begin_unix_s, busiest.busy_us), (60, 61_000_000));
        assert_eq!(minutes.count, 1);
        // A duration of a thousand years is not walked through.
        let mut minutes = OpenMinutes::default();
        minutes.add_duration(i64::MAX, u64::MAX);
        assert_eq!(minutes.finish().unwrap().most_busy.unwrap().busy_us, 60_000_000);
    }

    #[test]
    fn of_more_minutes_than_are_kept_the_busiest_is_known() {
        let mut minutes = OpenMinutes::default();
        let count = 5 * GENERATION as i64;
        // Its second half comes when it is of the old generation.
        let busiest = GENERATION as i64 - 2;
        for minute in 0..count {
            let requests = if minute == busiest { 3 } else { 1 };
            (0..requests).for_each(|_| minutes.add(60 * minute, 1));
            // The one before ends later.
            minutes.add(60 * (minute - 1).max(0), 1);
            assert!(minutes.young.len() + minutes.old.len() <= 2 * GENERATION);
        }
        let found = minutes.finish().unwrap();
        assert_eq!((found.count, found.reopened), (count as u64, 0));
        assert_eq!(found.most_requests.begin_unix_s, 60 * busiest);
        assert_eq!(found.most_requests.all.requests, 4);
    }

    #[test]
    fn a_minute_that_comes_back_after_months_is_counted_as_such() {
        let mut minutes = OpenMinutes::default();
        (0..3 * GENERATION as i64).for_each(|minute| minutes.add(60 * minute, 1));
        minutes.add(0, 1);
        assert_eq!(minutes.finish().unwrap().reopened, 1);
    }

    proptest! {
        #[test]
        fn the_order_makes_no_difference(
            mut requests in prop::collection::vec((0..3000_i64, 0..9_u64), 1..200),
        ) {
            let as_they_came = count(&requests);
            requests.sort_unstable();
            prop_assert_eq!(count(&requests), as_they_came);
        }
    }
}
