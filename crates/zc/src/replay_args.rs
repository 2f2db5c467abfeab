//! The log of `zc run replay`: its options, and what is drawn from it.
//!
//! It holds what strangers asked for, so it is read in a process without rights, and numbers come
//! back.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::apart::{self, Document};
use super::known::{count, typed};
use super::log_input::LogInput;
use super::{log_format, tell};
use zc_access_log::{Draw, Drawn, Format, MixBuilder, read_log};
use zc_measure::session::{LONGEST_REPLAYED, LogToReplay, RunOptions, seed_or_fresh};
use zc_run::{Error, Experiment, Result, units};

/// Prefix of its options about formats.
const OPTIONS: &str = "log-";

/// The names of the arguments.
pub(super) const IDS: [&str; 5] = ["log", "log_format", "log_field", "draw", "speedup"];

/// Default number of responses drawn. At the usual rates a trial of so many takes a second.
const DRAWN: u64 = 2_000;

/// Limit on responses drawn: so many are still read back from a saved run in a moment.
const MOST_DRAWN: u64 = 100_000;

/// The options of a log that is replayed.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "A log of responses")]
pub(super) struct ReplayArgs {
    /// The access log whose responses are sent once more, in its order; compressed with gzip or
    /// zstd or not
    #[arg(long, value_name = "LOG", value_hint = ValueHint::FilePath)]
    log: Option<PathBuf>,
    /// Its format, as zc advise --format takes it [default: told by the first lines]
    #[arg(long, value_name = "FORMAT", allow_hyphen_values = true)]
    log_format: Option<String>,
    /// Of JSON lines, the key of something, as zc advise --field takes it
    #[arg(long, value_name = "WHAT=KEY")]
    log_field: Vec<String>,
    /// How many responses are drawn from it [default: 2000]
    #[arg(long, value_name = "N", allow_hyphen_values = true,
          value_parser = count("number of responses", 1..=MOST_DRAWN))]
    draw: Option<u64>,
    /// How many times as fast as in the log requests come [default: chosen, an eighth of
    /// what the slowest path can]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = typed(times))]
    speedup: Option<f64>,
}

/// Result of the process without rights: requests, bytes and requests per second of the log, the
/// bytes of each body that was drawn, and how many were too long.
type Read = (u64, u64, f64, Vec<u64>, u64);

impl ReplayArgs {
    /// Takes the log of others where there is none, with its options.
    pub(super) fn fill(&mut self, from: Self) {
        if self.log.is_none() {
            let Self { draw, speedup, .. } = std::mem::take(self);
            *self = Self { draw: draw.or(from.draw), speedup: speedup.or(from.speedup), ..from };
        }
    }

    /// Checks that there is a log where one is to be replayed, and none elsewhere.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](zc_run::ErrorKind): it is not so, or a value is not valid.
    pub(super) fn check(&self, plan: &str, of_responses: bool) -> Result<()> {
        self.format()?;
        let is_replay = plan == Experiment::Replay.name();
        match self {
            Self { log: None, .. } if is_replay => {
                Err(Error::usage("log-missing", "there is no log to replay")
                    .help("zc run replay --log access.log"))
            }
            Self { log: Some(_), .. } if !of_responses => Err(Error::usage(
                "log-without-responses",
                format!("--log: the plan \"{plan}\" sends streams, and a log has responses"),
            )
            .help("zc run replay --log access.log")),
            Self { log: None, log_format: None, draw: None, speedup: None, log_field }
                if log_field.is_empty() =>
            {
                Ok(())
            }
            Self { log: None, .. } => Err(Error::usage(
                "option-needs-another",
                "\"--log-format\", \"--log-field\", \"--draw\" and \"--speedup\" are about a log, \
                 and no \"--log\" names one",
            )
            .help("zc run replay --log access.log")),
            Self { log: Some(_), .. } => Ok(()),
        }
    }

    /// Draws what is replayed. The seed of the run is that of the draw.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): the log cannot be read, or has no requests.
    pub(super) fn draw_into(&self, options: &mut RunOptions) -> Result<()> {
        let Some(path) = &self.log else { return Ok(()) };
        let (format, most) = (self.format()?, self.draw.unwrap_or(DRAWN) as usize);
        let seed = seed_or_fresh(options.blocks.seed)?;
        options.blocks.seed = Some(seed);
        let input = LogInput::open(path)?;
        let log = input.name.clone();
        let document = apart::document(|| {
            let read = read(input, format, most, seed)?;
            Ok(Document::from(serde_json::to_string(&read).unwrap_or_default()))
        })?;
        let (requests, bytes, requests_per_s, body_bytes, too_long): Read =
            serde_json::from_slice(&document.bytes).map_err(|_| {
                Error::failed(
                    "reader-gone",
                    "the process that reads the log did not say what it has",
                )
            })?;
        if too_long > 0 {
            tell::warning(
                &format!(
                    "{too_long} of {requests} responses of \"{log}\" are longer than {}, and are \
                     not replayed",
                    units::size_text(LONGEST_REPLAYED)
                ),
                None,
            );
        }
        options.replay = Some(LogToReplay {
            log,
            requests,
            bytes,
            requests_per_s,
            too_long,
            body_bytes,
            speedup: self.speedup,
        });
        Ok(())
    }

    fn format(&self) -> Result<Option<Format>> {
        log_format::parse(self.log_format.as_deref(), &self.log_field, OPTIONS)
    }
}

/// Parses a positive number, perhaps with an x after it.
fn times(text: &str) -> Result<f64> {
    let times = text.strip_suffix('x').unwrap_or(text).parse::<f64>().ok();
    times.filter(|times| times.is_finite() && *times > 0.0).ok_or_else(|| {
        Error::usage(
            "invalid-number",
            format!("\"{}\" is no number above 0", zc_run::escape(text, 40)),
        )
        .help("--speedup 100 sends a hundred requests in the time that the log has one")
    })
}

fn read(input: LogInput, format: Option<Format>, most: usize, seed: u64) -> Result<Read> {
    let name = input.name.clone();
    let mut both = (MixBuilder::default(), Draw::new(most, LONGEST_REPLAYED, seed));
    let summary = read_log(input.read()?.0, format, &mut both)
        .map_err(|unusable| log_format::refused(&name, unusable, OPTIONS))?;
    log_format::say(&name, &summary, OPTIONS);
    let (mix, draw) = both;
    let mix = mix
        .finish()
        .ok_or_else(|| Error::input("empty-log", format!("the log \"{name}\" has no requests")))?;
    let requests_per_s = mix.all.requests as f64 / mix.span_s() as f64;
    let Drawn { size_bytes, left_out } = draw.finish();
    Ok((mix.all.requests, mix.all.bytes, requests_per_s, size_bytes, left_out))
}
