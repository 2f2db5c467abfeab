//! The options of HTTP requests that `zc http` and `zc run server` share: headers, and whose
//! certificates are accepted.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::known::typed;
use zc_load::{Trust, check_header};
use zc_run::{Error, Result, escape};

/// The options of every request: its headers and whom it trusts.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct RequestArgs {
    /// A header of every request, as in 'Accept-Encoding: gzip'; may be given more than once
    #[arg(long = "header", value_name = "NAME: VALUE", allow_hyphen_values = true,
          value_parser = typed(header))]
    pub(super) headers: Vec<(String, String)>,
    /// Accept any certificate of an HTTPS server
    #[arg(long, conflicts_with = "cacert")]
    pub(super) insecure: bool,
    /// Trust the certificates in this file (PEM) instead of the system's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    cacert: Option<PathBuf>,
}

impl RequestArgs {
    /// Whether there is `--cacert`.
    pub(super) fn names_a_file(&self) -> bool {
        self.cacert.is_some()
    }

    /// Certificates to accept from an HTTPS server.
    pub(super) fn trust(&self) -> Trust {
        match &self.cacert {
            _ if self.insecure => Trust::Anybody,
            Some(file) => Trust::File(file.clone()),
            None => Trust::System,
        }
    }
}

/// Parses `Name: value`.
fn header(text: &str) -> Result<(String, String)> {
    let Some((name, value)) = text.split_once(':') else {
        return Err(Error::usage(
            "invalid-header",
            format!("\"{}\" has no colon", escape(text, 80)),
        )
        .help("headers look like --header 'Accept-Encoding: gzip'"));
    };
    let (name, value) = (name.trim(), value.trim());
    check_header(name, value)?;
    Ok((name.to_owned(), value.to_owned()))
}
