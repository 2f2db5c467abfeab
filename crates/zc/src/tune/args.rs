//! The arguments of `zc tune`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::super::known::{count, duration, typed};
use super::super::option_groups::{S, SeedArgs, cpus};
use super::super::price::price;
use zc_analysis::Price;
use zc_measure::session::CpuPair;
use zc_run::units;

/// Arguments of `zc tune`.
#[derive(Debug, Clone, Args)]
pub(in super::super) struct TuneArgs {
    #[command(subcommand)]
    pub(in super::super) server: TuneServer,
}

/// Servers whose configurations are read.
#[derive(Debug, Clone, Subcommand)]
pub(in super::super) enum TuneServer {
    /// nginx: its configuration is read and never written, copies of it are measured beside the
    /// live server
    Nginx(Box<SiteArgs>),
    /// Apache: the same, for its httpd.conf or apache2.conf
    Apache(Box<SiteArgs>),
    /// HAProxy: the same, for its haproxy.cfg, with an origin of zc's behind the copies
    Haproxy(Box<SiteArgs>),
    /// Caddy: the same, for its Caddyfile
    Caddy(Box<SiteArgs>),
}

/// Options of `zc tune SERVER`.
#[derive(Debug, Clone, Args)]
pub(in super::super) struct SiteArgs {
    /// The configuration [default: that of the server in the PATH]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) conf: Option<PathBuf>,
    /// The access log whose requests are asked for, compressed or not [default: what the web's
    /// files usually are]
    #[arg(long, value_name = "LOG", value_hint = ValueHint::FilePath)]
    pub(super) log: Option<PathBuf>,
    /// The format of the log, as of zc advise [default: told by the first lines]
    #[arg(long, value_name = "FORMAT", allow_hyphen_values = true, requires = "log")]
    pub(super) format: Option<String>,
    /// Time for everything
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, default_value = "10min",
          value_parser = duration(10 * S..=24 * 3600 * S))]
    pub(super) budget: u64,
    /// A further line to try, as in 'sendfile_max_chunk 512k', 'EnableSendfile On' or 'option
    /// splice-auto'; again for more
    #[arg(long = "try", value_name = "LINE", allow_hyphen_values = true)]
    pub(super) try_lines: Vec<String>,
    /// Try the lines of --try and no others
    #[arg(long, requires = "try_lines")]
    pub(super) only_tried: bool,
    /// The site, by its name [default: the first default server that answers with files]
    #[arg(long, value_name = "NAME")]
    pub(super) server_name: Option<String>,
    /// A folder of files that are asked for, read only [default: made for the mix]
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(super) root: Option<PathBuf>,
    /// Ask by HTTP/2, with h2load of nghttp2 [default: by HTTP/1.1, with zc's own load]
    #[arg(long)]
    pub(super) http2: bool,
    /// Connections to each copy, which take turns: with more of them each is idle for longer
    #[arg(long, value_name = "N", allow_hyphen_values = true, conflicts_with = "http2",
          default_value = "16", value_parser = count("number of connections", 1..=1_000))]
    pub(super) connections: u64,
    /// Requests on a connection, which is then replaced [default: as the log tells, else kept]
    #[arg(long, value_name = "N", allow_hyphen_values = true, conflicts_with = "http2",
          value_parser = count("requests", 1..=1_000_000_000))]
    pub(super) requests_per_connection: Option<u64>,
    /// Also tell the cores at this rate of such requests, as in 2000/s
    #[arg(long, value_name = "RATE", allow_hyphen_values = true,
          value_parser = typed(units::per_second))]
    pub(super) rate: Option<f64>,
    /// The price of a core, as in 0.04/core-hour or "$0.04/core-hour", for a sum a month
    #[arg(long, value_name = "PRICE", allow_hyphen_values = true, value_parser = typed(price))]
    pub(super) money: Option<Price>,
    /// The CPUs of server and load, as in 0,1 [default: chosen]
    #[arg(long, value_name = "S,L", allow_hyphen_values = true, value_parser = typed(cpus))]
    pub(super) cpus: Option<CpuPair>,
    #[command(flatten)]
    pub(super) seed: SeedArgs,
    /// Folder that the runs are saved in
    #[arg(long, value_name = "FOLDER", default_value = ".", value_hint = ValueHint::DirPath,
          help_heading = "Output")]
    pub(super) runs: PathBuf,
    /// Also write a page of HTML; an older file is replaced once it is complete
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath,
          help_heading = "Output")]
    pub(super) out: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
}
