//! Access logs: of a format that the first byte chooses, or of one that is told by their lines.

use zc_access_log::{
    Class, Draw, Format, KNOWN, MixBuilder, RequestMix, Unusable, find_request, read_log,
};
use zc_report::Layout;
use zc_report::advise::{Advice, AdvisedLog, json, text};

/// Formats of the choice that have no name.
const DESCRIBED: [&str; 2] = [
    "$time_iso8601 $request_method $status $bytes_sent $body_bytes_sent $request_time \
     \"$request\"",
    r#"%{msec}t %m %H %>s %b %O %D "%r""#,
];

/// What is drawn of a log: so many responses at most, and none that is longer in bytes.
const DRAWN: usize = 8;
const LONGEST: u64 = 1 << 20;

/// How many choices there are: told, described by the first line, those with a name, the two above.
pub fn choices() -> usize {
    2 + KNOWN.len() + DESCRIBED.len()
}

/// The choice of a format that has a name.
pub fn choice_of(name: &str) -> Option<u8> {
    KNOWN.iter().position(|known| known.name == name).map(|place| place as u8 + 2)
}

/// Reads a log, and checks that its counts add up and that its documents can be printed.
pub fn check(bytes: &[u8]) {
    let Some((choice, log)) = bytes.split_first() else { return };
    let (format, log) = match usize::from(*choice) % choices() {
        0 => (None, log),
        1 => {
            let end = log.iter().position(|byte| *byte == b'\n').unwrap_or(log.len());
            let (description, log) = log.split_at(end);
            match Format::described(&String::from_utf8_lossy(description)) {
                Some(Ok(format)) => (Some(format), log),
                _ => return,
            }
        }
        place => match KNOWN.get(place - 2) {
            Some(known) => (Some(known.format()), log),
            None => {
                let described = Format::described(DESCRIBED[place - 2 - KNOWN.len()]);
                (Some(described.unwrap().unwrap()), log)
            }
        },
    };
    for line in log.split(|byte| *byte == b'\n') {
        let _ = find_request(line);
    }
    let mut both = (MixBuilder::default(), Draw::new(DRAWN, LONGEST, 1));
    let read = read_log(log, format, &mut both);
    let (mix, drawn) = (both.0, both.1.finish());
    assert!(drawn.size_bytes.len() <= DRAWN);
    assert!(drawn.size_bytes.iter().all(|bytes| *bytes <= LONGEST));
    match read {
        Ok(summary) => {
            let mix = mix.finish().expect("there was a request");
            // What has no length is not drawn.
            let fit = summary.requests - drawn.left_out - mix.classes.unmeasured.requests;
            assert_eq!(drawn.size_bytes.len() as u64, fit.min(DRAWN as u64));
            assert_eq!(mix.all.requests, summary.requests);
            adds_up(&mix);
            let log = AdvisedLog {
                log: "log".to_owned(),
                host: None,
                format: summary.format,
                compression: None,
                lines: summary.lines,
                requests: summary.requests,
                unreadable: summary.unreadable,
                is_cut: summary.is_cut,
                duration_unit: None,
                has_doubtful_durations: false,
            };
            let advice = Advice { logs: vec![log], mix, host_mixes: Vec::new(), costs: None };
            let text = text(&advice, Layout::plain(80));
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(&json(&advice)).is_ok());
        }
        Err(Unusable::Io(error)) => panic!("{error}"),
        Err(_) => assert!(mix.finish().is_none()),
    }
}

fn adds_up(mix: &RequestMix) {
    let all = mix.all.requests;
    let classes: u64 = Class::ALL.iter().map(|class| mix.classes.get(*class).requests).sum();
    let slices: u64 = mix.slices.iter().map(|slice| slice.all.requests).sum();
    let hours: u64 = mix.hours.iter().map(|tally| tally.requests).sum();
    let methods: u64 = mix.methods.values().map(|tally| tally.requests).sum();
    assert_eq!([classes, slices, hours, methods], [all; 4]);
    let bins = mix.sizes.together();
    assert_eq!(bins.total(), mix.all);
    for bin in bins.bins() {
        let (least, most) = (bin.from_bytes.checked_mul(bin.requests), bin.to_bytes);
        assert!(least.is_none_or(|least| least <= bin.bytes));
        assert!(most.checked_mul(bin.requests).is_none_or(|most| bin.bytes <= most));
    }
    assert!(mix.minutes.most_requests.all.requests <= all && mix.minutes.count <= all);
}
