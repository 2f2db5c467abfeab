//! A run that is ready for its first block.

use zc_rig::meter::InstanceLock;
use zc_rig::trial::Bench;
use zc_run::Header;

/// The bench, and facts known before the first block.
pub(super) struct Prepared {
    pub(super) header: Header,
    pub(super) bench: Box<dyn Bench>,
    /// Kept until the run ends, so that another zc sees this one.
    pub(super) instance_lock: InstanceLock,
}
