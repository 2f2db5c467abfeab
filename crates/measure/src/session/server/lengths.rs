//! Whether the responses of a server's states can be compared: they all have one length, or each
//! configuration of the server has the same several ones. Requests are compared at one length
//! alone.

use std::collections::BTreeMap;

use zc_run::{
    Cell, Configuration, Error, ResponseFacts, Result, ServerState, Severity, Warning,
    configurations,
};

/// Remedy for responses that are not the same.
const REMEDY: &str = "ask for the same file in both states";

/// Result of comparing the first responses.
#[derive(Debug)]
pub(super) struct Compared {
    /// Whether there are several lengths, of which each configuration has all.
    pub(super) several: bool,
    pub(super) warnings: Vec<Warning>,
}

/// Compares the first responses. `by_commands`: states are commands, so that an address says
/// nothing of them.
///
/// # Errors
/// [`ErrorKind::Input`](zc_run::ErrorKind): a request of one state is not one of the other.
pub(super) fn compare(states: &[ServerState], by_commands: bool) -> Result<Compared> {
    let length = |state: &ServerState| state.response.body_bytes;
    if states.windows(2).all(|two| length(&two[0]) == length(&two[1])) {
        let all: Vec<&ServerState> = states.iter().collect();
        return Ok(Compared { several: false, warnings: other_bytes(&all).into_iter().collect() });
    }
    let configurations = configurations(states);
    let (Some(first), false) = (configurations.first(), by_commands) else {
        return Err(other_lengths(states).help(REMEDY));
    };
    if let Some([one, other]) = configurations.iter().find_map(Configuration::same_length) {
        let message = format!(
            "states {} and {} ask one address for responses of the same length, and other states \
             for other lengths: {}",
            one.state,
            other.state,
            both(one, other)
        );
        return Err(Error::input("states-ask-the-same", message).help(
            "states that ask one address are lengths of one configuration of the server; another \
             configuration has another host or port",
        ));
    }
    let has_all_of = |one: &Configuration<'_>, other: &Configuration<'_>| {
        other.states.iter().all(|state| one.of_length(length(state)).is_some())
    };
    let odd = |each: &&Configuration<'_>| !has_all_of(first, each) || !has_all_of(each, first);
    if configurations.iter().any(|each| odd(&each)) {
        return Err(other_lengths(states).help(
            "each address has to answer with the same lengths: ask for the same files at all of \
             them",
        ));
    }
    let mut warnings: Vec<Warning> = Vec::new();
    for state in &first.states {
        let alike: Vec<&ServerState> =
            configurations.iter().filter_map(|each| each.of_length(length(state))).collect();
        warnings.extend(other_bytes(&alike));
    }
    if configurations.len() == 1 {
        let text = "all states ask one address, so they are lengths of one configuration of the \
                    server, and nothing is compared";
        warnings.push(
            Warning::new("one-configuration", Severity::Note, text)
                .remedy("another configuration has another host or port"),
        );
    }
    Ok(Compared { several: true, warnings })
}

/// Gives each cell the length of its state's responses, the rate of that length in requests per
/// second, and the cell that it is compared with: the first configuration's of that length, which
/// is compared with none. The first cell is the reference.
pub(super) fn put(cells: &mut [Cell], states: &[ServerState], rates: &BTreeMap<u64, f64>) {
    let configurations = configurations(states);
    let Some(first) = configurations.first() else { return };
    for (place, cell) in cells.iter_mut().enumerate() {
        let Some(own) = states.iter().find(|each| Some(&each.state) == cell.levels.state.as_ref())
        else {
            continue;
        };
        let bytes = own.response.body_bytes;
        let per_s = rates.get(&bytes);
        cell.levels.message_bytes = usize::try_from(bytes).ok();
        cell.levels.rate_bytes_per_s = per_s.map(|per_s| per_s * bytes as f64);
        let refers = place > 0 && !cell.control;
        cell.by = first.of_length(bytes).filter(|_| refers).map(|it| it.state.to_string());
    }
}

/// The error of states whose requests are not the same.
fn other_lengths(states: &[ServerState]) -> Error {
    let length = |state: &ServerState| state.response.body_bytes;
    let pair = states.split_first().and_then(|(first, others)| {
        Some((first, others.iter().find(|other| length(other) != length(first))?))
    });
    let both = pair.map_or_else(String::new, |(one, other)| format!(": {}", both(one, other)));
    let message = format!("the responses of the states are of different lengths{both}");
    Error::input("response-lengths-differ", message)
}

/// A warning if states that are compared do not send the same bytes.
fn other_bytes(states: &[&ServerState]) -> Option<Warning> {
    let (first, others) = states.split_first()?;
    let other = others.iter().find(|other| other.response != first.response)?;
    let text = format!("the states do not send the same bytes: {}", both(first, other));
    Some(Warning::new("different-responses", Severity::Doubt, text).remedy(REMEDY))
}

fn both(one: &ServerState, other: &ServerState) -> String {
    let facts = |state: &ServerState| {
        let ResponseFacts { status, body_bytes, crc32 } = state.response;
        format!("{} answers {status} with {body_bytes} bytes (CRC-32 {crc32:08x})", state.state)
    };
    format!("{}, {}", facts(one), facts(other))
}

#[cfg(test)]
mod tests {
    use super::super::cells;
    use super::*;

    fn states(each: &[(&str, &str, u64)]) -> Vec<ServerState> {
        let state = |(name, url, body_bytes): &(&str, &str, u64)| ServerState {
            state: name.parse().unwrap(),
            url: (*url).to_owned(),
            response: ResponseFacts { status: 200, body_bytes: *body_bytes, crc32: 7 },
        };
        each.iter().map(state).collect()
    }

    const OFF: &str = "http://localhost:8001/";
    const ON: &str = "http://localhost:8002/";

    fn two_by_two() -> Vec<ServerState> {
        states(&[
            ("off-4k", OFF, 4096),
            ("on-64k", ON, 65_536),
            ("off-64k", OFF, 65_536),
            ("on-4k", ON, 4096),
        ])
    }

    #[test]
    fn one_length_is_compared_wherever_states_are_asked() {
        let mut same = states(&[("a", OFF, 9), ("b", OFF, 9), ("c", ON, 9)]);
        let compared = compare(&same, false).unwrap();
        assert!(!compared.several && compared.warnings.is_empty());
        same[2].response.crc32 = 8;
        let warnings = compare(&same, true).unwrap().warnings;
        assert_eq!(warnings[0].name, "different-responses");
    }

    #[test]
    fn each_length_is_compared_with_the_first_configuration_s() {
        let states = two_by_two();
        assert!(compare(&states, false).unwrap().several);
        let mut cells = cells::cells(states.iter().map(|each| &each.state));
        put(&mut cells, &states, &BTreeMap::from([(4096, 5000.0), (65_536, 2000.0)]));
        let by: Vec<Option<&str>> = cells.iter().map(|cell| cell.by.as_deref()).collect();
        assert_eq!(by, [None, Some("off-64k"), Some("off-64k"), Some("off-4k"), None]);
        let levels = |at: usize| {
            let levels = &cells[at].levels;
            (levels.message_bytes.unwrap(), levels.rate_bytes_per_s.unwrap())
        };
        assert_eq!(levels(1), (65_536, 2000.0 * 65_536.0));
        assert_eq!(cells[4].levels, cells[0].levels, "the control");
    }

    #[test]
    fn other_bytes_of_one_length_are_a_doubt_and_of_two_lengths_are_not() {
        let mut states = two_by_two();
        states.iter_mut().for_each(|each| each.response.crc32 = each.response.body_bytes as u32);
        assert!(compare(&states, false).unwrap().warnings.is_empty());
        states[3].response.crc32 = 1;
        let warnings = compare(&states, false).unwrap().warnings;
        assert!(warnings[0].text.contains("off-4k answers 200 with 4096 bytes"), "{warnings:?}");
        assert!(warnings[0].text.contains("on-4k answers 200 with 4096 bytes"), "{warnings:?}");
    }

    #[test]
    fn one_configuration_alone_has_nothing_to_be_compared_with() {
        let one = states(&[("4k", OFF, 4096), ("64k", OFF, 65_536)]);
        let compared = compare(&one, false).unwrap();
        assert_eq!(compared.warnings[0].name, "one-configuration");
    }

    #[test]
    fn what_is_not_the_same_request_is_refused() {
        let refused = |states: &[ServerState], by_commands| {
            let error = compare(states, by_commands).unwrap_err();
            (error.id, error.help.unwrap())
        };
        let (id, help) = refused(&states(&[("off", OFF, 9), ("on", ON, 8)]), false);
        assert_eq!(id, "response-lengths-differ");
        assert!(help.contains("each address has to answer with the same lengths"), "{help}");
        let (_, help) = refused(&two_by_two()[..3], false);
        assert!(help.contains("the same lengths"), "{help}");
        let twice = states(&[("a", OFF, 9), ("b", OFF, 9), ("c", OFF, 8)]);
        let (id, help) = refused(&twice, false);
        assert_eq!(id, "states-ask-the-same");
        assert!(help.contains("another configuration has another host or port"), "{help}");
        // A command may make any difference.
        let (id, help) = refused(&states(&[("a", OFF, 9), ("b", OFF, 8)]), true);
        assert_eq!(id, "response-lengths-differ");
        assert_eq!(help, REMEDY);
    }
}
