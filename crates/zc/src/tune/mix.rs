//! The requests that the copies are asked for: a log's, or what the web's files usually are.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::apart::{self, Document};
use super::super::folder::Folder;
use super::super::log_format;
use super::super::log_input::LogInput;
use super::args::SiteArgs;
use zc_access_log::{
    AskedKind, AskedMix, AskedOptions, Format, LeftOut, MixBuilder, MixDraw, Spoken, read_log,
};
use zc_run::{Error, Result};
use zc_servers::{MixFiles, mix_of_root, write_mix};
use zc_tune::OWN_LOCATION;

/// The folder of the files that are asked for, in that of the tuning.
pub(super) const FILES: &str = "files";

/// Below this share of what is sent shorter, it is not worth a sentence.
const FEW: f64 = 0.001;

/// A mix, and what else of the log matters.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Mix {
    mix: AskedMix,
    /// Name of the log.
    log: Option<String>,
    /// Requests per second in the busiest minute.
    pub(super) busiest_requests_per_s: Option<f64>,
}

impl Mix {
    /// Reads the log in a process without rights: it has what strangers asked for.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](zc_run::ErrorKind): it cannot be read, or has no request that can be
    /// sent once more.
    pub(super) fn read(args: &SiteArgs) -> Result<Self> {
        let options = AskedOptions::usual(args.seed.number.unwrap_or_default());
        let format = log_format::parse(args.format.as_deref(), &[], "")?;
        let Some(log) = &args.log else {
            let mix = AskedMix::usual(&options);
            return Ok(Self { mix, log: None, busiest_requests_per_s: None });
        };
        let input = LogInput::open(log)?;
        let name = input.name.clone();
        let document = apart::document(|| {
            let mix = drawn(input, format.clone(), options)?;
            let text = serde_json::to_vec(&mix).unwrap_or_default();
            Ok(Document::from(text))
        })?;
        serde_json::from_slice(&document.bytes).map_err(|error| {
            Error::failed("reader-gone", format!("the mix of the log \"{name}\": {error}"))
        })
    }

    /// Files for the mix in a folder: new ones, or links to those of a folder of the user's.
    ///
    /// # Errors
    /// They do not fit, or the user's folder has none.
    pub(super) fn files(&self, folder: &Folder, root: Option<&Path>) -> Result<MixFiles> {
        let place = folder.make(FILES)?;
        let Some(root) = root else {
            return write_mix(&self.mix, &place, OWN_LOCATION, 0);
        };
        let files = mix_of_root(&self.mix, root, OWN_LOCATION)?;
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let link = place.join(OWN_LOCATION.trim_matches('/'));
        symlink(&root, &link).map_err(|error| Error::os("link the folder of files", error))?;
        Ok(files)
    }

    /// The mix in a sentence.
    pub(super) fn words(&self) -> String {
        let Self { mix, log, .. } = self;
        let requests = mix.requests.len();
        let source = match log {
            Some(log) => format!("as the log \"{log}\" has them"),
            None => format!("{} (--log takes those of your own)", AskedMix::usual_in_words()),
        };
        let kinds = AskedKind::ALL.into_iter().filter(|kind| mix.count_of(*kind) > 0);
        let kinds: Vec<String> =
            kinds.map(|kind| format!("{} {}", mix.count_of(kind), kind.name())).collect();
        let kb = mix.body_bytes() as f64 / 1e3 / requests.max(1) as f64;
        format!("{requests} requests ({}), {kb:.1} kB each on average: {source}", kinds.join(", "))
    }

    /// How the requests of the log were made; `None` without one.
    pub(super) fn spoken(&self) -> Option<&Spoken> {
        self.log.as_ref().map(|_| &self.mix.spoken)
    }

    /// What it is not, in sentences.
    pub(super) fn said(&self, files: &MixFiles) -> Vec<String> {
        let Self { mix, log, .. } = self;
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let mut said = Vec::new();
        if log.is_some() && mix.share_left_out() > FEW {
            said.push(format!(
                "{} of the log's requests are not asked for: {}",
                percent(mix.share_left_out()),
                in_words(&mix.left_out)
            ));
        }
        if mix.cut.requests > 0.0 {
            said.push(format!(
                "responses are at most {} kB long here; {} of the log's are longer, and {} of its \
                 bytes are beyond that",
                mix.longest_bytes / 1024,
                percent(mix.cut.requests),
                percent(mix.cut.bytes)
            ));
        }
        let (own, wanted) = (files.body_bytes as f64, files.mix_body_bytes as f64);
        if wanted > 0.0 && (own / wanted - 1.0).abs() > 0.05 {
            said.push(format!("the files have {} of the bytes of the mix", percent(own / wanted)));
        }
        said
    }
}

fn in_words(left_out: &LeftOut) -> String {
    let some = left_out.named().into_iter().filter(|(_, requests)| *requests > 0);
    some.map(|(what, requests)| format!("{requests} {what}")).collect::<Vec<_>>().join(", ")
}

fn drawn(input: LogInput, format: Option<Format>, options: AskedOptions) -> Result<Mix> {
    let name = input.name.clone();
    let (text, _) = input.read()?;
    let mut both = (MixBuilder::default(), MixDraw::new(options));
    let summary = read_log(text, format, &mut both)
        .map_err(|unusable| log_format::refused(&name, unusable, ""))?;
    log_format::say(&name, &summary, "");
    let empty = || Error::input("empty-log", format!("the log \"{name}\" has no requests"));
    let counts = both.0.finish().ok_or_else(empty)?;
    let mix = both.1.finish(&counts).map_err(|left_out| {
        let of = in_words(&left_out);
        let message = format!("no request of the log \"{name}\" can be sent once more: {of}");
        Error::input("log-without-requests", message)
    })?;
    let busiest = counts.minutes.most_requests.all.requests as f64 / 60.0;
    Ok(Mix { mix, log: Some(name), busiest_requests_per_s: Some(busiest) })
}
