//! Tests of every factor: its levels are shown as they are typed, a cell that gets one has it, a
//! saved run reads it back, a comparison finds it, and the option of the command line takes it.

use zc_run::factor::Side;
use zc_run::{Cell, Factor, Header, Level, Value};
use zc_testkit::synthetic::Synthetic;

fn header() -> Header {
    Synthetic::default().run().header
}

/// Every factor's levels that its file gives as examples.
fn examples() -> impl Iterator<Item = Level> {
    let parse = |factor: Factor| move |text: &&str| Level::parse(factor, text).unwrap();
    Factor::ALL
        .iter()
        .flat_map(move |factor| factor.definition().examples().iter().map(parse(*factor)))
}

fn with(cell: &Cell, level: &Level) -> Cell {
    let mut cell = cell.clone();
    level.put(&mut cell);
    cell
}

fn value_of(level: &Level, cell: &Cell, header: &Header) -> Value {
    Level::for_cell(level.factor, cell, &header.plan.fixed, &header.link).value
}

#[test]
fn a_factor_is_registered_under_its_own_name_once() {
    for factor in Factor::ALL {
        assert_eq!(factor.name().parse::<Factor>().as_ref(), Ok(factor));
        assert!(!factor.definition().examples().is_empty(), "{factor}");
    }
    let options = Factor::ALL.iter().filter_map(|factor| factor.definition().option());
    let mut longs: Vec<&str> = options.map(|option| option.long).collect();
    let all = longs.len();
    longs.sort_unstable();
    longs.dedup();
    assert_eq!(longs.len(), all, "two factors have one option");
    assert_eq!("colour".parse::<Factor>().unwrap_err().known.len(), Factor::ALL.len());
}

#[test]
fn a_level_is_shown_as_it_is_typed() {
    for factor in Factor::ALL {
        for text in factor.definition().examples() {
            assert_eq!(
                Level::parse(*factor, &format!(" {text} ")).unwrap().to_string(),
                *text,
                "{factor}"
            );
        }
    }
}

#[test]
fn what_a_level_makes_of_a_cell_is_that_cell_s_level() {
    let header = header();
    for level in examples() {
        let cell = with(&header.plan.cells[0], &level);
        assert_eq!(value_of(&level, &cell, &header), level.value, "{}", level.factor);
        // And of no other factor, but that clients have their rate.
        let follows = |other: Factor| {
            level.factor == Factor::Clients && matches!(other, Factor::Rate | Factor::ClientRate)
        };
        let others = Factor::ALL.iter().filter(|other| **other != level.factor);
        for other in others.filter(|other| !follows(**other)) {
            let of = |cell: &Cell| Level::for_cell(*other, cell, &header.plan.fixed, &header.link);
            assert_eq!(of(&cell), of(&header.plan.cells[0]), "{} changes {other}", level.factor);
        }
    }
}

#[test]
fn a_cell_s_own_level_takes_the_place_of_the_plan_s() {
    let mut header = header();
    let levels: Vec<Level> = examples().collect();
    for (fixed, own) in
        levels.iter().zip(&levels[1..]).filter(|(fixed, own)| fixed.factor == own.factor)
    {
        header.plan.fixed = header.plan.fixed.at(&with(&header.plan.cells[0], fixed).levels);
        let cell = with(&header.plan.cells[0], own);
        assert_eq!(value_of(own, &cell, &header), own.value, "{}", own.factor);
    }
}

#[test]
fn a_saved_cell_has_its_level() {
    let mut header = header();
    for level in examples() {
        let cell = with(&header.plan.cells[0], &level);
        let saved = serde_json::to_string(&cell).unwrap();
        let read: Cell = serde_json::from_str(&saved).unwrap();
        assert_eq!(read, cell, "{saved}");
        header.plan.fixed = header.plan.fixed.at(&cell.levels);
        let saved = serde_json::to_string(&header.plan).unwrap();
        let plan: zc_run::Plan = serde_json::from_str(&saved).unwrap();
        assert_eq!(plan.fixed, header.plan.fixed, "{saved}");
    }
}

#[test]
fn a_factor_that_was_not_asked_for_is_not_in_a_saved_run() {
    let header = header();
    let saved = serde_json::to_value(&header.plan).unwrap();
    assert!(
        saved["fixed"].get("more").is_none() && saved["cells"][0].get("levels").is_none(),
        "{saved}"
    );
}

#[test]
fn levels_of_a_factor_that_this_version_does_not_know_are_left_out() {
    let levels = r#"{"push": "cork", "more": {"colour": "red", "depth": [1, {}]}}"#;
    let levels: zc_run::Levels = serde_json::from_str(levels).unwrap();
    assert!(levels.more.is_empty() && levels.push.is_some());
}

#[test]
fn cells_that_differ_in_a_factor_are_found_to() {
    let header = header();
    let cell = &header.plan.cells[0];
    for level in examples() {
        let other = with(cell, &level);
        let definition = level.factor.definition();
        let found = definition.differences(&Side::new(&header, cell), &Side::new(&header, &other));
        // Paths and states are compared on purpose; offloads are read off a link, and none was
        // brought up.
        let expected = value_of(&level, cell, &header) != level.value
            && !matches!(level.factor, Factor::Send | Factor::State | Factor::Offloads);
        assert_eq!(!found.is_empty(), expected, "{}: {found:?}", level.factor);
        assert!(found.iter().all(|each| each.old != each.new), "{found:?}");
        let same = definition.differences(&Side::new(&header, &other), &Side::new(&header, &other));
        assert_eq!(same, [], "{}", level.factor);
    }
}

#[test]
fn an_option_takes_its_factor_s_levels_and_names_itself_where_it_does_not() {
    for factor in Factor::ALL {
        let definition = factor.definition();
        let Some(option) = definition.option() else { continue };
        for text in definition.examples() {
            let expected = vec![Level::parse(*factor, text).unwrap()];
            assert_eq!(Level::typed(*factor, text).unwrap(), expected, "--{} {text}", option.long);
        }
        let error = definition.typed("no such level").unwrap_err();
        let names_it = error.message.contains(&format!("--{}", option.long));
        assert!(names_it || error.id.starts_with("unknown-"), "{error:?}");
        assert!(!option.help.ends_with('.') && !option.help.is_empty());
        assert!(
            option.names.iter().all(|name| definition.parse(name).is_ok()),
            "{:?}",
            option.names
        );
    }
}

#[test]
fn what_is_no_level_is_an_error() {
    for (factor, text, id) in [
        (Factor::Send, "senfile", "unknown-send-path"),
        (Factor::Message, "64kB", "invalid-size"),
        (Factor::Mtu, "100", "invalid-size"),
        (Factor::Offloads, "tso", "unknown-offload"),
        (Factor::Layer, "vlan", "unknown-layer"),
        (Factor::Congestion, "a b", "invalid-congestion-control"),
        (Factor::Flows, "0", "invalid-count"),
        (Factor::Rate, "auto", "invalid-rate"),
    ] {
        assert_eq!(Level::parse(factor, text).unwrap_err().id, id);
    }
}
