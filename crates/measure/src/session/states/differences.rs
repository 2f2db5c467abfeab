//! Whether states differ where the traffic runs, and whether a state is still what it was.
//!
//! A setting that the commands of two states name must have another value in each, unless both ask
//! for the same. Commands that name no setting are judged by the answer of `--verify-state` alone.

use std::collections::{BTreeMap, BTreeSet};

use super::shell::{Asked, Setting, named, sysctl_name, sysctls_alone};
use super::traffic::{Traffic, Values};
use zc_run::{Error, HostState, Result, StatePlace, StateReading, StateValue};

/// Largest part of an answer in a message, in characters.
const MOST_SAID: usize = 80;

/// A state as it was found after its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) values: Values,
    /// The answer of `--verify-state`.
    pub(super) said: Option<String>,
}

/// Name, place and value of a setting.
type Value = (String, StatePlace, String);

/// A state, its command, and how it was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'s> {
    pub(super) state: &'s HostState,
    pub(super) command: &'s str,
    pub(super) found: &'s Found,
}

/// Checks that each state differs from each other one.
///
/// # Errors
/// Two states that are the same where the traffic runs.
pub(super) fn all_differ(
    states: &[Seen<'_>],
    traffic: &Traffic,
    needs_user_namespace: bool,
) -> Result<()> {
    for (place, one) in states.iter().enumerate() {
        for other in &states[place + 1..] {
            settings_differ(*one, *other, traffic, needs_user_namespace)?;
            answers_differ(*one, *other, traffic)?;
        }
    }
    Ok(())
}

fn settings_differ(
    one: Seen<'_>,
    other: Seen<'_>,
    traffic: &Traffic,
    needs_user_namespace: bool,
) -> Result<()> {
    let asked = |seen: Seen<'_>| -> BTreeMap<Setting, String> {
        let pair = |Asked { setting, value }| (setting, value);
        named(seen.command).into_iter().map(pair).collect()
    };
    let (in_one, in_other) = (asked(one), asked(other));
    let settings: BTreeSet<&Setting> = in_one.keys().chain(in_other.keys()).collect();
    // By the link, of which there may be several: what differs on one alone leaves the others'
    // cells what they are.
    let of = |seen: Seen<'_>, setting: &Setting| -> BTreeMap<usize, Vec<Value>> {
        let mut links = BTreeMap::<usize, Vec<Value>>::new();
        for (spot, value) in seen.found.values.iter().filter(|(spot, _)| spot.setting == *setting) {
            let value = (spot.name.clone(), spot.place, value.clone());
            links.entry(spot.link).or_default().push(value);
        }
        links
    };
    let (mut left, mut some_differ) = (Vec::new(), false);
    let pair = format!("state \"{}\" and state \"{}\"", one.state, other.state);
    for setting in settings {
        let (values, others) = (of(one, setting), of(other, setting));
        let same = values.iter().find(|(link, values)| others.get(link) == Some(values));
        some_differ |= values != others;
        let is_nowhere = values.is_empty() && others.is_empty();
        let value = same.map(|(_, values)| values.clone()).unwrap_or_default();
        if (is_nowhere || same.is_some()) && in_one.get(setting) != in_other.get(setting) {
            if let (Setting::Sysctl(path), true) = (setting, value.is_empty()) {
                let name = sysctl_name(path);
                let message = format!("{name} is set, and does not exist where the traffic runs");
                return Err(Error::failed("no-such-sysctl", format!("{pair}: {message}"))
                    .help(format!("sysctl -a | grep {name}")));
            }
            left.push((setting, value));
        }
    }
    if let Some((setting, values)) = left.first() {
        let each = left.iter().map(|(setting, values)| describe(setting, values, traffic));
        let each = each.collect::<Vec<_>>().join(", and ");
        let is_hosts = values.iter().all(|(_, place, _)| *place == StatePlace::Host);
        let apart = traffic.is_apart() && (values.is_empty() || !is_hosts);
        return Err(Error::failed(
            "states-do-not-differ",
            format!("{pair} leave {each} where the traffic runs"),
        )
        .help(remedy(setting, apart, needs_user_namespace)));
    }
    let alone = |seen: Seen<'_>| sysctls_alone(seen.command).is_some();
    if !some_differ && alone(one) && alone(other) {
        return Err(Error::failed(
            "states-do-not-differ",
            format!("{pair} are the same: their commands ask for the same"),
        )
        .help("each command has to set what it changes to another value than the others"));
    }
    Ok(())
}

/// `net.ipv4.tcp_sack at 1`.
fn describe(
    setting: &Setting,
    values: &[(String, StatePlace, String)],
    traffic: &Traffic,
) -> String {
    match setting {
        Setting::Sysctl(path) => {
            let each: BTreeSet<&str> = values.iter().map(|(_, _, value)| value.as_str()).collect();
            let each = each.into_iter().collect::<Vec<_>>().join(" and ");
            let name = sysctl_name(path);
            format!("{name} at {}", zc_run::escape(&each, MOST_SAID))
        }
        Setting::Device { group, device } => {
            let devices = traffic.devices_read(device.as_deref());
            format!("the {} of {} as they are", group.name(), zc_run::escape(&devices, MOST_SAID))
        }
    }
}

/// The remedy that sets it where the traffic runs: in namespaces `apart`, or the host's.
fn remedy(setting: &Setting, apart: bool, needs_user_namespace: bool) -> String {
    let user = if needs_user_namespace { "--preserve-credentials --user=$ZC_USERNS " } else { "" };
    match setting {
        Setting::Sysctl(path) if apart => format!(
            "the link has network namespaces of its own: for n in $ZC_NETNS; do nsenter \
             {user}--net=$n sysctl -qw {}=VALUE; done (docs/compare.md)",
            sysctl_name(path)
        ),
        Setting::Device { .. } if apart => format!(
            "the devices of the link are in network namespaces of its own: nsenter {user}\
             --net=$ZC_SENDER_NETNS ethtool ... (docs/compare.md)"
        ),
        Setting::Device { .. } => {
            "name the device that the traffic passes, and what it can change (ethtool -k DEVICE)"
                .to_owned()
        }
        Setting::Sysctl(_) => {
            "each command has to set it to another value: one that does not name it leaves what \
             the other has set"
                .to_owned()
        }
    }
}

fn answers_differ(one: Seen<'_>, other: Seen<'_>, traffic: &Traffic) -> Result<()> {
    match (&one.found.said, &other.found.said) {
        (Some(a), Some(b)) if a == b => {
            let message = format!(
                "state \"{}\" and state \"{}\" are the same: the command of --verify-state says \
                 {} in both",
                one.state,
                other.state,
                quoted(a)
            );
            Err(Error::failed("states-do-not-differ", message).help(if traffic.is_apart() {
                "it runs in the host's own namespaces, and the traffic in those of the link: \
                 nsenter --net=$ZC_SENDER_NETNS COMMAND (docs/compare.md)"
            } else {
                "the commands of the states change nothing of what it prints"
            }))
        }
        _ => Ok(()),
    }
}

fn quoted(said: &str) -> String {
    if said.trim().is_empty() {
        "nothing".to_owned()
    } else {
        format!("\"{}\"", zc_run::escape(said.trim(), MOST_SAID))
    }
}

/// Checks that a state is found as it was found first.
///
/// # Errors
/// It is another one.
pub(super) fn is_unchanged(state: &HostState, first: &Found, now: &Found) -> Result<()> {
    let is_another = |what: String| {
        Err(Error::failed("state-drifted", format!("state \"{state}\" has become another: {what}"))
            .help(
                "something else changes it, or a state's command does not undo what the others do",
            ))
    };
    let none = "nothing".to_owned();
    let spots: BTreeSet<_> = first.values.keys().chain(now.values.keys()).collect();
    for spot in spots {
        let [was, is] = [first, now].map(|found| found.values.get(spot).unwrap_or(&none));
        if was != is {
            return is_another(format!(
                "{} was {} where the traffic runs, and is {}",
                zc_run::escape(&spot.name, MOST_SAID),
                zc_run::escape(was, MOST_SAID),
                zc_run::escape(is, MOST_SAID)
            ));
        }
    }
    match (&first.said, &now.said) {
        (Some(was), Some(is)) if was != is => is_another(format!(
            "the command of --verify-state said {} in it, and says {}",
            quoted(was),
            quoted(is)
        )),
        _ => Ok(()),
    }
}

/// Readings to save: every sysctl that commands name, of others and of devices those that differ,
/// and the answers.
pub(super) fn readings(
    states: &[Seen<'_>],
    named: &BTreeSet<Setting>,
    verify: Option<&str>,
) -> Vec<StateReading> {
    let mut all: Vec<StateReading> = Vec::new();
    let spots: BTreeSet<_> = states.iter().flat_map(|seen| seen.found.values.keys()).collect();
    for spot in spots {
        let value = |seen: &Seen<'_>| StateValue {
            state: seen.state.clone(),
            value: seen.found.values.get(spot).cloned(),
        };
        let values: Vec<StateValue> = states.iter().map(value).collect();
        let is_wanted = matches!(spot.setting, Setting::Sysctl(_)) && named.contains(&spot.setting);
        let reading = StateReading { name: spot.name.clone(), place: spot.place, values };
        let differs = reading.values.windows(2).any(|pair| pair[0].value != pair[1].value);
        // Several links have the same.
        if (differs || is_wanted) && !all.contains(&reading) {
            all.push(reading);
        }
    }
    let answer = |command: &str| StateReading {
        name: command.to_owned(),
        place: StatePlace::Command,
        values: states
            .iter()
            .map(|seen| StateValue { state: seen.state.clone(), value: seen.found.said.clone() })
            .collect(),
    };
    all.extend(verify.map(answer));
    all
}

#[cfg(test)]
mod tests {
    use super::super::traffic::Spot;
    use super::*;

    /// A state in which the sender of each link has one of `values`.
    fn found(values: &[&str]) -> Found {
        let spot = |link| Spot {
            setting: Setting::Sysctl("net/ipv4/tcp_sack".to_owned()),
            name: "net.ipv4.tcp_sack".to_owned(),
            place: StatePlace::Sender,
            link,
        };
        let each = values.iter().enumerate();
        let values = each.map(|(link, value)| (spot(link), (*value).to_owned())).collect();
        Found { values, said: None }
    }

    #[test]
    fn a_setting_that_differs_on_one_of_two_links_leaves_the_other_s_cells_as_they_are() {
        let traffic = Traffic::open(&[], "lo").unwrap();
        let command = |value: &str| {
            format!("nsenter --net=$ZC_SENDER_NETNS sysctl -qw net.ipv4.tcp_sack={value}")
        };
        let differ = |one: &[&str], other: &[&str]| {
            let (a, b) = (HostState::a(), HostState::b());
            let (one, other) = (found(one), found(other));
            let (off, on) = (command("0"), command("1"));
            let seen = [
                Seen { state: &a, command: &off, found: &one },
                Seen { state: &b, command: &on, found: &other },
            ];
            all_differ(&seen, &traffic, false)
        };
        differ(&["0"], &["1"]).unwrap();
        differ(&["0", "0"], &["1", "1"]).unwrap();
        let error = differ(&["0", "1"], &["1", "1"]).unwrap_err();
        assert_eq!(error.id, "states-do-not-differ");
        assert!(error.message.contains("net.ipv4.tcp_sack at 1"), "{error}");
    }
}
