//! What `zc advise` takes TLS to cost: the run of `zc run tls` that is named, or the newest in this
//! folder. None is measured: without one encryption is in no cost, and the answer says so.

use std::path::PathBuf;

use clap::ValueHint;

use super::known::{one_of, typed};
use super::read::Saved;
use super::saved_here::newest;
use super::tell;
use zc_analysis::advise::TlsUnfit;
use zc_run::nearest::unknown_among;
use zc_run::{Cipher, Error, Experiment, Result, Run, SendPath, escape};

/// The options of `zc advise` about TLS.
#[derive(Debug, clap::Args)]
pub(super) struct TlsArgs {
    /// A saved run of zc run tls that the cost of encryption is taken from; may be of another
    /// machine [default: one of this machine in this folder; else encryption is in no cost]
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["server_run", "no_costs"],
        help_heading = "Costs"
    )]
    tls_run: Option<PathBuf>,
    /// The cipher of that run [default: the AES-GCM that costs least]
    #[arg(long, value_name = "NAME", value_parser = one_of(ENCRYPTING.iter().copied(), cipher),
          conflicts_with_all = ["server_run", "no_costs"], help_heading = "Costs")]
    pub(super) cipher: Option<Cipher>,
    /// How much of the bytes went over TLS: all, none, or a share as in 0.8 or 80% [default: as the
    /// log says]
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true, value_parser = typed(share),
          conflicts_with = "no_costs", help_heading = "Costs")]
    pub(super) tls: Option<f64>,
}

/// All ciphers but none.
const ENCRYPTING: &[&str] = &["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"];

/// The saved run that the cost of encryption is from, of which nothing has been read yet.
pub(super) struct TlsSource {
    pub(super) saved: Saved,
    pub(super) name: String,
    /// Whether it was named, so that it may be of another machine, and must have such a cost.
    pub(super) is_named: bool,
}

/// A cipher that encrypts.
fn cipher(text: &str) -> Result<Cipher> {
    let found: Option<Cipher> = text.parse().ok();
    found
        .filter(|cipher| *cipher != Cipher::Clear)
        .ok_or_else(|| unknown_among("cipher", text, ENCRYPTING))
}

/// `all`, `none`, `0.8`, `80%`.
fn share(text: &str) -> Result<f64> {
    let number = match (text, text.strip_suffix('%')) {
        ("all", _) => Some(1.0),
        ("none", _) => Some(0.0),
        (_, Some(percent)) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        (_, None) => text.parse::<f64>().ok(),
    };
    number.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| {
        let message = format!("\"{}\" is no share of the bytes", escape(text, 40));
        Error::usage("invalid-share", message).help("all, none, or a share as in 0.8 or 80%")
    })
}

/// The run that was named, else the newest one of this machine in this folder.
///
/// # Errors
/// The run that was named cannot be opened; there is none, and a cipher of it was named.
pub(super) fn source(args: &TlsArgs) -> Result<Option<TlsSource>> {
    if let Some(path) = &args.tls_run {
        let saved = Saved::open(path)?;
        return Ok(Some(TlsSource { saved, name: tell::path(path), is_named: true }));
    }
    let Some(path) = newest(fits)? else {
        return match args.cipher {
            None => Ok(None),
            Some(_) => Err(Error::input(
                "no-run-of-tls",
                "--cipher: no run of zc run tls of this machine is in this folder",
            )
            .help("zc run tls measures one; --tls-run names another")),
        };
    };
    let name = tell::path(&path);
    tell::note(&format!("what TLS costs is from \"{name}\""));
    Ok(Some(TlsSource { saved: Saved::open(&path)?, name, is_named: false }))
}

/// Whether it is a run of `zc run tls` that has encryption in user space.
fn fits(run: &Run) -> bool {
    let plan = &run.header.plan;
    let encrypts = |path| plan.cells.iter().any(|cell| cell.transfer.send_path() == Some(path));
    plan.experiment == Experiment::Tls.name() && encrypts(SendPath::TlsWrite)
}

/// Hint where another run is needed.
const MEASURES: &str = "zc run tls measures it";

pub(super) fn refused(unfit: TlsUnfit, name: &str, cipher: Option<Cipher>) -> Error {
    match unfit {
        TlsUnfit::NotOfTls => Error::input(
            "run-of-another-kind",
            format!("nothing in the run \"{name}\" encrypts in user space"),
        )
        .help(MEASURES),
        TlsUnfit::NoSuchCipher(ciphers) => {
            let names: Vec<&str> = ciphers.iter().map(|cipher| cipher.name()).collect();
            match cipher {
                Some(cipher) => {
                    let mut error = unknown_among("cipher", cipher.name(), &names);
                    error.message = format!("--cipher: {} in the run \"{name}\"", error.message);
                    error
                }
                None => {
                    Error::input("run-without-cost", format!("the run \"{name}\" has no AES-GCM"))
                        .help(format!("--cipher names another one: {}", names.join(", ")))
                }
            }
        }
        TlsUnfit::SidesTogether => Error::input(
            "run-of-another-kind",
            format!("the run \"{name}\" has no cost of the sender alone"),
        )
        .help("zc run tls over the link veth or null has it"),
        TlsUnfit::NoCosts => Error::input(
            "run-without-cost",
            format!("the run \"{name}\" has no cost of tls-write or of read+send in the clear"),
        )
        .help("zc show prints what it has; zc run tls measures again"),
        TlsUnfit::TooFewBlocks(blocks) => Error::input(
            "run-without-cost",
            format!("the run \"{name}\" has {blocks} blocks, too few for an interval"),
        )
        .help(MEASURES),
        TlsUnfit::NoReadSend => Error::input(
            "run-without-cost",
            "the run of responses has no cost of read+send, on top of which encryption comes",
        )
        .help("zc run requests measures it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_word_a_number_or_a_percentage() {
        for (text, expected) in [("all", 1.0), ("none", 0.0), ("0.8", 0.8), ("80%", 0.8)] {
            assert!((share(text).unwrap() - expected).abs() < 1e-12, "{text}");
        }
        for text in ["", "some", "1.1", "-0.1", "101%", "%", "nan", "inf"] {
            assert_eq!(share(text).unwrap_err().id, "invalid-share", "{text}");
        }
    }

    #[test]
    fn all_ciphers_that_encrypt_can_be_named() {
        let all = Cipher::NAMES.iter().filter(|name| **name != Cipher::Clear.name());
        assert!(all.eq(ENCRYPTING));
    }
}
