//! Location of the server, and the way of the traffic to it: a link of zc's own to a server that zc
//! starts; the loopback of this machine to one that is already there; or the network, from another
//! machine that sends the requests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use super::super::options::CpuPair;
use super::super::remote::Control;
use super::options::ServerOptions;
use zc_kernel::netlink::Devices;
use zc_load::{Load, LoadOptions, Origin, Trust};
use zc_remote::{Client, FarOrigin, LoadWanted, Transport};
use zc_rig::link::Link;
use zc_rig::meter;
use zc_rig::meter::bind_to;
use zc_rig::trial::{self, Up};
use zc_run::address::{canonical, has_zone, ip_text};
use zc_run::{
    Error, ErrorKind, IpVersion, LinkFacts, LinkKind, LinkOptions, Result, Severity, Warning,
};
use zc_servers::{Asker, Found, Generator, H2load, RemoteLoad};

/// The way to the server, and what is asked for there.
pub(super) struct Place {
    pub(super) up: Up,
    /// Addresses on which a server that is already there listens.
    listens_at: Vec<SocketAddr>,
    asks: Asks,
}

/// The machine that sends the requests, and their origins.
enum Asks {
    /// This machine.
    Here {
        origins: Vec<Origin>,
        /// An address that exists only where the load should be; `None` where the kernel's choice
        /// is as good.
        source: Option<SocketAddr>,
    },
    /// Another one.
    There { client: Arc<Mutex<Client<Box<dyn Transport>>>>, origins: Vec<FarOrigin> },
}

impl Place {
    /// A veth pair, to whose one side the server will be started. Of several states that are asked
    /// for a mix all but the first may be missing.
    ///
    /// # Errors
    /// There can be none here; the costs of its two sides cannot be told apart; a URL is not valid.
    pub(super) fn apart(options: &ServerOptions, cpus: CpuPair) -> Result<Self> {
        let up = sides_apart(cpus, &LinkOptions::default())?;
        let link = up.links.base();
        let address = SocketAddr::new(link.sender_address(), 0);
        let origins = options.states.iter().enumerate().map(|(place, each)| {
            let origin = Origin::on(&each.url, address)?;
            match &options.mix {
                Some(mix) if place == 0 => origin.asked_for(mix.clone()),
                Some(mix) => Ok(origin.asked_for(mix.clone())?.may_be_missing()),
                None => Ok(origin),
            }
        });
        // From an address that exists only on that side: started elsewhere by mistake, the load
        // would fail before a packet leaves.
        let source = Some(SocketAddr::new(link.receiver_address(), 0));
        let asks = Asks::Here { origins: origins.collect::<Result<_>>()?, source };
        Ok(Self { up, listens_at: Vec::new(), asks })
    }

    /// The loopback, to a server that runs.
    ///
    /// # Errors
    /// A URL is not valid, or its host is not this machine; the loopback is down.
    pub(super) fn here(options: &ServerOptions) -> Result<Self> {
        let origins: Vec<Origin> =
            options.states.iter().map(|each| Origin::resolve(&each.url)).collect::<Result<_>>()?;
        origins.iter().try_for_each(must_be_here)?;
        let first = origins.first().and_then(|origin| origin.addresses().first());
        let ip = match first.is_some_and(SocketAddr::is_ipv6) {
            true => IpVersion::V6,
            false => IpVersion::V4,
        };
        let link_options = LinkOptions { ip, ..LinkOptions::default() };
        let up = trial::bring_up(&[LinkKind::Loopback], 0, 0, &link_options, &[])?;
        let listens_at = addresses(&origins);
        Ok(Self { up, listens_at, asks: Asks::Here { origins, source: None } })
    }

    /// The network to a server that runs here, from the other machine of `control`, at the address
    /// that each URL has here. A URL of localhost means the address at which the other machine sees
    /// this one.
    ///
    /// # Errors
    /// A URL is not valid, its host is not this machine, or the other machine cannot know where it
    /// is.
    pub(super) fn from_afar(options: &ServerOptions, control: Control) -> Result<Self> {
        let (mut origins, mut listens_at) = (Vec::new(), Vec::new());
        // By it the other machine knows this one, unless an address is translated on the way.
        let own = control.own.map(canonical);
        let mut named = None;
        for each in &options.states {
            let origin = Origin::resolve(&each.url)?;
            must_be_here(&origin)?;
            listens_at.extend_from_slice(origin.addresses());
            let at_own = |at: &SocketAddr| Some(SocketAddr::new(own?.ip(), at.port()));
            listens_at.extend(origin.addresses().iter().filter_map(at_own));
            let is_known_there =
                |address: &&SocketAddr| !address.ip().is_loopback() && !has_zone(**address);
            let known = origin.addresses().iter().find(is_known_there).copied();
            if known.or(own).is_none() {
                return Err(Error::usage(
                    "server-unreachable-from-far-end",
                    format!(
                        "the other machine does not reach the server by \"{}\"",
                        zc_run::escape(&each.url, 200)
                    ),
                )
                .help("name the server by an address that the other machine reaches"));
            }
            named = named.or(known);
            let address = known.map(|known| known.ip());
            origins.push(FarOrigin { url: each.url.clone(), address });
        }
        let up = trial::towards(named.or(own).unwrap_or(([127, 0, 0, 1], 0).into()))?;
        let client = Arc::new(Mutex::new(Client::new(control.connection, control.transport)));
        Ok(Self { up, listens_at, asks: Asks::There { client, origins } })
    }

    pub(super) fn link(&self) -> &Arc<dyn Link> {
        self.up.links.base()
    }

    /// The server that is there.
    pub(super) fn server(&self) -> Found {
        Found::at(&self.listens_at)
    }

    /// Starts the load: here on a CPU of its own, or on the other machine.
    ///
    /// # Errors
    /// Same as [`Load::start`]; or the other machine is gone.
    pub(super) fn start_load(&self, options: &ServerOptions, cpu: usize) -> Result<Started> {
        match &self.asks {
            Asks::Here { origins, source } => {
                let load_options = LoadOptions {
                    origins: origins.clone(),
                    // By HTTP/2 it compares contents, and no more.
                    connections: options.http2.as_ref().map_or(options.connections, |_| 1),
                    reuse: options.reuse,
                    source: *source,
                    headers: options.headers.clone(),
                    trust: options.trust.clone(),
                    timeout: options.timeout,
                };
                let link = Arc::clone(self.link());
                let load = Load::start(load_options, move || {
                    link.enter_receiver()?;
                    bind_to(cpu)
                });
                let load = Arc::new(load?);
                let load = match (&options.http2, &options.mix) {
                    (Some(http2), Some(mix)) => Asker::H2load(Arc::new(H2load::new(
                        http2.clone(),
                        load,
                        Arc::clone(self.link()),
                        origins.clone(),
                        mix,
                        cpu,
                    )?)),
                    _ if options.generator.is_empty() => Asker::Here(load),
                    _ => Asker::Generator(Arc::new(Generator::new(
                        load,
                        Arc::clone(self.link()),
                        options.generator.clone(),
                        origins.iter().map(Origin::by_address).collect(),
                        cpu,
                    ))),
                };
                Ok(Started { load, same_machine: false })
            }
            Asks::There { client, origins } => {
                let wanted = LoadWanted {
                    boot_id: meter::boot_id().unwrap_or_default(),
                    origins: origins.clone(),
                    connections: options.connections,
                    keep_alive: options.reuse.keeps(),
                    headers: options.headers.clone(),
                    checks_certificate: options.trust != Trust::Anybody,
                    timeout_ns: u64::try_from(options.timeout.as_nanos()).unwrap_or(u64::MAX),
                };
                let same_machine =
                    client.lock().unwrap_or_else(PoisonError::into_inner).load(wanted)?;
                let client: Arc<Mutex<dyn RemoteLoad>> = Arc::<Mutex<Client<_>>>::clone(client);
                Ok(Started { load: Asker::There(client), same_machine })
            }
        }
    }
}

fn addresses(origins: &[Origin]) -> Vec<SocketAddr> {
    origins.iter().flat_map(Origin::addresses).copied().collect()
}

/// The warning that costs are by wall time, as nobody is seen who listens there.
pub(super) fn not_found() -> Warning {
    let text = "the server's processes are not seen, so their CPU clocks are not known: what \
                other programs and the hypervisor take is in every cost";
    Warning::new("server-not-found", Severity::Note, text).remedy(
        "run as root, in the network namespace of the server and not through a proxy of a \
         container",
    )
}

/// A load whose connections stand.
pub(super) struct Started {
    pub(super) load: Asker,
    /// Whether it is the load of another machine, and that is this one.
    pub(super) same_machine: bool,
}

/// Checks that server and load have a CPU each.
///
/// # Errors
/// [`ErrorKind::Unsupported`]: they have not.
pub(super) fn a_cpu_each(cpus: CpuPair) -> Result<()> {
    if cpus.sender != cpus.receiver {
        return Ok(());
    }
    let message = "server and load need a CPU each, and this process may use only one";
    Err(Error::unsupported("too-few-cpus", message))
}

/// Brings up a veth pair whose sides' costs can be told apart.
///
/// # Errors
/// There can be none here, or its sides' costs cannot.
pub(super) fn sides_apart(cpus: CpuPair, options: &LinkOptions) -> Result<Up> {
    let up = trial::bring_up(&[LinkKind::Veth], cpus.sender, cpus.receiver, options, &[])?;
    told_apart(up.links.base().facts())?;
    Ok(up)
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
        "costs-inseparable",
        format!("the costs of server and load cannot be told apart here: {why}"),
    )
    .help("run as root, or on Linux 6.3 or later"))
}

/// # Errors
/// An address of the origin's host is not one of this machine.
fn must_be_here(origin: &Origin) -> Result<()> {
    for &address in origin.addresses() {
        if !is_here(address)? {
            return Err(elsewhere(origin, address));
        }
    }
    Ok(())
}

/// Whether an address is one of this machine.
///
/// # Errors
/// The kernel does not say.
pub(super) fn is_here(address: SocketAddr) -> Result<bool> {
    let here = Devices::open().and_then(|devices| devices.is_local(address));
    here.map_err(|error| Error::os(format!("find the way to {}", ip_text(address)), error))
}

/// The error of a server on another machine.
fn elsewhere(origin: &Origin, address: SocketAddr) -> Error {
    let url = zc_run::escape(origin.url(), 200);
    Error::usage(
        "server-elsewhere",
        format!(
            "the server of \"{url}\" is not on this machine, whose CPUs are measured: packets to \
         {} would leave it",
            ip_text(address)
        ),
    )
    .help(
        "run zc where the server is; by an address of this machine, such as localhost, and \
         --header 'Host: NAME' if the server goes by the name",
    )
}
