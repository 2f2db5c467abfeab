//! A tuning of a server that does not exist.

use super::{About, TuneReport};
use zc_analysis::tune::{
    Fate, Line, PRESENT, Phase, Phases, Price, Question, promising, state_name, step_states,
    winners,
};
use zc_analysis::{Estimates, estimate};
use zc_run::Run;
use zc_testkit::server::{TrueState, in_states};
use zc_testkit::synthetic::Synthetic;

/// A line, and the truth about it: CPU and p99 by those of the present state.
pub(super) type Truth = (&'static str, &'static str, f64, f64);

/// Lines of which two are to be changed, one for its latency alone.
pub(super) const TRUTHS: [Truth; 7] = [
    ("sendfile off", "sendfile on", 1.0, 1.0),
    ("tcp_nopush off", "tcp_nopush on", 0.69, 1.0),
    ("sendfile_max_chunk 2m", "sendfile_max_chunk 0 (default)", 1.0, 0.7),
    ("aio threads", "aio off (default)", 1.25, 1.3),
    ("access_log off", "access_log /var/log/nginx/access.log", 0.9, 2.0),
    ("open_file_cache max=10000 inactive=60s", "open_file_cache off (default)", 0.99, 1.0),
    ("listen reuseport", "listen without reuseport", 1.0, 1.0),
];

fn line((name, present, ..): &Truth) -> Line {
    Line {
        name: (*name).to_owned(),
        present: (*present).to_owned(),
        sets: name.split(' ').next().unwrap_or_default().to_owned(),
        reason: "it may matter".to_owned(),
        reference: "https://nginx.org/".to_owned(),
        fate: Fate::Tried,
    }
}

/// The lines, and those that were not tried.
pub(super) fn lines(truths: &[Truth]) -> Vec<Line> {
    let mut lines: Vec<Line> = truths.iter().map(line).collect();
    let other = |name: &'static str, fate| Line { fate, ..line(&(name, "", 1.0, 1.0)) };
    lines.push(other(
        "gzip_static on",
        Fate::NotTried { why: "no encoding is asked for".to_owned() },
    ));
    let words = "nginx: [emerg] \"aio threads\" is unsupported";
    lines.push(other("aio threads", Fate::Refused { words: words.to_owned() }));
    let how = "of 400 responses 3 had another length";
    lines.push(other("output_buffers 1 1k", Fate::Broke { how: how.to_owned() }));
    lines
}

pub(super) struct Tuning {
    pub(super) lines: Vec<Line>,
    screening: (Run, Estimates),
    confirming: Option<(Run, Estimates)>,
    together: Option<(Run, Estimates)>,
}

fn measure(seed: u64, blocks: usize, states: &[(String, f64, f64)]) -> (Run, Estimates) {
    let ns = |by: f64| (4e6 * by) as u64;
    let mut all = vec![TrueState { name: PRESENT.to_owned(), ratio: 1.0, p99_ns: ns(1.0) }];
    all.extend(states.iter().map(|(name, cpu, p99)| TrueState {
        name: name.clone(),
        ratio: *cpu,
        p99_ns: ns(*p99),
    }));
    let world = Synthetic { seed, blocks, noise: 0.02, ..Synthetic::default() };
    let run = in_states(&all, ns(1.02), world);
    let estimates = estimate(&run);
    (run, estimates)
}

/// Tunes a server of which these lines are the truth.
pub(super) fn tune(truths: &[Truth], blocks: usize) -> Tuning {
    let lines = lines(truths);
    let state = |at: &usize| {
        let (name, _, cpu, p99) = truths[*at];
        (state_name(*at, name), cpu, p99)
    };
    let all: Vec<usize> = (0..truths.len()).collect();
    let screening = measure(1, blocks, &all.iter().map(state).collect::<Vec<_>>());
    let chosen = promising(phase(&screening), &lines);
    let confirming = (!chosen.is_empty())
        .then(|| measure(2, blocks, &chosen.iter().map(state).collect::<Vec<_>>()));
    let mut tuning = Tuning { lines, screening, confirming, together: None };
    let winners = winners(&tuning.phases(), &tuning.lines);
    if winners.len() > 1 {
        let states = step_states(&winners).map(|(name, lines)| {
            // All that save CPU do the same.
            let cpu = lines.iter().map(|at| truths[*at].2).fold(1.0, f64::min);
            (name, cpu, lines.iter().map(|at| truths[*at].3).product())
        });
        tuning.together = Some(measure(3, blocks, &states.collect::<Vec<_>>()));
    }
    tuning
}

fn phase((run, estimates): &(Run, Estimates)) -> Phase<'_> {
    Phase { run, estimates }
}

impl Tuning {
    pub(super) fn set_congestion(&mut self, congestion: &str) {
        let runs = [Some(&mut self.screening), self.confirming.as_mut()];
        for (run, _) in runs.into_iter().flatten() {
            congestion.clone_into(&mut run.header.plan.fixed.congestion);
        }
    }

    pub(super) fn phases(&self) -> Phases<'_> {
        Phases {
            screening: phase(&self.screening),
            confirming: self.confirming.as_ref().map(phase),
            together: self.together.as_ref().map(phase),
        }
    }

    pub(super) fn report(&self, rates: [Option<f64>; 2], price: Option<&Price>) -> TuneReport {
        let [busiest_requests_per_s, asked_requests_per_s] = rates;
        let question = Question {
            lines: &self.lines,
            busiest_requests_per_s,
            asked_requests_per_s,
            cores: 12,
            price,
        };
        let about = About {
            server: "nginx 1.22.1 of /etc/nginx/nginx.conf".to_owned(),
            site:
                "the site \"example.org\" (/etc/nginx/nginx.conf, line 31), as it is the default \
                   server of *:80"
                    .to_owned(),
            mix: "400 requests drawn from access.log: 82 % GET 200 of 31 kB, 12 % 304, 6 % 206"
                .to_owned(),
            has_log: true,
            said: vec!["location /api is answered by proxy_pass and was not asked".to_owned()],
        };
        let diff = |change: &[usize]| {
            let lines = change.iter().map(|at| {
                let Line { name, present, .. } = &self.lines[*at];
                format!("-\t{present};\n+\t{name};\n")
            });
            let head = "--- /etc/nginx/nginx.conf\n+++ /etc/nginx/nginx.conf\n@@ -12,2 +12,2 @@\n";
            head.to_owned() + &lines.collect::<String>()
        };
        TuneReport::new(&self.phases(), &question, about, diff)
    }
}
