//! How the error of a whole bisection is shared among its answers.

/// Answers that a bisection of `suspects` commits still takes, where each halves what is left: the
/// logarithm to base 2, rounded up. A suspect is a commit that may be the first bad one.
pub fn steps_left(suspects: u64) -> u32 {
    suspects.max(1).next_power_of_two().trailing_zeros()
}

/// The error that the next answer may have. `total` is that of the whole bisection, `spent` the sum
/// of those of the answers before, and `steps_left` as many as are expected to come.
///
/// A bisection ends at a wrong commit only if an answer was wrong, which has at most the sum of
/// their probabilities (Bonferroni). Merges and commits that were skipped do not halve what is
/// left, so there may be more answers: one share more than expected is kept back each time, and the
/// sum stays below `total` however many there are.
pub fn error_share(total: f64, spent: f64, steps_left: u32) -> f64 {
    (total - spent).max(0.0) / f64::from(steps_left.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_commits_take_ten_answers() {
        let steps = [1, 2, 3, 4, 5, 1000, 1024, 1025].map(steps_left);
        assert_eq!(steps, [0, 1, 2, 2, 3, 10, 10, 11]);
        assert_eq!(steps_left(0), 0);
    }

    #[test]
    fn equal_halves_have_equal_shares_and_more_answers_never_have_more_than_all() {
        let mut spent = 0.0;
        for left in (1..=10).rev() {
            let share = error_share(0.05, spent, left);
            assert!((share - 0.05 / 11.0).abs() < 1e-12, "{share}");
            spent += share;
        }
        for _ in 0..50 {
            let share = error_share(0.05, spent, 1);
            assert!(share > 0.0);
            spent += share;
        }
        assert!(spent <= 0.05);
        assert_eq!(error_share(0.05, 0.06, 3), 0.0);
    }
}
