//! Runs whose costs are by different accounts.

use crate::model::account_kind::AccountKind;

/// Whether costs of some runs are by own clocks, and of others by wall time.
pub(super) fn differ(mut accounts: impl Iterator<Item = AccountKind>) -> bool {
    let is_own = |account| account == AccountKind::OwnClocks;
    accounts.next().is_some_and(|first| accounts.any(|other| is_own(other) != is_own(first)))
}
