//! The place of a run's traffic, and the settings of the host there: in the network namespaces of
//! the link, where it has its own, else in those that zc was started in.
//!
//! Settings below /proc/sys/net belong either to a network namespace or to the whole host. Those of
//! the host do not exist in other namespaces, or cannot be written there (net/sysctl_net.c,
//! Documentation/admin-guide/sysctl/net.rst), and that is how the two are distinguished.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::shell::{CONGESTION, Group, Setting, sysctl_name};
use zc_kernel::ethtool::{Ethtool, Numbers};
use zc_kernel::netns::NetNs;
use zc_run::{Error, Result, StatePlace, in_words};

const SYSCTLS: &str = "/proc/sys";

/// The device through which processes of one namespace reach each other.
const LOOPBACK: &str = "lo";

/// A value that was read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spot {
    /// The setting that a command names.
    pub(super) setting: Setting,
    /// `net.ipv4.tcp_sack`, `rx-gro of zc1`.
    pub(super) name: String,
    pub(super) place: StatePlace,
    /// Which of several links, each with namespaces of its own.
    pub(super) link: usize,
}

/// The values of one moment. What is off and what does not exist has none.
pub(super) type Values = BTreeMap<Spot, String>;

/// The place of the traffic.
#[derive(Debug)]
pub(super) struct Traffic {
    /// Namespaces of sender and receiver, of each link.
    namespaces: Vec<[NetNs; 2]>,
    /// The device that it passes, where the namespaces are not its own.
    device: String,
}

impl Traffic {
    /// # Errors
    /// A namespace cannot be opened.
    pub(super) fn open(namespaces: &[[PathBuf; 2]], device: &str) -> Result<Self> {
        let open = |path: &PathBuf| {
            NetNs::open(path).map_err(|error| Error::os("open a network namespace", error))
        };
        let pair = |[sender, receiver]: &[PathBuf; 2]| Ok([open(sender)?, open(receiver)?]);
        let namespaces = namespaces.iter().map(pair).collect::<Result<_>>()?;
        Ok(Self { namespaces, device: device.to_owned() })
    }

    /// Whether it has network namespaces of its own.
    pub(super) fn is_apart(&self) -> bool {
        !self.namespaces.is_empty()
    }

    /// The sysctls among these that each of its own network namespaces has for itself.
    ///
    /// # Errors
    /// A namespace cannot be entered.
    pub(super) fn own<'s>(&self, paths: impl Iterator<Item = &'s str>) -> Result<BTreeSet<String>> {
        let mut own: BTreeSet<String> =
            paths.filter(|path| path.starts_with("net/")).map(str::to_owned).collect();
        if !self.is_apart() {
            return Ok(BTreeSet::new());
        }
        self.in_each(|_, _| {
            // Opening it changes nothing.
            own.retain(|path| {
                std::fs::File::options().write(true).open(Path::new(SYSCTLS).join(path)).is_ok()
            });
            Ok(())
        })?;
        Ok(own)
    }

    /// Sets sysctls in each of its own namespaces.
    ///
    /// # Errors
    /// The kernel does not take a value.
    pub(super) fn set(&self, sysctls: &[(String, String)]) -> Result<()> {
        let mut refused = None;
        let set = self.in_each(|_, _| {
            for (path, value) in sysctls {
                std::fs::write(Path::new(SYSCTLS).join(path), value).map_err(|error| {
                    refused = Some((path, value, error.kind()));
                    Error::failed(
                        "state-not-settable",
                        format!(
                            "{} cannot be set to \"{}\" where the traffic runs: {}",
                            sysctl_name(path),
                            zc_run::escape(value, 60),
                            in_words(&error)
                        ),
                    )
                })?;
            }
            Ok(())
        });
        let help = refused.and_then(|(path, value, kind)| congestion_help(path, value, kind));
        set.map_err(|error| Error { help, ..error })
    }

    /// The values that these settings have where the traffic runs.
    ///
    /// # Errors
    /// A namespace cannot be entered.
    pub(super) fn read(&self, settings: &BTreeSet<Setting>) -> Result<Values> {
        let mut values = Values::new();
        self.in_each(|link, place| {
            let devices = if settings.iter().any(is_of_a_device) { devices() } else { Vec::new() };
            for setting in settings {
                let mut found = |name: String, value| {
                    values.insert(Spot { setting: setting.clone(), name, place, link }, value);
                };
                match setting {
                    Setting::Sysctl(path) => {
                        if let Some(value) = sysctl(path) {
                            found(sysctl_name(path), value);
                        }
                    }
                    Setting::Device { group, .. } => {
                        for device in &devices {
                            of_device(device, *group, &mut found);
                        }
                    }
                }
            }
            Ok(())
        })?;
        // The others are the host's.
        for setting in settings {
            if values.keys().any(|spot| spot.setting == *setting) {
                continue;
            }
            let mut found = |name: String, value| {
                let setting = setting.clone();
                values.insert(Spot { setting, name, place: StatePlace::Host, link: 0 }, value);
            };
            match setting {
                Setting::Sysctl(path) => {
                    if let Some(value) = sysctl(path) {
                        found(sysctl_name(path), value);
                    }
                }
                Setting::Device { .. } if self.is_apart() => {}
                Setting::Device { group, device } => {
                    of_device(self.device_of(device.as_deref()), *group, &mut found);
                }
            }
        }
        Ok(values)
    }

    /// The devices at which settings of `device` are read, in words.
    pub(super) fn devices_read(&self, device: Option<&str>) -> String {
        if !self.is_apart() {
            return self.device_of(device).to_owned();
        }
        let mut all = BTreeSet::new();
        // Without them there is only less to say.
        let _ = self.in_each(|_, _| {
            all.extend(devices());
            Ok(())
        });
        all.into_iter().collect::<Vec<_>>().join(" and ")
    }

    /// The device to read where the namespaces are the host's: a card below the one that the
    /// traffic passes (a bond, a bridge) changes what it costs; with the loopback no card does.
    fn device_of<'d>(&'d self, named: Option<&'d str>) -> &'d str {
        if self.device == LOOPBACK { LOOPBACK } else { named.unwrap_or(&self.device) }
    }

    /// Does `work` in each of its own namespaces.
    fn in_each(&self, mut work: impl FnMut(usize, StatePlace) -> Result<()> + Send) -> Result<()> {
        for (link, pair) in self.namespaces.iter().enumerate() {
            for (namespace, place) in pair.iter().zip([StatePlace::Sender, StatePlace::Receiver]) {
                let done = namespace.inside(|| Ok(work(link, place)));
                done.map_err(|error| Error::os("enter a network namespace of the link", error))??;
            }
        }
        Ok(())
    }
}

/// Why a network namespace does not take a congestion control as its default. One that is not the
/// first takes only what is allowed to every user (`tcp_set_default_congestion_control`,
/// net/ipv4/tcp_cong.c), while a socket of zc's may have any.
fn congestion_help(path: &str, value: &str, why: ErrorKind) -> Option<String> {
    if path != CONGESTION {
        return None;
    }
    let list = |name: &str| sysctl(&format!("net/ipv4/tcp_{name}_congestion_control"));
    match why {
        ErrorKind::PermissionDenied => {
            let allowed = list("allowed").unwrap_or_default();
            Some(format!(
                "a network namespace of a link takes only what the host allows to every user \
                 ({allowed}): as root, sysctl -w \
                 net.ipv4.tcp_allowed_congestion_control='{allowed} {}'; or zc run congestion, \
                 which sets it by socket",
                zc_run::escape(value, 60)
            ))
        }
        ErrorKind::NotFound => Some(format!(
            "this kernel has {}; a module may add it",
            list("available").unwrap_or_default()
        )),
        _ => None,
    }
}

fn is_of_a_device(setting: &Setting) -> bool {
    matches!(setting, Setting::Device { .. })
}

/// A sysctl of the calling thread's network namespace; numbers are separated by one space each.
fn sysctl(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(Path::new(SYSCTLS).join(path)).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The devices of the calling thread's network namespace but for `lo`.
fn devices() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let names = text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
    names.filter(|name| name != LOOPBACK).collect()
}

/// Reads a group of settings of a device of the calling thread's network namespace; settings that
/// the device does not have are omitted.
fn of_device(device: &str, group: Group, found: &mut impl FnMut(String, String)) {
    let Ok(ethtool) = Ethtool::open() else { return };
    let group = match group {
        Group::Offloads => {
            let active = ethtool.active(device).unwrap_or_default();
            // Some kernels have features without a name.
            for name in active.iter().filter(|name| !name.is_empty()) {
                found(format!("{name} of {device}"), "on".to_owned());
            }
            return;
        }
        Group::Rings => Numbers::Rings,
        Group::Channels => Numbers::Channels,
        Group::Coalescing => Numbers::Coalescing,
    };
    for (name, value) in ethtool.numbers(device, group).unwrap_or_default() {
        found(format!("{name} of {device}"), value.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sysctls(paths: &[&str]) -> BTreeSet<Setting> {
        paths.iter().map(|path| Setting::Sysctl((*path).to_owned())).collect()
    }

    #[test]
    fn without_namespaces_of_its_own_the_host_is_read() {
        let traffic = Traffic::open(&[], "lo").unwrap();
        let values = traffic.read(&sysctls(&["net/ipv4/tcp_sack", "net/ipv4/zc_no_such"])).unwrap();
        let names: Vec<(&str, StatePlace)> =
            values.keys().map(|spot| (spot.name.as_str(), spot.place)).collect();
        assert_eq!(names, [("net.ipv4.tcp_sack", StatePlace::Host)]);
        assert_eq!(traffic.own(["net/ipv4/tcp_sack"].into_iter()).unwrap(), BTreeSet::new());
        let card = Setting::Device { group: Group::Offloads, device: Some("eth9".to_owned()) };
        let values = traffic.read(&BTreeSet::from([card])).unwrap();
        assert!(values.keys().all(|spot| spot.name.ends_with(" of lo")), "{values:?}");
    }

    #[test]
    fn a_namespace_has_settings_of_its_own_and_others_are_the_host_s() {
        // In a thread of its own, because a namespace belongs to a thread.
        let pair = std::thread::spawn(|| {
            let of = || {
                NetNs::unshare()?;
                std::fs::File::open("/proc/thread-self/ns/net")
            };
            std::io::Result::Ok([of()?, of()?])
        });
        let Ok(pair) = pair.join().unwrap() else {
            return eprintln!("skipped: needs CAP_SYS_ADMIN");
        };
        let path = |file: &std::fs::File| {
            let number = std::os::fd::AsRawFd::as_raw_fd(file);
            PathBuf::from(format!("/proc/{}/fd/{number}", std::process::id()))
        };
        let traffic = Traffic::open(&[[path(&pair[0]), path(&pair[1])]], "zc0").unwrap();
        let paths = ["net/ipv4/tcp_sack", "net/ipv4/tcp_mem", "net/core/no_such", "vm/swappiness"];
        let own = traffic.own(paths.into_iter()).unwrap();
        if !own.contains("net/ipv4/tcp_sack") {
            return eprintln!("skipped: /proc/sys cannot be written here");
        }
        // tcp_mem is the host's, and can be read everywhere.
        assert_eq!(own, BTreeSet::from(["net/ipv4/tcp_sack".to_owned()]));
        let host = sysctl("net/ipv4/tcp_sack");
        for value in ["0", "1"] {
            traffic.set(&[("net/ipv4/tcp_sack".to_owned(), value.to_owned())]).unwrap();
            let values = traffic.read(&sysctls(&["net/ipv4/tcp_sack", "vm/swappiness"])).unwrap();
            let found: Vec<(StatePlace, &str)> = values
                .iter()
                .filter(|(spot, _)| spot.name == "net.ipv4.tcp_sack")
                .map(|(spot, value)| (spot.place, value.as_str()))
                .collect();
            assert_eq!(found, [(StatePlace::Sender, value), (StatePlace::Receiver, value)]);
        }
        assert_eq!(sysctl("net/ipv4/tcp_sack"), host, "that of the host stays");
        let error = traffic.set(&[("net/ipv4/tcp_sack".to_owned(), "x".to_owned())]).unwrap_err();
        assert_eq!(error.id, "state-not-settable");
        assert!(error.message.contains("net.ipv4.tcp_sack"), "{error}");
    }
}
