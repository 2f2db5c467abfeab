//! Draws a mix from logs of any length, in bounded memory: the kinds are counted, and of the sizes
//! of files and ranges some ten thousand are kept, each of the log with the same chance.

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64Mcg;

use super::asked_mix::{Asked, AskedKind, AskedMix, AskedOptions, Cut, LeftOut, Source, Spoken};
use super::sample::Sample;
use super::strata::{apportion, representatives};
use crate::entry::{Entry, Method, Stamp};
use crate::mix::RequestMix;
use crate::reader::Collect;

/// A mix that is being drawn. Entries may come from any number of logs.
#[derive(Debug)]
pub struct MixDraw {
    options: AskedOptions,
    of: [u64; AskedKind::ALL.len()],
    left_out: LeftOut,
    files: Sample,
    ranges: Sample,
    random: Pcg64Mcg,
    /// Requests whose place on their connection is known, and those that were the first.
    of_connections: (u64, u64),
}

impl MixDraw {
    /// The same seed draws the same mix from the same logs.
    pub fn new(options: AskedOptions) -> Self {
        Self {
            options,
            of: [0; AskedKind::ALL.len()],
            left_out: LeftOut::default(),
            files: Sample::new(options.longest_bytes),
            ranges: Sample::new(options.longest_bytes),
            random: Pcg64Mcg::seed_from_u64(options.seed),
            of_connections: (0, 0),
        }
    }

    /// The mix; `log` is what was counted of the same entries.
    ///
    /// # Errors
    /// No request of the log is one that can be sent once more: what they are.
    pub fn finish(self, log: &RequestMix) -> Result<AskedMix, LeftOut> {
        let Self { options, of, left_out, files, ranges, mut random, of_connections } = self;
        let cut = Cut::from([&files, &ranges]);
        let mut drawn = Drawn::new(&options, files.into_sizes(), ranges.into_sizes());
        // Without a file there is none that has not been modified: the length makes no difference.
        if drawn.files.is_empty() && of != [0; AskedKind::ALL.len()] {
            drawn.files = vec![0];
        }
        let requests = drawn.requests(of, &mut random);
        if requests.is_empty() {
            return Err(left_out);
        }
        let longest_bytes = options.longest_bytes;
        let (known, first) = of_connections;
        let requests_per_connection = (first > 0).then(|| known as f64 / first as f64);
        let spoken = Spoken { requests_per_connection, ..Spoken::from(log) };
        Ok(AskedMix { source: Source::Log, requests, of, left_out, longest_bytes, cut, spoken })
    }

    fn count(&mut self, kind: AskedKind) {
        self.of[kind as usize] += 1;
    }
}

impl Collect for MixDraw {
    fn add(&mut self, entry: &Entry, _stamp: Stamp) {
        let size = entry.bytes.size().map(|(size_bytes, _)| size_bytes);
        self.of_connections.0 += u64::from(entry.of_connection.is_some());
        self.of_connections.1 += u64::from(entry.of_connection == Some(1));
        let out = &mut self.left_out;
        match (entry.method, entry.status, size) {
            (Method::Get, Some(200), Some(size_bytes)) => {
                self.files.add(size_bytes, &mut self.random);
                self.count(AskedKind::Get);
            }
            // No byte is a range that can be asked for.
            (Method::Get, Some(206), Some(size_bytes @ 1..)) => {
                self.ranges.add(size_bytes, &mut self.random);
                self.count(AskedKind::Range);
            }
            (Method::Get, Some(304), _) => self.count(AskedKind::NotModified),
            (Method::Head, Some(200), _) => self.count(AskedKind::Head),
            (Method::Get | Method::Head, status, _) => match status {
                Some(200 | 206) => out.unmeasured += 1,
                Some(300..=399) => out.redirects += 1,
                Some(400..=499) => out.client_errors += 1,
                Some(500..=599) => out.server_errors += 1,
                _ => out.others += 1,
            },
            _ => out.other_methods += 1,
        }
    }
}

/// The sizes that requests are made from.
pub(super) struct Drawn {
    count: usize,
    /// In order.
    pub(super) files: Vec<u64>,
    ranges: Vec<u64>,
}

impl Drawn {
    pub(super) fn new(options: &AskedOptions, mut files: Vec<u64>, mut ranges: Vec<u64>) -> Self {
        files.sort_unstable();
        ranges.sort_unstable();
        Self { count: options.count, files, ranges }
    }

    /// A cycle of requests in which kinds have these weights. A log does not say how long a file is
    /// of which nothing was sent: these are as long as those that were.
    pub(super) fn requests(
        &self,
        weights: [u64; AskedKind::ALL.len()],
        random: &mut Pcg64Mcg,
    ) -> Vec<Asked> {
        let counts = apportion(self.count, weights);
        let mut requests = Vec::with_capacity(self.count);
        for (kind, count) in AskedKind::ALL.into_iter().zip(counts) {
            let sizes = if kind == AskedKind::Range { &self.ranges } else { &self.files };
            let sizes = representatives(sizes, count).into_iter();
            requests.extend(sizes.map(|bytes| Asked { kind, bytes }));
        }
        requests.shuffle(random);
        longest_earlier(&mut requests);
        requests
    }
}

/// Moves the longest tenth out of the last third, so that the last responses of a cycle have come
/// soon after it: what is measured is whole cycles.
fn longest_earlier(requests: &mut [Asked]) {
    let mut sizes: Vec<u64> = requests.iter().map(|asked| asked.bytes).collect();
    sizes.sort_unstable();
    let Some(longest) = sizes.get(sizes.len() * 9 / 10).copied() else { return };
    let end = requests.len() * 2 / 3;
    let mut earlier = (0..end).collect::<Vec<_>>();
    earlier.retain(|at| requests[*at].bytes < longest);
    let late: Vec<usize> =
        (end..requests.len()).filter(|at| requests[*at].bytes >= longest).collect();
    for (late, early) in late.into_iter().zip(earlier) {
        requests.swap(late, early);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sample::KEPT;
    use super::*;
    use crate::entry::{Bytes, Protocol};
    use crate::mix::MixBuilder;
    use crate::reader::read_log;
    use crate::time::Moment;

    fn entry(method: Method, status: u16, size_bytes: Option<u64>) -> Entry {
        Entry {
            time: Moment { unix_ms: 0, offset_s: None },
            method,
            status: Some(status),
            bytes: Bytes { body: size_bytes, ..Bytes::default() },
            duration_us: None,
            protocol: None,
            is_tls: None,
            of_connection: None,
        }
    }

    fn draw(
        entries: impl IntoIterator<Item = Entry>,
        options: AskedOptions,
    ) -> Result<AskedMix, LeftOut> {
        let mut both = (MixBuilder::default(), MixDraw::new(options));
        entries.into_iter().for_each(|entry| both.add(&entry, Stamp::End));
        both.1.finish(&both.0.finish().unwrap())
    }

    #[test]
    fn the_last_third_of_a_cycle_has_none_of_the_longest_responses() {
        let sizes = (1..=1000).map(|bytes| entry(Method::Get, 200, Some(bytes)));
        let mix = draw(sizes, usual()).unwrap();
        let of = |part: &[Asked]| part.iter().map(|asked| asked.bytes).max().unwrap();
        let (early, late) = mix.requests.split_at(256 * 2 / 3);
        assert!(of(early) > 990 && of(late) < 905, "{} {}", of(early), of(late));
    }

    fn usual() -> AskedOptions {
        AskedOptions::usual(7)
    }

    #[test]
    fn a_real_log_has_its_kinds_and_bytes_in_256_requests() {
        let log = include_bytes!("../../testdata/elastic-examples.log");
        let mut both = (MixBuilder::default(), MixDraw::new(usual()));
        read_log(&log[..], None, &mut both).unwrap();
        let log = both.0.finish().unwrap();
        let mix = both.1.finish(&log).unwrap();
        assert_eq!(mix.requests.len(), 256);
        let all = mix.of.iter().sum::<u64>() + mix.left_out.total();
        assert_eq!(all, log.all.requests);
        for kind in AskedKind::ALL {
            let off = mix.count_of(kind) as f64 - 256.0 * mix.share_of(kind);
            assert!(off.abs() < 1.0, "{kind:?} {off}");
        }
        let sent: u64 = mix
            .requests
            .iter()
            .filter(|asked| asked.kind == AskedKind::Get)
            .map(|asked| asked.bytes)
            .sum();
        let gets = mix.count_of(AskedKind::Get) as f64;
        let whole = log.classes.whole;
        let mean = (whole.bytes as f64 * (1.0 - mix.cut.bytes)) / whole.requests as f64;
        let ratio = sent as f64 / gets / mean;
        assert!((0.97..1.03).contains(&ratio), "{ratio} {mix:?}");
        assert!(mix.requests.iter().all(|asked| asked.bytes <= 1 << 20));
    }

    #[test]
    fn what_cannot_be_sent_once_more_is_left_out_by_its_reason() {
        let mix = draw(
            [
                entry(Method::Get, 200, Some(10)),
                entry(Method::Get, 304, None),
                entry(Method::Get, 206, Some(5)),
                entry(Method::Head, 200, Some(0)),
                entry(Method::Post, 200, Some(9)),
                entry(Method::Options, 404, Some(9)),
                entry(Method::Get, 301, Some(9)),
                entry(Method::Head, 304, Some(0)),
                entry(Method::Get, 404, Some(9)),
                entry(Method::Head, 403, Some(0)),
                entry(Method::Get, 502, Some(9)),
                entry(Method::Get, 200, None),
                entry(Method::Get, 206, Some(0)),
                entry(Method::Get, 204, Some(0)),
                Entry { status: None, ..entry(Method::Get, 200, Some(9)) },
            ],
            AskedOptions { count: 4, ..usual() },
        )
        .unwrap();
        let left_out = LeftOut {
            other_methods: 2,
            redirects: 2,
            client_errors: 2,
            server_errors: 1,
            unmeasured: 2,
            others: 2,
        };
        assert_eq!((mix.left_out, mix.of), (left_out, [1; 4]));
        assert_eq!((left_out.total(), mix.share_left_out()), (11, 11.0 / 15.0));
        let mut requests = mix.requests.clone();
        requests.sort_unstable();
        let bytes = [10, 10, 10, 5];
        let all = AskedKind::ALL.into_iter().zip(bytes).map(|(kind, bytes)| Asked { kind, bytes });
        assert_eq!(requests, all.collect::<Vec<_>>());
        assert_eq!(mix.body_bytes(), 15);

        let fewer = mix.without(AskedKind::Range).unwrap();
        assert_eq!((fewer.requests.len(), fewer.body_bytes(), fewer.of), (3, 10, [1, 1, 1, 0]));
        assert_eq!((fewer.left_out.others, fewer.share_left_out()), (3, 12.0 / 15.0));
        let none = AskedKind::ALL.into_iter().try_fold(mix, |mix, kind| mix.without(kind));
        assert_eq!(none, None);
    }

    #[test]
    fn a_log_of_which_nothing_can_be_sent_says_what_it_has() {
        let posts = [entry(Method::Post, 200, Some(9)), entry(Method::Get, 404, Some(9))];
        let left_out = draw(posts, usual()).unwrap_err();
        assert_eq!((left_out.other_methods, left_out.client_errors, left_out.total()), (1, 1, 2));
        // Of a log of 304 alone, the files are unknown.
        let mix = draw([entry(Method::Get, 304, None)], usual()).unwrap();
        assert_eq!(mix.count_of(AskedKind::NotModified), 256);
    }

    #[test]
    fn long_responses_are_cut_and_their_shares_told() {
        let sizes = [100, 100, 100, 1 << 30];
        let log = sizes.map(|bytes| entry(Method::Get, 200, Some(bytes)));
        let options = AskedOptions { count: 4, longest_bytes: 1 << 20, seed: 1 };
        let mix = draw(log, options).unwrap();
        let mut bytes: Vec<u64> = mix.requests.iter().map(|asked| asked.bytes).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, [100, 100, 100, 1 << 20]);
        assert_eq!(mix.cut.requests, 0.25);
        assert!((mix.cut.bytes - 1023.0 / 1024.0).abs() < 1e-6, "{:?}", mix.cut);
    }

    #[test]
    fn how_requests_were_made_is_told_where_the_log_says_it() {
        let spoken =
            |protocol, is_tls| Entry { protocol, is_tls, ..entry(Method::Get, 200, Some(1)) };
        let silent = draw([spoken(None, None)], usual()).unwrap();
        assert_eq!(silent.spoken, Spoken::default());
        let mix = draw(
            [
                spoken(Some(Protocol::Http2), None),
                spoken(Some(Protocol::Http3), None),
                spoken(Some(Protocol::Http11), Some(false)),
                spoken(Some(Protocol::Http11), Some(true)),
                spoken(None, Some(true)),
            ],
            usual(),
        );
        let expected = Spoken {
            tls: Some(0.8),
            http2: Some(0.25),
            http3: Some(0.25),
            requests_per_connection: None,
        };
        assert_eq!(mix.unwrap().spoken, expected);
        let on = |at| Entry { of_connection: Some(at), ..entry(Method::Get, 304, None) };
        let unknown = entry(Method::Get, 304, None);
        let mix = draw([on(1), on(2), on(1), on(3), unknown, on(2)], usual()).unwrap();
        assert_eq!(mix.spoken.requests_per_connection, Some(2.5));
    }

    #[test]
    fn a_long_log_is_sampled_in_bounded_memory_and_the_same_by_the_same_seed() {
        let log = |seed| {
            let mut draw = MixDraw::new(AskedOptions { seed, ..usual() });
            let mut builder = MixBuilder::default();
            builder.add(&entry(Method::Get, 200, Some(1)), Stamp::End);
            for size_bytes in 0..100_000 {
                draw.add(&entry(Method::Get, 200, Some(size_bytes)), Stamp::End);
            }
            assert_eq!(draw.files.kept(), KEPT);
            draw.finish(&builder.finish().unwrap()).unwrap()
        };
        let one = log(1);
        assert_eq!(one, log(1));
        assert_ne!(one.requests, log(2).requests);
        let mean = one.body_bytes() as f64 / 256.0;
        // Its standard deviation is 28,868 / sqrt(16,384) = 226.
        assert!((mean - 50_000.0).abs() < 1200.0, "{mean}");
        assert!(!one.requests.is_sorted());
    }

    #[test]
    fn a_mix_goes_through_json_unchanged() {
        let mix = draw([entry(Method::Get, 200, Some(10))], usual()).unwrap();
        let text = serde_json::to_string(&mix).unwrap();
        assert_eq!(serde_json::from_str::<AskedMix>(&text).unwrap(), mix);
    }

    proptest! {
        #[test]
        fn whatever_a_log_has_the_cycle_is_whole_and_every_request_is_counted_once(
            entries in prop::collection::vec(
                (0..4_usize, 100..700_u16, prop::option::of(0..1_u64 << 40)), 1..300
            ),
            count in 1..400_usize,
            longest_bytes in 1..1_u64 << 30,
            seed: u64,
        ) {
            let methods = [Method::Get, Method::Get, Method::Head, Method::Post];
            let statuses = [200, 206, 304, 404];
            let total = entries.len() as u64;
            let entries = entries.into_iter().map(|(method, status, size)| {
                // Mostly those that matter.
                let status = if status < 600 { statuses[usize::from(status) % 4] } else { status };
                entry(methods[method], status, size)
            });
            match draw(entries, AskedOptions { count, longest_bytes, seed }) {
                Ok(mix) => {
                    prop_assert_eq!(mix.requests.len(), count);
                    prop_assert_eq!(mix.of.iter().sum::<u64>() + mix.left_out.total(), total);
                    prop_assert!(mix.requests.iter().all(|asked| asked.bytes <= longest_bytes));
                    let is_range = |asked: &&Asked| asked.kind == AskedKind::Range;
                    prop_assert!(mix.requests.iter().filter(is_range).all(|asked| asked.bytes > 0));
                    prop_assert!((0.0..=1.0).contains(&mix.cut.bytes));
                }
                Err(left_out) => prop_assert_eq!(left_out.total(), total),
            }
        }
    }
}
