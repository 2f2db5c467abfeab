//! Lines of format 3 are restored to what was counted, and what no zc wrote is an error.

use super::*;
use crate::{Reading, Slot, SoakReading};

fn read(line: &str) -> Block {
    read_block(line.as_bytes(), &mut SoftirqCounts::default()).unwrap()
}

/// A window whose readings follow one another.
fn idle(opened: Reading, closed: Reading) -> Slot {
    Slot::Idle(crate::IdleWindow { opened, closed, remote: None })
}

fn block(slots: Vec<Slot>) -> Block {
    Block {
        index: 3,
        session: 1,
        began_ns: 17,
        memcpy_bytes_per_s: Some(1.5e9),
        slots,
        failed: Vec::new(),
        samples: None,
        dropped: None,
    }
}

fn soak(at_ns: u64, units: &[u64]) -> Reading {
    let stamp_ns = units.iter().map(|units| at_ns - units % 7).collect();
    let soak = SoakReading { at_ns, units: units.to_vec(), stamp_ns, ..SoakReading::default() };
    Reading { soak, ..Reading::default() }
}

#[test]
fn differences_are_added_to_the_reading_before() {
    let line = concat!(
        r#"{"index":3,"session":1,"began_ns":17,"memcpy_bytes_per_s":1500000000.0,"slots":["#,
        r#"{"opened":{"absolute":true,"soak":[1000000,[50,60],[-1,-4]],"#,
        r#""stat":[[-1000000],[]],"softirqs":{"NET_RX":[1000000,100],"TIMER":[5,6]},"#,
        r#""interrupts":[7,8]},"closed":{"soak":[100,[5],[-6,-4]],"#,
        r#""stat":[[-1000100],[]],"softirqs":{"NET_RX":[12]}}}],"dropped":null}"#
    );
    let softirqs = |net_rx| -> SoftirqCounts {
        [("NET_RX".to_owned(), vec![net_rx, 100]), ("TIMER".to_owned(), vec![5, 6])]
            .into_iter()
            .collect()
    };
    let opened = Reading {
        softirqs: softirqs(1_000_000),
        interrupts: vec![7, 8],
        ..soak(1_000_000, &[50, 60])
    };
    let closed = Reading {
        softirqs: softirqs(1_000_012),
        interrupts: vec![7, 8],
        ..soak(1_000_100, &[55, 60])
    };
    assert_eq!(read(line), block(vec![idle(opened, closed)]));
}

#[test]
fn soakers_that_stop_and_start_again_go_on_from_where_they_were() {
    let line = concat!(
        r#"{"index":3,"session":1,"began_ns":17,"memcpy_bytes_per_s":1500000000.0,"slots":["#,
        r#"{"opened":{"absolute":true,"soak":[100,[10,11],[-3,-4]],"stat":[[-100],[]]},"#,
        r#""closed":{"soak":[100,[10,10],[-6]],"stat":[[-200],[]]}},"#,
        r#"{"opened":{"stopped":100,"stat":[[-300],[]]},"#,
        r#""closed":{"stopped":100,"stat":[[-400],[]]}},"#,
        r#"{"opened":{"soak":[100,[10],[-2,0]],"stat":[[-500],[]]},"#,
        r#""closed":{"soak":[100,[10,20],[-5,-6]],"stat":[[-600],[]]}}],"dropped":null}"#
    );
    let found: Vec<Vec<u64>> = read(line)
        .slots
        .iter()
        .flat_map(|slot| match slot {
            Slot::Idle(window) => [&window.opened, &window.closed].map(|at| at.soak.units.clone()),
            Slot::Trial(_) => panic!("no trial"),
        })
        .collect();
    let expected: [&[u64]; 6] = [&[10, 11], &[20, 21], &[], &[], &[30, 21], &[40, 41]];
    assert_eq!(found, expected);
}

#[test]
fn what_a_later_minor_version_adds_is_ignored() {
    let line = |edge: &str, more: &str| {
        let slot = format!(r#"{{"opened":{edge},"closed":{{}}{more}}}"#);
        let head = format!(r#""index":0,"began_ns":0,"memcpy_bytes_per_s":null{more}"#);
        let text = format!(r#"{{{head},"slots":[{slot}],"dropped":null}}"#);
        read_block(text.as_bytes(), &mut SoftirqCounts::default()).unwrap()
    };
    let known = concat!(
        r#"{"absolute":true,"soak":[9,[8],[7]],"stat":[[1,2,3],[[1,2,3,4,5,6,7,8]]],"#,
        r#""sent":[1,2,3,4,5,6],"received":[1,2,3]}"#
    );
    let added = concat!(
        r#"{"absolute":true,"soak":[9,[8],[7],[],[],{"a":1}],"#,
        r#""stat":[[1,2,3,4],[[1,2,3,4,5,6,7,8,9]],[1]],"#,
        r#""sent":[1,2,3,4,5,6,-7],"received":[1,2,3,"x"],"new":[[1]]}"#
    );
    assert_eq!(line(added, r#","new":{"a":[1]}"#), line(known, ""));
}

#[test]
fn the_names_of_format_2_are_read() {
    let read_line =
        |line: &str| read_block(line.as_bytes(), &mut SoftirqCounts::default()).unwrap();
    let now = concat!(
        r#"{"index":0,"began_ns":0,"memcpy_bytes_per_s":null,"slots":[{"cell":"a","#,
        r#""kind":"unsoaked-control","opened":{"absolute":true,"stopped":5},"#,
        r#""closed":{"stopped":1}}],"dropped":null}"#
    );
    let then = now
        .replace("absolute", "anew")
        .replace("stopped", "still")
        .replace("unsoaked-control", "twin");
    assert_ne!(then, now);
    assert_eq!(read_line(&then), read_line(now));
}

#[test]
fn a_line_that_would_fill_any_memory_is_an_error() {
    let line = |cpus: usize, slots: usize| {
        let counts = vec!["1"; cpus].join(",");
        let first = format!(
            r#"{{"opened":{{"absolute":true,"soak":[1,[{counts}],[{counts}]],"interrupts":[{counts}]}},"closed":{{}}}}"#
        );
        let more = r#",{"opened":{},"closed":{}}"#.repeat(slots);
        let head = r#""index":0,"began_ns":0,"memcpy_bytes_per_s":null"#;
        format!(r#"{{{head},"slots":[{first}{more}],"dropped":null}}"#)
    };
    let read = |text: &str| read_block(text.as_bytes(), &mut SoftirqCounts::default());
    assert_eq!(read(&line(1000, 10)).unwrap().slots.len(), 11);
    // Three times as long, and a thousand times as many numbers.
    let text = line(3000, 100_000);
    let error = read(&text).unwrap_err().to_string();
    assert!(error.contains("more CPUs than the text has room for"), "{error}");
}

#[test]
fn what_no_zc_writes_is_an_error() {
    let refused = |slots: &str| {
        let head = r#""index":0,"began_ns":0,"memcpy_bytes_per_s":null"#;
        let line = format!(r#"{{{head},"slots":[{slots}],"dropped":null}}"#);
        read_block(line.as_bytes(), &mut SoftirqCounts::default()).unwrap_err().to_string()
    };
    let more = "a reading of more CPUs or kinds than the one before it";
    for edge in [
        r#"{"soak":[1,[2],[3]],"stat":[[],[]]}"#,
        r#"{"stat":[[],[[1]]]}"#,
        r#"{"stat":[[],[]],"softirqs":{"HI":[1]}}"#,
        r#"{"stat":[[],[]],"interrupts":[1]}"#,
    ] {
        assert_eq!(
            refused(&format!(r#"{{"opened":{edge},"closed":{{"stat":[[],[]]}}}}"#)),
            more,
            "{edge}"
        );
    }
    assert!(
        refused(r#"{"cell":"a","opened":{},"closed":{}}"#).contains("a trial without its kind")
    );
    assert!(refused(r#"{"opened":{"sent":[1e400]},"closed":{}}"#).contains("number out of range"));
    assert!(refused(r#"{"opened":{"sent":[NaN]},"closed":{}}"#).contains("expected value"));
    assert!(refused(r#"{"opened":{}}"#).contains("missing field `closed`"));
    assert!(refused(r#"{"opened":{"soak":[1,[2]]},"closed":{}}"#).contains("invalid length 2"));
}
