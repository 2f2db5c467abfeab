//! A run comes back from its file as it was written.

use zc_run::{parse, whole};
use zc_testkit::synthetic::{Synthetic, apart};

#[test]
fn what_was_saved_comes_back() {
    let run = Synthetic { blocks: 5, unsoaked: true, cpus: 3, ..Synthetic::default() }.run();
    for run in [run.clone(), apart(run)] {
        let (again, _) = parse(&whole(&run)).unwrap();
        assert_eq!(again, run);
    }
}
