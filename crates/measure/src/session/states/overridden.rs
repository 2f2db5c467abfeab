//! Settings that states of the host change and the sockets of a run do not have.
//!
//! A socket option replaces a sysctl: with SO_SNDBUF set, two states that differ in tcp_wmem are
//! one and the same to the socket, and a run would find that they cost the same. An option of the
//! run that the user asked for is an error beside a state that changes it; one that zc would set by
//! itself is not set then. A setting that devices and connections take when they are made does not
//! change those that stay.

use std::collections::BTreeSet;

use super::shell::{CONGESTION, Setting, sysctl_name, sysctls_alone};
use zc_run::units::size_text;
use zc_run::{Error, FixedParams, Push, Result};

/// A setting that an option of the run replaces.
struct Replaced {
    /// The sysctl, by its path below /proc/sys.
    path: &'static str,
    /// The value that the sockets of a cell with these parameters have in its place, and the option
    /// of zc.
    by: fn(&FixedParams) -> Option<(String, &'static str)>,
}

const REPLACED: [Replaced; 5] = [
    Replaced {
        path: CONGESTION,
        by: |at| Some((format!("congestion control {}", at.set_congestion()?), "--congestion")),
    },
    Replaced {
        path: "net/ipv4/tcp_wmem",
        by: |at| Some((format!("SO_SNDBUF of {}", size_text(at.sndbuf_bytes? as u64)), "--sndbuf")),
    },
    Replaced {
        path: "net/ipv4/tcp_rmem",
        by: |at| Some((format!("SO_RCVBUF of {}", size_text(at.rcvbuf_bytes? as u64)), "--rcvbuf")),
    },
    Replaced {
        path: "net/ipv4/tcp_notsent_lowat",
        by: |at| {
            let bytes = at.more.get("notsent-lowat")?.bytes()?;
            Some((format!("TCP_NOTSENT_LOWAT of {}", size_text(bytes as u64)), "--notsent-lowat"))
        },
    },
    Replaced {
        path: "net/ipv4/tcp_autocorking",
        by: |at| (at.push == Push::Cork).then(|| ("TCP_CORK".to_owned(), "--push")),
    },
];

/// Settings that a device takes when it is made (net/sched/sch_generic.c, net/core/dev.c), by the
/// beginning of the path. The devices of a run are made before its first state.
const OF_NEW_DEVICES: [&str; 4] = [
    "net/core/default_qdisc",
    "net/core/rps_default_mask",
    "net/ipv4/conf/default/",
    "net/ipv6/conf/default/",
];

/// Settings that a connection takes when it is made.
const OF_NEW_CONNECTIONS: [&str; 7] = [
    CONGESTION,
    "net/ipv4/tcp_ecn",
    "net/ipv4/tcp_rmem",
    "net/ipv4/tcp_sack",
    "net/ipv4/tcp_timestamps",
    "net/ipv4/tcp_window_scaling",
    "net/ipv4/tcp_wmem",
];

/// Settings that are read in every state, whatever its command says.
pub(super) fn watched() -> impl Iterator<Item = Setting> {
    REPLACED.iter().map(|each| Setting::Sysctl(each.path.to_owned()))
}

/// Checks that the sockets of each cell have the sysctls that states change. A cell is its label
/// and its parameters.
///
/// # Errors
/// A socket option of the run replaces one.
pub(super) fn by_options(
    changed: &BTreeSet<String>,
    cells: impl Iterator<Item = (String, FixedParams)>,
) -> Result<()> {
    for (label, at) in cells {
        let mut replaced = REPLACED.iter().filter(|each| changed.contains(each.path));
        let found = replaced.find_map(|each| Some((each.path, (each.by)(&at)?)));
        if let Some((path, (what, option))) = found {
            return Err(Error::failed("state-overridden", format!(
                "the states change {}, which is not that of the sockets of \"{label}\": the run \
                 gives them {what}",
                sysctl_name(path)
            ))
            .help(format!(
                "leave {option} out; or leave --ab out, and compare its values as levels of a plan \
                 (docs/plans.md)"
            )));
        }
    }
    Ok(())
}

/// Checks that what states change is there for devices that were made before.
///
/// # Errors
/// They change nothing else than what new devices take.
pub(super) fn by_age_of_devices<'c>(
    changed: &BTreeSet<String>,
    commands: impl Iterator<Item = &'c str>,
) -> Result<()> {
    let is_of_new = |path: &String| OF_NEW_DEVICES.iter().any(|of| path.starts_with(of));
    let alone: Option<Vec<_>> = commands.map(sysctls_alone).collect();
    let only_these = alone.is_some_and(|all| all.iter().flatten().all(|(path, _)| is_of_new(path)));
    match changed.iter().find(|path| is_of_new(path)).filter(|_| only_these) {
        None => Ok(()),
        Some(path) => Err(Error::failed("state-overridden", format!(
            "the states change {} alone, which a device takes when it is made, and the devices of \
             the run are made before its states",
            sysctl_name(path)
        ))
        .help(
            "change the device itself, in the namespaces of the link if it has its own: tc qdisc \
             replace dev DEVICE root ... (docs/compare.md)",
        )),
    }
}

/// Checks that what states change is there for connections that stay from state to state.
///
/// # Errors
/// They take one of these settings when they are made.
pub(super) fn by_age_of_connections(changed: &BTreeSet<String>) -> Result<()> {
    match OF_NEW_CONNECTIONS.iter().find(|path| changed.contains(**path)) {
        None => Ok(()),
        Some(path) => Err(Error::failed("state-overridden", format!(
            "the states change {}, which a connection takes when it is made, and connections are \
             kept from state to state",
            sysctl_name(path)
        ))
        .help("--close makes a connection for each request")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(paths: &[&str]) -> BTreeSet<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    /// The parameters of a run whose options put this into them.
    fn with(change: impl FnOnce(&mut FixedParams)) -> impl Iterator<Item = (String, FixedParams)> {
        let plan = zc_testkit::synthetic::Synthetic::default().run().header.plan;
        let mut at = plan.fixed;
        at.unset_congestion();
        change(&mut at);
        [("sendfile A".to_owned(), at)].into_iter()
    }

    #[test]
    fn a_state_that_a_socket_option_replaces_is_an_error_with_the_option() {
        type Change = Box<dyn FnOnce(&mut FixedParams)>;
        let lowat = zc_run::Level::parse(zc_run::Factor::NotsentLowat, "16k").unwrap();
        let cases: [(&str, Change, [&str; 2]); 5] = [
            (
                CONGESTION,
                Box::new(|at| at.congestion = "cubic".to_owned()),
                ["congestion control cubic", "--congestion"],
            ),
            (
                "net/ipv4/tcp_wmem",
                Box::new(|at| at.sndbuf_bytes = Some(1 << 20)),
                ["SO_SNDBUF of 1m", "--sndbuf"],
            ),
            (
                "net/ipv4/tcp_rmem",
                Box::new(|at| at.rcvbuf_bytes = Some(65_536)),
                ["SO_RCVBUF of 64k", "--rcvbuf"],
            ),
            (
                "net/ipv4/tcp_notsent_lowat",
                Box::new(move |at| {
                    let mut cell =
                        zc_run::Cell::of_paths(zc_run::SendPath::ReadSend, zc_run::RecvPath::Recv);
                    lowat.put(&mut cell);
                    *at = at.at(&cell.levels);
                }),
                ["TCP_NOTSENT_LOWAT of 16k", "--notsent-lowat"],
            ),
            (
                "net/ipv4/tcp_autocorking",
                Box::new(|at| at.push = Push::Cork),
                ["TCP_CORK", "--push"],
            ),
        ];
        assert_eq!(cases.len(), REPLACED.len());
        for (path, change, [what, option]) in cases {
            let states = changed(&[path]);
            by_options(&states, with(|_| ())).unwrap();
            let error = by_options(&states, with(change)).unwrap_err();
            let name = sysctl_name(path);
            assert_eq!(error.id, "state-overridden");
            assert!(error.message.contains(&name) && error.message.contains(what), "{error}");
            assert!(error.help.unwrap().contains(option));
        }
        let other = changed(&["net/ipv4/tcp_sack"]);
        by_options(&other, with(|at| at.sndbuf_bytes = Some(1 << 20))).unwrap();
    }

    #[test]
    fn what_only_new_devices_take_is_no_state_of_those_that_are_there() {
        let qdisc = "sysctl -qw net.core.default_qdisc=fq";
        let paths = changed(&["net/core/default_qdisc"]);
        let error = by_age_of_devices(&paths, [qdisc, qdisc].into_iter()).unwrap_err();
        assert_eq!(error.id, "state-overridden");
        assert!(error.message.contains("net.core.default_qdisc"), "{error}");
        // Another command may have replaced the device's, and another sysctl differs too.
        let both = format!("{qdisc}; tc qdisc replace dev zc0 root fq");
        by_age_of_devices(&paths, [qdisc, both.as_str()].into_iter()).unwrap();
        let both = format!("{qdisc}; sysctl -qw net.ipv4.tcp_sack=0");
        by_age_of_devices(&paths, [qdisc, both.as_str()].into_iter()).unwrap();
        by_age_of_devices(&changed(&["net/ipv4/tcp_sack"]), ["true"].into_iter()).unwrap();
    }

    #[test]
    fn connections_that_stay_keep_what_they_were_made_with() {
        let error = by_age_of_connections(&changed(&[CONGESTION])).unwrap_err();
        assert!(error.message.contains("net.ipv4.tcp_congestion_control"), "{error}");
        assert_eq!(error.help.as_deref(), Some("--close makes a connection for each request"));
        by_age_of_connections(&changed(&["net/ipv4/tcp_autocorking"])).unwrap();
    }
}
