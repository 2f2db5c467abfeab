//! The mix without a log: files as pages of the web have them, from some hundred bytes to hundreds
//! of KiB, and the shares of 304, HEAD and 206 of a server of static files.
//!
//! Kinds of files, and how many and how long: the median desktop page of October 2024, as the HTTP
//! Archive has it (Web Almanac 2024, chapter "Page Weight",
//! <https://almanac.httparchive.org/en/2024/page-weight>): the number of its requests by type, and
//! the bytes of all of a type, of home pages.
//!
//! How sizes of a type scatter: log-normally, as the bodies of files on the web do (Barford and
//! Crovella, Generating representative web workloads, SIGMETRICS 1998), by a factor of e^1.5. With
//! that the median image has 24 KB, and 19 of 20 less than 290 KB; the almanac has 116 KB (WebP) to
//! 274 KB (JPEG) at the 90th percentile.
//!
//! Responses without a body, and ranges, are in no crawl, whose cache is empty. Their shares are
//! those of a log of a public server of static files (the project's `elastic-examples.log`: 4,431
//! GET 200, 305 GET 304, 19 HEAD, 21 GET 206).

use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;

use super::asked_mix::{Asked, AskedKind, AskedMix, AskedOptions, Cut, LeftOut, Source, Spoken};
use super::draw::Drawn;
use super::sample::Sample;

/// A type of files on the median page: its requests, and the bytes of all of them.
const TYPES: [(&str, u64, f64); 5] = [
    ("HTML", 2, 18e3),
    ("CSS", 8, 78e3),
    ("fonts", 4, 131e3),
    ("JavaScript", 24, 613e3),
    ("images", 18, 1_054e3),
];

/// exp(1.5 z) at the middles of ten strata of the normal distribution.
const SCATTER: [f64; 10] =
    [0.0848, 0.2113, 0.3636, 0.5610, 0.8282, 1.2075, 1.7825, 2.7503, 4.7328, 11.7879];

/// Weights of kinds, in the order of [`AskedKind::ALL`].
const KINDS: [u64; AskedKind::ALL.len()] = [4431, 305, 19, 21];

/// In words, for reports.
const WORDS: &str = "the files of the median web page of 2024 (HTTP Archive's Web Almanac): 43 % \
                     scripts, 32 % images, 14 % style sheets, 7 % fonts and 4 % documents, from \
                     0.3 to 280 KB, with 6 % answered by 304";

impl AskedMix {
    /// The mix where there is no log.
    pub fn usual(options: &AskedOptions) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(options.seed);
        let mut files = Sample::new(options.longest_bytes);
        let mean = SCATTER.iter().sum::<f64>() / SCATTER.len() as f64;
        for (_, requests, all_bytes) in TYPES {
            for factor in SCATTER {
                let size_bytes = (all_bytes / requests as f64 * factor / mean).round() as u64;
                (0..requests).for_each(|_| files.add(size_bytes, &mut random));
            }
        }
        let cut = Cut::from([&files]);
        let files = files.into_sizes();
        // Players ask for what they hold in memory, not for whole files: as long as other files.
        let ranges = files.iter().copied().filter(|bytes| *bytes > 0).collect();
        let requests = Drawn::new(options, files, ranges).requests(KINDS, &mut random);
        Self {
            source: Source::Usual,
            requests,
            of: KINDS,
            left_out: LeftOut::default(),
            longest_bytes: options.longest_bytes,
            cut,
            spoken: Spoken::default(),
        }
    }

    /// What [`usual`](Self::usual) is, in words.
    pub fn usual_in_words() -> &'static str {
        WORDS
    }

    /// Lengths of the files that are asked for, those of ranges left out: least, median, greatest.
    /// `None` if there are none.
    pub fn file_bytes(&self) -> Option<[u64; 3]> {
        let is_file = |asked: &&Asked| asked.kind == AskedKind::Get;
        let mut bytes: Vec<u64> =
            self.requests.iter().filter(is_file).map(|asked| asked.bytes).collect();
        bytes.sort_unstable();
        Some([*bytes.first()?, bytes[bytes.len() / 2], *bytes.last()?])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_usual_mix_is_what_its_words_say() {
        let mix = AskedMix::usual(&AskedOptions::usual(3));
        assert_eq!((mix.source, mix.requests.len()), (Source::Usual, 256));
        assert_eq!(AskedKind::ALL.map(|kind| mix.count_of(kind)), [238, 16, 1, 1]);
        let [least, median, greatest] = mix.file_bytes().unwrap();
        assert!((300..320).contains(&least), "{least}");
        assert!((9_000..15_000).contains(&median), "{median}");
        assert!((270_000..285_000).contains(&greatest), "{greatest}");
        // The median page has 1,894 KB in 56 files.
        let mean = mix.body_bytes() as f64 / 239.0;
        assert!((mean / (1_894e3 / 56.0) - 1.0).abs() < 0.02, "{mean}");
        let sizes: BTreeSet<u64> = mix.requests.iter().map(|asked| asked.bytes).collect();
        assert!((30..=50).contains(&sizes.len()), "{}", sizes.len());
        let total: u64 = TYPES.iter().map(|(_, requests, _)| requests).sum();
        for (name, requests, share) in
            [("scripts", 24, 43), ("images", 18, 32), ("style sheets", 8, 14), ("fonts", 4, 7)]
        {
            assert_eq!((requests as f64 * 100.0 / total as f64).round() as u64, share, "{name}");
            assert!(WORDS.contains(&format!("{share} % {name}")));
        }
        assert!((mix.share_of(AskedKind::NotModified) * 100.0 - 6.0).abs() < 0.5);
    }

    #[test]
    fn it_is_shuffled_by_the_seed_and_cut() {
        let options = AskedOptions::usual(3);
        assert_eq!(AskedMix::usual(&options), AskedMix::usual(&options));
        let other = AskedMix::usual(&AskedOptions { seed: 4, ..options });
        assert_ne!(AskedMix::usual(&options).requests, other.requests);
        let short = AskedMix::usual(&AskedOptions { longest_bytes: 10_000, ..options });
        assert_eq!(short.file_bytes().unwrap()[2], 10_000);
        assert!(short.cut.requests > 0.3 && short.cut.bytes > 0.7, "{:?}", short.cut);
        assert_eq!(AskedMix::usual(&options).cut, Cut::default());
    }
}
