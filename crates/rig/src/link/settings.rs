//! The host's TCP settings, copied to the namespaces of a link. A new network namespace starts with
//! the kernel's defaults for most of them, so without this a run on veth would not reflect a
//! machine whose administrator has changed a sysctl. IPv6 is disabled in the namespaces unless it
//! is measured: its router and neighbour discovery would be noise in the counters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use zc_run::IpVersion;

const ROOT: &str = "/proc/sys/net";

/// Not copied: a secret of the host, a setting of the link itself, and sizes of hash tables, which
/// cannot be changed later.
const NOT_CARRIED: [&str; 4] =
    ["tcp_fastopen_key", "rps_default_mask", "tcp_ehash_entries", "tcp_child_ehash_entries"];

/// Values of `net.ipv4.tcp_*` and of `net.core.*`, by their paths below /proc/sys/net.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Settings(BTreeMap<PathBuf, String>);

impl Settings {
    /// The settings of the calling thread's network namespace, as far as they can be read.
    pub(super) fn here() -> Self {
        let mut settings = read_folder("ipv4", |name| name.starts_with("tcp_"));
        settings.extend(read_folder("core", |_| true));
        Self(settings)
    }

    /// Writes the settings that differ to the calling thread's network namespace, and disables or
    /// quietens IPv6. Returns the names of the settings that exist in this namespace and could not
    /// be written. A setting that does not exist in it is global.
    pub(super) fn apply(&self, ip: IpVersion) -> Vec<String> {
        let mut left = Vec::new();
        for (path, value) in &self.0 {
            let place = Path::new(ROOT).join(path);
            let Ok(found) = std::fs::read_to_string(&place) else { continue };
            if found != *value && std::fs::write(&place, value).is_err() {
                left.push(format!("net.{}", path.display().to_string().replace('/', ".")));
            }
        }
        // addr_gen_mode 1: no link-local addresses, and so no search for routers
        // (Documentation/networking/ip-sysctl.rst).
        let quiet: &[(&str, &str)] = match ip {
            IpVersion::V4 => &[("disable_ipv6", "1")],
            IpVersion::V6 => &[("disable_ipv6", "0"), ("addr_gen_mode", "1"), ("accept_ra", "0")],
        };
        for whose in ["all", "default"] {
            for (name, value) in quiet {
                let place = Path::new(ROOT).join("ipv6/conf").join(whose).join(name);
                // Without IPv6 it does not exist, and needs no switching off.
                if place.exists() && std::fs::write(&place, value).is_err() {
                    left.push(format!("net.ipv6.conf.{whose}.{name}"));
                }
            }
        }
        left
    }
}

fn read_folder(folder: &str, wanted: impl Fn(&str) -> bool) -> BTreeMap<PathBuf, String> {
    let Ok(entries) = std::fs::read_dir(Path::new(ROOT).join(folder)) else {
        return BTreeMap::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            if !wanted(&name) || NOT_CARRIED.contains(&name.as_str()) {
                return None;
            }
            let value = std::fs::read_to_string(entry.path()).ok()?;
            Some((Path::new(folder).join(name), value))
        })
        .collect()
}
