//! `zc tune SERVER`: which lines of a server's configuration to change, tried one at a time on copies
//! of it under the mix of requests of its own log.
//!
//! Data passes once: the configuration is read by what is its server's own ([`server`], [`nginx`],
//! [`apache`], [`haproxy`], [`caddy`]), its lines become candidates (`zc_tune`), the log becomes a
//! mix ([`mix`]), each candidate becomes a copy in a folder of zc's ([`copies`]), the copies are states
//! of up to three runs ([`phases`]), and these are the answer.

mod apache;
mod args;
mod caddy;
mod copies;
mod haproxy;
mod http2;
mod mix;
mod nginx;
mod phases;
mod reading;
mod server;
mod spoken;
mod stand_in;

pub(super) use args::TuneArgs;

use std::collections::HashSet;

use self::apache::Apache;
use self::args::{SiteArgs, TuneServer};
use self::caddy::Caddy;
use self::copies::Copies;
use self::haproxy::HAProxy;
use self::mix::Mix;
use self::nginx::Nginx;
use self::phases::{Asked, measure};
use self::server::Server;
use super::folder::Folder;
use super::format::WidthArgs;
use super::{interrupt, render, replace, tell};
use zc_analysis::tune::{Fate, Line, Outcome, Question};
use zc_report::Layout;
use zc_report::tune::{About, TuneReport, html, json, text};
use zc_run::{Error, ErrorKind, Result};
use zc_servers::askable;
use zc_tune::{Candidate, Change, Offer};

/// Tunes, and prints which lines to change. Returns the exit code.
///
/// # Errors
/// - [`ErrorKind::Usage`]: an option is not valid, or a line that is to be tried.
/// - [`ErrorKind::Input`]: the configuration or the log cannot be read.
/// - [`ErrorKind::Output`]: there is no room for the files, or the page cannot be written.
/// - [`ErrorKind::Remote`]: the present configuration does not answer as it should.
/// - [`ErrorKind::NothingKept`]: no block counts.
/// - [`ErrorKind::Interrupted`]: Ctrl-C; what was found by then has been printed.
pub(super) fn run(args: &TuneArgs) -> Result<()> {
    let (TuneServer::Nginx(site)
    | TuneServer::Apache(site)
    | TuneServer::Haproxy(site)
    | TuneServer::Caddy(site)) = &args.server;
    site.out.as_deref().map_or(Ok(()), replace::check)?;
    let conf = site.conf.as_deref();
    match &args.server {
        TuneServer::Nginx(_) => tune(&Nginx::find(conf)?, site),
        TuneServer::Apache(_) => tune(&Apache::find(conf)?, site),
        TuneServer::Haproxy(_) => tune(&HAProxy::find(conf)?, site),
        TuneServer::Caddy(_) => tune(&Caddy::find(conf)?, site),
    }
}

fn tune(server: &dyn Server, args: &SiteArgs) -> Result<()> {
    let stop = interrupt::flag()?;
    let configured = server.read(args.server_name.as_deref())?;
    let facts = reading::facts(server.build());
    let own = args.try_lines.iter().map(|line| configured.try_line(line, &facts));
    let mut offers: Vec<Offer> = own.map(|own| own.map(Offer::Try)).collect::<Result<_>>()?;
    if !args.only_tried {
        offers.extend(configured.candidates(&facts));
    }
    let mut known = HashSet::new();
    offers.retain(|offer| known.insert(name(offer).to_owned()));
    let http2 = args.http2.then(|| http2::http2(&*configured)).transpose()?;
    let mix = Mix::read(args)?;

    let folder = Folder::named("zc-tune-")?;
    let mut files = mix.files(&folder, args.root.as_deref())?;
    let http2 = http2.map(|http2| http2.within(&folder)).transpose()?;
    let reuse = spoken::reuse(args.requests_per_connection, mix.spoken());
    let how = match &http2 {
        Some(http2) => {
            let left_out;
            (files.targets, left_out) = askable(&files.targets);
            http2::said(http2, configured.site().scheme, left_out)
        }
        None => {
            let (typed, has_log) = (args.requests_per_connection, args.log.is_some());
            vec![spoken::connections(args.connections, reuse, typed, has_log)]
        }
    };
    let mut copies = Copies::new(server, &*configured, &folder)?;
    copies.must_start()?;
    let mut lines = Vec::new();
    let mut tried: Vec<Option<Change>> = Vec::new();
    for offer in offers {
        let (line, change) = match offer {
            Offer::Not { name, why } => (untried(name, why), None),
            Offer::Try(candidate) => {
                let fate = copies.fate(&candidate.change);
                let change = (fate == Fate::Tried).then(|| candidate.change.clone());
                (line(candidate, fate), change)
            }
        };
        lines.push(line);
        tried.push(change);
    }

    let asked = Asked { targets: files.targets.clone(), reuse, http2: http2.clone() };
    let measured = measure(args, &mut copies, asked, &mut lines, &tried, &stop);
    let said_of_copies = copies.said();
    drop(folder);
    let measured = measured?;
    let question = Question {
        lines: &lines,
        busiest_requests_per_s: mix.busiest_requests_per_s,
        asked_requests_per_s: args.rate,
        cores: measured.screening.run.header.host.cpu.online,
        price: args.money.as_ref(),
    };
    let site = configured.site();
    let mut said = site.said.clone();
    said.extend(said_of_copies);
    said.extend(mix.said(&files));
    said.extend(spoken::said(mix.spoken(), site, http2.is_some()));
    said.extend(how);
    let about = About {
        server: server.words(),
        site: match site.name.as_str() {
            "" => format!("a site without a name: {}", site.why),
            name => format!("{name}: {}", site.why),
        },
        mix: mix.words(),
        has_log: args.log.is_some(),
        said,
    };
    let report = TuneReport::new(&measured.phases(), &question, about, |change| {
        let changes: Vec<&Change> =
            change.iter().filter_map(|at| tried.get(*at)?.as_ref()).collect();
        configured.diff(&changes, &reading::without_links)
    });
    print(args, &report)?;
    measured.ended.map_or_else(|| verdict(&report), Err)
}

fn name(offer: &Offer) -> &str {
    match offer {
        Offer::Try(candidate) => &candidate.name,
        Offer::Not { name, .. } => name,
    }
}

fn line(candidate: Candidate, fate: Fate) -> Line {
    let sets = candidate.change.sets();
    let Candidate { name, present, reason, reference, .. } = candidate;
    Line { name, present, sets, reason, reference, fate }
}

fn untried(name: String, why: String) -> Line {
    Line {
        sets: name.clone(),
        name,
        present: String::new(),
        reason: String::new(),
        reference: String::new(),
        fate: Fate::NotTried { why },
    }
}

fn print(args: &SiteArgs, report: &TuneReport) -> Result<()> {
    if let Some(out) = &args.out {
        replace::or_stdout(Some(out), html(report).as_bytes())?;
    }
    let layout = || Layout::plain(render::columns(WidthArgs::default()).min(110));
    tell::result(&if args.json { json(report) } else { text(report, layout()) })
}

/// # Errors
/// There is no answer.
fn verdict(report: &TuneReport) -> Result<()> {
    match report.answer.outcome {
        Outcome::Change | Outcome::NothingToChange => Ok(()),
        Outcome::Withheld => {
            let why = report.withheld_because.join("; ");
            let message = format!("verdicts are withheld: {why}");
            Err(Error::new(ErrorKind::Withheld, "verdicts-withheld", message)
                .help("repeat it when the machine is quieter, or with a longer --budget"))
        }
        Outcome::NothingKept => {
            let message = "no block counts, so nothing was compared";
            Err(Error::new(ErrorKind::NothingKept, "nothing-kept", message)
                .help("repeat it when the machine is quieter, or with a longer --budget"))
        }
    }
}
