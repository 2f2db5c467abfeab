//! `zc serve`: the server of `zc run --remote` and `--via`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::ValueHint;

use super::remote::host_and_port;
use super::{interrupt, tell};
use zc_kernel::names::addresses as find_addresses;
use zc_measure::session::serve::{Admission, Duties, ServeEvent, ServeOptions, serve, serve_stdio};
use zc_remote::secret::Secret;
use zc_remote::{PORT, SessionEnd};
use zc_rig::privileges::{self, Work};
use zc_run::address::{has_zone, is_ipv6};
use zc_run::{Error, Result};

/// Arguments of `zc serve`.
#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    /// Address to listen on; off loopback callers need a token [default: 127.0.0.1:2223]
    #[arg(long, value_name = "ADDRESS[:PORT]", conflicts_with = "stdio")]
    listen: Option<String>,
    /// A file whose first line is the token that callers need, session after session [default: one
    /// is made for each]
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with = "stdio",
    )]
    token_file: Option<PathBuf>,
    /// Port on which the bytes arrive [default: the one above, or a free one]
    #[arg(
        long,
        value_name = "PORT",
        value_parser = clap::value_parser!(u16).range(1..),
    )]
    data_port: Option<u16>,
    /// End after the first session, with exit code 0; a client that does not know the token has
    /// none
    #[arg(long, conflicts_with = "stdio")]
    once: bool,
    /// Serve the parent process, over stdin and stdout: what --via does
    #[arg(long)]
    stdio: bool,
    /// With --stdio, be a client of NFS too, which keeps the right to mount: what --via of `zc run
    /// nfs` does
    #[arg(long, requires = "stdio")]
    nfs: bool,
    /// With --stdio, make a run and send it back, in place of all else: what zc run --kernel
    /// --remote does
    #[arg(long, requires = "stdio", conflicts_with = "nfs")]
    runs: bool,
}

/// Serves until Ctrl-C, to the end of the stream, or to that of the first session.
///
/// # Errors
/// The server cannot listen on the address, or the token cannot be read.
pub(super) fn run(args: &ServeArgs) -> Result<()> {
    let stop = interrupt::flag()?;
    // What only root may read comes first.
    let token = args.token_file.as_deref().map(Secret::from_file).transpose()?;
    let (work, duties) = match (args.nfs, args.runs) {
        // The run itself gives up what it does not need.
        (_, true) => (None, Duties::Runs),
        (true, _) => (Some(Work::ServingByNfs), Duties::ReadsNfs),
        (false, _) => (Some(Work::Serving), Duties::Usual),
    };
    work.map_or(Ok(()), privileges::keep_for)?;
    if args.stdio {
        return serve_stdio(args.data_port, duties, &stop);
    }
    let listen = listen_address(args.listen.as_deref())?;
    let admission = match token {
        Some(token) => Admission::Token(token),
        None if listen.ip().is_loopback() => Admission::Everybody,
        None => Admission::OneTime,
    };
    let options = ServeOptions { listen, data_port: args.data_port, admission, once: args.once };
    serve(&options, &stop, &mut |event| tell::note(&text(&event)))
}

fn text(event: &ServeEvent) -> String {
    match event {
        ServeEvent::Listening { at } => format!("listening on {at}; Ctrl-C ends it"),
        ServeEvent::Token { at, word } => {
            format!(
                "for one session, on the other machine: zc run --remote {} --token {word}",
                to_call(*at)
            )
        }
        ServeEvent::Began { peer, version } => format!("{peer}: a session begins (zc {version})"),
        ServeEvent::Ended { peer, end } => match end {
            Ok(SessionEnd::Closed) => format!("{peer}: the session has ended"),
            Ok(SessionEnd::Stopped) => format!("{peer}: the session was stopped"),
            Ok(SessionEnd::Idle) => {
                format!("{peer}: the session was ended: it asked nothing for ten minutes")
            }
            Ok(SessionEnd::Nonsense) => {
                format!("{peer}: the session was ended: it asked what no zc asks")
            }
            Err(error) => format!("{peer}: the session broke: {error}"),
        },
        ServeEvent::Listener(event) => event.to_string(),
    }
}

/// The text of an address, with this host's name if it listens on all addresses.
fn to_call(at: SocketAddr) -> String {
    let port = if at.port() == PORT { String::new() } else { format!(":{}", at.port()) };
    match at.ip() {
        ip if ip.is_unspecified() => {
            let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
            format!("{name}{port}")
        }
        // The other machine has an interface of another name.
        IpAddr::V6(ip) if has_zone(at) => format!("'[{ip}%INTERFACE]{port}'"),
        IpAddr::V6(ip) if !port.is_empty() => format!("[{ip}]{port}"),
        ip => format!("{ip}{port}"),
    }
}

fn listen_address(text: Option<&str>) -> Result<SocketAddr> {
    let Some(text) = text else { return Ok(SocketAddr::from(([127, 0, 0, 1], PORT))) };
    // Port 0 takes a free one.
    let (host, port) = match text.strip_suffix(":0").filter(|_| !is_ipv6(text)) {
        Some(host) => (host_and_port(host, Some(PORT))?.0, 0),
        None => host_and_port(text, Some(PORT))?,
    };
    find_addresses(&host, port).ok().and_then(|found| found.first().copied()).ok_or_else(|| {
        Error::usage(
            "address-not-here",
            format!("--listen: \"{host}\" is no address of this machine"),
        )
        .help("0.0.0.0 is all of them, [::] too those of IPv6")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_to_listen_on_may_have_a_zone_and_any_port() {
        for (text, at) in [
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("127.0.0.1:99", "127.0.0.1:99"),
            ("0.0.0.0", "0.0.0.0:2223"),
            ("[::]", "[::]:2223"),
            ("::", "[::]:2223"),
            ("2001:db8:0:0:0:0:0:0", "[2001:db8::]:2223"),
            ("[::1]:0", "[::1]:0"),
            ("[fe80::1%lo]:0", "[fe80::1%1]:0"),
            ("fe80::1%lo", "[fe80::1%1]:2223"),
        ] {
            assert_eq!(listen_address(Some(text)).unwrap().to_string(), at, "{text}");
        }
        for text in ["[fe80::1%zc-no-such]:1", "127.0.0.1:0:0", "a b", "127.0.0.1:00"] {
            assert!(listen_address(Some(text)).is_err(), "{text}");
        }
        let called = to_call("[fe80::1%3]:2223".parse().unwrap());
        assert_eq!(called, "'[fe80::1%INTERFACE]'");
    }
}
