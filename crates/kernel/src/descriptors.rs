//! The limit of this process's open descriptors, and raising it.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Whether as many descriptors as needed can be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// They can.
    There,
    /// They cannot.
    No {
        /// The hard limit, which this user may not raise.
        hard: u64,
    },
}

/// Ensures that `needed` descriptors can be open at a time: raises the soft limit to the hard one if
/// that helps, and otherwise both, where this user may.
///
/// # Errors
/// The kernel refused, although the hard limit is high enough.
///
/// # References
/// getrlimit(2), RLIMIT_NOFILE.
pub fn raise_limit(needed: u64) -> io::Result<Room> {
    let limit = getrlimit(Resource::Nofile);
    match raised(needed, limit.current, limit.maximum) {
        Raised::NotNeeded => Ok(Room::There),
        Raised::To(soft) => {
            setrlimit(Resource::Nofile, Rlimit { current: soft, maximum: limit.maximum })
                .map(|()| Room::There)
                .map_err(io::Error::from)
        }
        Raised::Beyond(hard) => {
            // With CAP_SYS_RESOURCE, up to fs.nr_open.
            let both = Rlimit { current: Some(needed), maximum: Some(needed) };
            Ok(setrlimit(Resource::Nofile, both).map_or(Room::No { hard }, |()| Room::There))
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Raised {
    NotNeeded,
    To(Option<u64>),
    Beyond(u64),
}

/// `None` means unlimited.
fn raised(needed: u64, soft: Option<u64>, hard: Option<u64>) -> Raised {
    if soft.is_none_or(|soft| soft >= needed) {
        return Raised::NotNeeded;
    }
    match hard {
        Some(hard) if hard < needed => Raised::Beyond(hard),
        hard => Raised::To(hard),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_raised_before_anything_is_refused() {
        assert_eq!(raised(100, Some(1024), Some(4096)), Raised::NotNeeded);
        assert_eq!(raised(2000, Some(1024), Some(4096)), Raised::To(Some(4096)));
        assert_eq!(raised(2000, Some(1024), None), Raised::To(None));
        assert_eq!(raised(2000, Some(64), Some(64)), Raised::Beyond(64));
        assert_eq!(raised(2000, None, None), Raised::NotNeeded);
    }
}
