//! A level put into a cell is that cell's level.

use zc_run::{Factor, Level};
use zc_testkit::synthetic::Synthetic;

const TYPED: &[(Factor, &[&str])] = &[
    (Factor::Send, &["read+send", "sendfile"]),
    (Factor::Recv, &["recv", "zerocopy-receive"]),
    (Factor::Message, &["64", "4k", "5m"]),
    (Factor::RecvBuffer, &["16k"]),
    (Factor::Sockbuf, &["32k"]),
    (Factor::Push, &["plain", "cork", "more", "nodelay"]),
    (Factor::Align, &["page", "byte"]),
    (Factor::Pages, &["scattered", "huge"]),
    (Factor::Mtu, &["1500", "16436"]),
    (Factor::Offloads, &["all", "no-tso", "no-tso+no-gso"]),
    (Factor::Congestion, &["reno", "bbr"]),
    (Factor::Flows, &["1", "1000"]),
    (Factor::Placement, &["separate", "same", "free"]),
    (Factor::Rate, &["400MB/s", "1.5GB/s"]),
    (Factor::State, &["A", "B"]),
];

#[test]
fn what_a_level_makes_of_a_cell_is_that_cell_s_level() {
    let run = Synthetic::default().run();
    let (fixed, link) = (&run.header.plan.fixed, &run.header.link);
    for (factor, levels) in TYPED {
        for text in *levels {
            let level = Level::parse(*factor, text).unwrap();
            let mut cell = run.header.plan.cells[0].clone();
            level.put(&mut cell);
            assert_eq!(Level::of(*factor, &cell, fixed, link), level);
        }
    }
}
