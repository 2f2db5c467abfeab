//! Measures the cost of a service that runs already, and whose load comes from elsewhere: windows
//! one after another, with the service's CPU time, sockets and requests at both edges of each.
//!
//! It cannot be paused, so there are no idle windows: the soakers' idle speed is that of their
//! units that nothing interrupts ([`SoakEdge::undisturbed`](zc_run::SoakEdge)).

use super::setup::{IDLE_WINDOWS, Soaked, idle, interrupted, set_up, start};
use super::status::{Served, StatusUrl};
use zc_kernel::clock::{self, sleep_until_or_stop};
use zc_kernel::stop::Stop;
use zc_rig::meter::{LoadMeter, NetReading, Network, Processes, Target, TargetReading};
use zc_run::{Error, ProcessTime, Result, ServiceWindow, SoakService, SoakWindow, Span};

/// The processes to observe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// A process and its descendants.
    Pid(i32),
    /// The processes of a cgroup, by its folder or by its path in a hierarchy.
    Cgroup(String),
    /// The processes of a unit of systemd.
    Service(String),
    /// The processes of a container of Docker or Podman, or of a pod of Kubernetes.
    Container(String),
}

impl Who {
    /// Looks for its processes.
    ///
    /// # Errors
    /// There is no such service, or zc belongs to it.
    pub(super) fn open(&self) -> Result<Target> {
        match self {
            Self::Pid(pid) => Target::of_pid(*pid),
            Self::Cgroup(path) => Target::of_cgroup(path),
            Self::Service(name) => Target::of_service(name),
            Self::Container(name) => Target::of_container(name),
        }
    }

    /// Whether it may be started again under the same name: a process id then is another's.
    pub(super) fn comes_back(&self) -> bool {
        !matches!(self, Self::Pid(_))
    }
}

/// Options of [`service`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceOptions {
    /// CPUs and kind of the soakers.
    pub soaked: Soaked,
    /// The processes to observe.
    pub who: Who,
    /// Length of a window.
    pub period_ns: u64,
    /// Number of windows; at least 1.
    pub windows: u64,
    /// nginx's status page.
    pub status: Option<StatusUrl>,
}

/// Observed windows of a service.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedService {
    /// The windows.
    pub seen: SoakService,
    /// Why there are fewer than were asked for.
    pub fault: Option<Error>,
}

/// Observes a service until all windows have been measured, `stop` is set, or the service has
/// ended.
///
/// # Errors
/// There is no such service, or nothing could be observed.
pub fn service(options: &ServiceOptions, stop: &Stop) -> Result<ObservedService> {
    let target = options.who.open()?;
    // Before the soakers: what is wrong is told at once.
    options.status.as_ref().map(StatusUrl::read).transpose()?;
    let network = network_of(&target.read()?);
    let mut meter = set_up(&options.soaked)?;
    let start = start(&mut meter, |meter| {
        idle(meter, IDLE_WINDOWS, &mut |at_ns| sleep_until_or_stop(at_ns, stop))
    })?;
    let start = start.ok_or_else(interrupted)?;
    let mut seen = SoakService {
        target: target.description().clone(),
        start,
        windows: Vec::new(),
        no_sockets: network.as_ref().err().cloned(),
    };
    let mut observer =
        Observer { target, network: network.ok(), meter, status: options.status.as_ref() };
    for _ in 0..options.windows {
        match observer.window(options.period_ns, stop) {
            Ok(Some((window, no_sockets))) => {
                seen.no_sockets = seen.no_sockets.or(no_sockets);
                seen.windows.push(window);
            }
            Ok(None) => {
                let fault = match seen.windows.is_empty() {
                    true => return Err(interrupted()),
                    false => Error::interrupted("interrupted: this is what was measured by then"),
                };
                return Ok(ObservedService { seen, fault: Some(fault) });
            }
            Err(error) if seen.windows.is_empty() => return Err(error),
            Err(error) => return Ok(ObservedService { seen, fault: Some(error) }),
        }
    }
    Ok(ObservedService { seen, fault: None })
}

/// The network namespace of a service, or why it is not seen.
pub(super) fn network_of(reading: &TargetReading) -> std::result::Result<Network, String> {
    match reading.pids.first() {
        Some(pid) => Network::for_process(*pid).map_err(|error| error.message),
        None => Err("it has no process that is seen here".to_owned()),
    }
}

struct Observer<'o> {
    target: Target,
    network: Option<Network>,
    meter: LoadMeter,
    status: Option<&'o StatusUrl>,
}

/// Readings at an edge of a window.
struct Edge {
    target: TargetReading,
    others: Processes,
    net: Option<NetReading>,
    served: Option<Served>,
}

impl Observer<'_> {
    /// A window, and why the sockets are not known. `None` when it was interrupted.
    fn window(
        &mut self,
        period_ns: u64,
        stop: &Stop,
    ) -> Result<Option<(ServiceWindow, Option<String>)>> {
        // The service is read last before and first after the window.
        let target = self.target.read()?;
        let before = self.rest(target)?;
        let before = Edge { target: self.target.read()?, ..before };
        let zc_before_ns = clock::process_cpu_ns();
        let opened = self.meter.open()?;
        if sleep_until_or_stop(opened.soak.at_ns.saturating_add(period_ns), stop) {
            return Ok(None);
        }
        let closed = self.meter.close()?;
        let zc_ns = clock::process_cpu_ns().saturating_sub(zc_before_ns);
        let target = self.target.read()?;
        let after = self.rest(target)?;

        let (clocks, cgroup) = after.target.since(&before.target);
        let (tcp, interfaces) = match (&after.net, &before.net) {
            (Some(after), Some(before)) => after.since(before),
            _ => (None, None),
        };
        let used = after.others.since(&before.others);
        let others = used.into_iter().map(|((kind, name), window_ns)| ProcessTime {
            kind,
            name,
            window_ns,
            idle_ns: 0,
        });
        let elapsed_ns = closed.soak.at_ns.saturating_sub(opened.soak.at_ns);
        let window = ServiceWindow {
            window: SoakWindow { opened, closed },
            clocks,
            cgroup,
            processes: after.target.pids.len(),
            others_elapsed_ns: after.others.at_ns.saturating_sub(before.others.at_ns),
            others: others.collect(),
            zc: Span { elapsed_ns, count: zc_ns },
            tcp,
            interfaces,
            requests: after.served.zip(before.served).map(|(after, before)| Span {
                elapsed_ns: after.at_ns.saturating_sub(before.at_ns),
                // The second request is in its own answer.
                count: after.requests.saturating_sub(before.requests).saturating_sub(1),
            }),
        };
        let no_sockets = after.net.as_ref().and_then(NetReading::no_sockets);
        Ok(Some((window, no_sockets.map(str::to_owned))))
    }

    fn rest(&mut self, target: TargetReading) -> Result<Edge> {
        let served = self.status.map(StatusUrl::read).transpose()?;
        let net = self.network.as_ref().map(|network| network.read(&target.pids));
        let mut except = vec![std::process::id() as i32, self.meter.soakers().pid()];
        except.extend(&target.pids);
        Ok(Edge { others: Processes::read(&except), net, served, target })
    }
}
