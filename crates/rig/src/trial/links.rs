//! The links of a run, and which of them the bytes of a cell travel over.
//!
//! MTU and offloads belong to a device. A run whose cells differ in them has a link for each
//! combination, all of them up from beginning to end. Cells are then compared within one block,
//! over devices that are not reconfigured.

use std::collections::BTreeSet;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;

use crate::link::Link;
use zc_run::{Levels, LinkFacts, LinkKind, LinkOptions, OffloadSwitch, Unavailable};

/// The link of cells without such levels, and those of the others.
#[derive(Clone)]
pub struct Links {
    base: Arc<dyn Link>,
    others: Vec<Other>,
}

/// A link that some cells ask for, or why it is not available.
#[derive(Clone)]
struct Other {
    mtu_bytes: u32,
    switched_off: BTreeSet<OffloadSwitch>,
    link: std::result::Result<Arc<dyn Link>, Unavailable>,
}

impl Links {
    /// One link for all cells.
    pub fn only(base: Arc<dyn Link>) -> Self {
        Self { base, others: Vec::new() }
    }

    /// Adds a link that was brought up with `options`. One that equals the first is dropped.
    pub(super) fn add(
        &mut self,
        options: &LinkOptions,
        link: std::result::Result<Box<dyn Link>, Unavailable>,
    ) {
        let facts = self.base.facts();
        let mtu_bytes = options.mtu_bytes.unwrap_or(facts.mtu_bytes);
        if (mtu_bytes, &options.switched_off) != (facts.mtu_bytes, &facts.switched_off) {
            let switched_off = options.switched_off.clone();
            self.others.push(Other { mtu_bytes, switched_off, link: link.map(Arc::from) });
        }
    }

    /// The link of cells that set neither MTU nor offloads.
    pub fn base(&self) -> &Arc<dyn Link> {
        &self.base
    }

    /// The links that are up, the base link first.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Link>> {
        [&self.base]
            .into_iter()
            .chain(self.others.iter().filter_map(|other| other.link.as_ref().ok()))
    }

    /// Paths by which other processes reach the network namespaces of senders and receivers, for
    /// each link that has its own; the link of most cells first.
    pub fn namespaces(&self) -> Vec<[PathBuf; 2]> {
        let path = |fd: BorrowedFd<'_>| {
            format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd()).into()
        };
        self.all().filter_map(|link| link.namespaces()).map(|pair| pair.map(path)).collect()
    }

    /// Facts of the links that are up, without the base link.
    pub fn other_facts(&self) -> Vec<LinkFacts> {
        self.all().skip(1).map(|link| link.facts().clone()).collect()
    }

    /// The link of a cell with these levels.
    ///
    /// # Errors
    /// The link is not available, with the reason.
    pub fn for_levels(&self, levels: &Levels) -> std::result::Result<&Arc<dyn Link>, Unavailable> {
        let facts = self.base.facts();
        let (mtu_bytes, switched_off) = facts.wanted(levels);
        if (mtu_bytes, switched_off) == (facts.mtu_bytes, &facts.switched_off) {
            return Ok(&self.base);
        }
        let asked =
            |other: &&Other| (other.mtu_bytes, &other.switched_off) == (mtu_bytes, switched_off);
        match self.others.iter().find(asked) {
            Some(other) => other.link.as_ref().map_err(Unavailable::clone),
            None => Err(missing(facts)),
        }
    }
}

/// The reason when no such link was brought up.
fn missing(base: &LinkFacts) -> Unavailable {
    match base.kind {
        LinkKind::Loopback | LinkKind::Remote => Unavailable::refused(format!(
            "device \"{}\" is the host's own, and its MTU and offloads are left alone",
            base.device
        ))
        .remedy("--link veth has devices of its own"),
        LinkKind::Veth | LinkKind::Null => {
            Unavailable::unknown("no link with this MTU and these offloads was brought up")
        }
    }
}

impl std::fmt::Debug for Links {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all().map(|link| link.facts())).finish()
    }
}
