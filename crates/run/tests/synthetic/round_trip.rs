//! A run comes back from its file as it was written.

use zc_run::{parse, run_lines};
use zc_testkit::synthetic::{Synthetic, two_machines};

#[test]
fn what_was_saved_comes_back() {
    let run = Synthetic { blocks: 5, unsoaked: true, cpus: 3, ..Synthetic::default() }.run();
    for run in [run.clone(), two_machines(run)] {
        let (again, _) = parse(&run_lines(&run)).unwrap();
        assert_eq!(again, run);
    }
}
