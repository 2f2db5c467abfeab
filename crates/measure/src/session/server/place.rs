//! Where the server is, and the way of the traffic to it: a link of zc's own to a server that zc
//! starts, or the loopback of this machine to one that is there.

use std::net::IpAddr;
use std::sync::Arc;

use zc_kernel::netlink::Devices;

use super::super::options::CpuPair;
use super::options::ServerOptions;
use crate::http::{Load, LoadOptions, Origin, bind_to};
use crate::link::Link;
use crate::trial::{self, Up};
use zc_run::{Error, ErrorKind, IpVersion, LinkFacts, LinkKind, LinkOptions, Result};

/// The way to the server, and what is asked for there.
pub(super) struct Place {
    pub(super) up: Up,
    origins: Vec<Origin>,
    /// An address that exists only where the load should be; `None` where the kernel's choice is as
    /// good.
    source: Option<IpAddr>,
}

impl Place {
    /// A veth pair, to whose one side the server will be started.
    ///
    /// # Errors
    /// There can be none here; the costs of its two sides cannot be told apart; a URL is not valid.
    pub(super) fn apart(options: &ServerOptions, cpus: CpuPair) -> Result<Self> {
        let link_options = LinkOptions::default();
        let candidates = [LinkKind::Veth];
        let up = trial::bring_up(&candidates, cpus.sender, cpus.receiver, &link_options, &[])?;
        let link = up.links.base();
        told_apart(link.facts())?;
        let address = link.sender_address();
        let origins = options.states.iter().map(|each| Origin::on(&each.url, address));
        // From an address that exists only on that side: started elsewhere by mistake, the load would
        // fail before a packet leaves.
        let source = Some(link.receiver_address());
        Ok(Self { origins: origins.collect::<Result<_>>()?, source, up })
    }

    /// The loopback, to a server that runs.
    ///
    /// # Errors
    /// A URL is not valid, or its host is not this machine; the loopback is down.
    pub(super) fn here(options: &ServerOptions) -> Result<Self> {
        let origins: Vec<Origin> =
            options.states.iter().map(|each| Origin::resolve(&each.url)).collect::<Result<_>>()?;
        let devices =
            Devices::open().map_err(|error| Error::os("ask for the way to the server", error))?;
        for origin in &origins {
            for address in origin.ips() {
                let here = devices.is_local(address);
                let here =
                    here.map_err(|error| Error::os(format!("find the way to {address}"), error))?;
                if !here {
                    return Err(elsewhere(origin, address));
                }
            }
        }
        let is_v6 = origins.first().and_then(|origin| origin.ips().next());
        let ip = match is_v6.is_some_and(|address| address.is_ipv6()) {
            true => IpVersion::V6,
            false => IpVersion::V4,
        };
        let link_options = LinkOptions { ip, ..LinkOptions::default() };
        let up = trial::bring_up(&[LinkKind::Loopback], 0, 0, &link_options, &[])?;
        Ok(Self { up, origins, source: None })
    }

    pub(super) fn link(&self) -> &Arc<dyn Link> {
        self.up.links.base()
    }

    /// Starts the load, on a CPU of its own.
    ///
    /// # Errors
    /// As [`Load::start`].
    pub(super) fn start_load(&self, options: &ServerOptions, cpu: usize) -> Result<Load> {
        let load_options = LoadOptions {
            origins: self.origins.clone(),
            connections: options.connections,
            reuse: options.reuse,
            source: self.source,
            headers: options.headers.clone(),
            trust: options.trust.clone(),
            timeout: options.timeout,
        };
        let link = Arc::clone(self.link());
        Load::start(load_options, move || {
            link.enter_receiver()?;
            bind_to(cpu)
        })
    }
}

/// Checks that the server's CPU does the server's work alone.
///
/// # Errors
/// [`ErrorKind::Unsupported`]: packets cannot be steered, and the load's softirqs may run there.
fn told_apart(link: &LinkFacts) -> Result<()> {
    if link.sides_apart {
        return Ok(());
    }
    let why =
        link.rps_check.as_deref().unwrap_or("packets are not steered to the side they are for");
    Err(Error::new(
        ErrorKind::Unsupported,
        format!("the costs of server and load cannot be told apart here: {why}"),
    )
    .help("run as root, or on Linux 6.3 or later"))
}

/// The error of a server on another machine.
fn elsewhere(origin: &Origin, address: IpAddr) -> Error {
    let url = zc_run::escape(origin.url(), 200);
    Error::usage(format!(
        "the server of \"{url}\" is not on this machine, whose CPUs are measured: packets to \
         {address} would leave it"
    ))
    .help(
        "run zc where the server is; by an address of this machine, such as localhost, and \
         --header 'Host: NAME' if the server goes by the name",
    )
}
