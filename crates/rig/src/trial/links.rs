//! The links of a run, and which of them the bytes of a cell travel over.
//!
//! MTU, offloads, the largest packet and what is above the device belong to a link. A run whose
//! cells differ in them has a link for each combination, all of them up from beginning to end.
//! Cells are then compared within one block, over devices that are not reconfigured.

use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;

use crate::link::Link;
use zc_run::{Levels, LinkFacts, LinkKind, LinkOptions, LinkSettings, Unavailable};

/// The link of cells without such levels, and those of the others.
#[derive(Clone)]
pub struct Links {
    base: Arc<dyn Link>,
    others: Vec<Other>,
}

/// A link that some cells ask for, or why it is not available.
#[derive(Clone)]
struct Other {
    settings: LinkSettings,
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
        let settings = options.settings(facts);
        if settings != facts.own_settings() {
            self.others.push(Other { settings, link: link.map(Arc::from) });
        }
    }

    /// The link of cells without settings of their own.
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
        let wanted = facts.wanted(levels);
        if wanted == facts.own_settings() {
            return Ok(&self.base);
        }
        match self.others.iter().find(|other| other.settings == wanted) {
            Some(other) => other.link.as_ref().map_err(Unavailable::clone),
            None => Err(missing(facts)),
        }
    }
}

/// The reason when no such link was brought up.
fn missing(base: &LinkFacts) -> Unavailable {
    match base.kind {
        LinkKind::Loopback | LinkKind::Remote => Unavailable::refused(format!(
            "device \"{}\" is the host's own, and its settings are left alone",
            base.device
        ))
        .remedy("--link veth has devices of its own"),
        LinkKind::Veth | LinkKind::Null => {
            Unavailable::unknown("no link with these settings was brought up")
        }
    }
}

impl std::fmt::Debug for Links {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all().map(|link| link.facts())).finish()
    }
}
