//! Helpers for tests: parameters, files and a rig on the loopback interface of this machine.

use std::io::Write as _;
use std::sync::Arc;

use super::links::Links;
use super::remote_side::RemoteSide;
use super::rig::{Rig, RigSetup};
use super::setup::{allowed_cpus, bring_up};
use crate::meter::CpuCounters;
use crate::path::SendSetup;
use crate::workload::{FileSet, SourceFile};
use zc_run::{FixedParams, LinkKind, Timing};
use zc_testkit::synthetic::Synthetic;

/// One flow at a low rate, everything on the first CPU.
pub(super) fn fixed() -> FixedParams {
    let cpu = allowed_cpus().unwrap()[0];
    FixedParams {
        link: LinkKind::Loopback,
        rate_bytes_per_s: 50e6,
        rate_chosen: false,
        buffer_bytes: 16 << 10,
        recv_buffer_bytes: 16 << 10,
        congestion: "reno".to_owned(),
        sender_cpu: cpu,
        receiver_cpu: cpu,
        soaked_cpus: vec![cpu],
        ..Synthetic::default().header().plan.fixed
    }
}

pub(super) fn loopback() -> Links {
    let fixed = fixed();
    bring_up(&[LinkKind::Loopback], fixed.sender_cpu, fixed.receiver_cpu, &Default::default(), &[])
        .unwrap()
        .links
}

/// Files of one byte, about a page, and more than the largest segment.
pub(super) fn files() -> SendSetup {
    let source = |(at, &len): (usize, &usize)| {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..len)
            .map(|byte| (byte.wrapping_mul(2_654_435_761) >> 13) as u8 ^ at as u8)
            .collect();
        file.write_all(&bytes).unwrap();
        SourceFile { name: format!("file {at}"), file, len: len as u64 }
    };
    let files = [300_000, 1, 4_095, 4_097, 65_537].iter().enumerate().map(source).collect();
    SendSetup::new(Arc::new(FileSet::new(files)), fixed().buffer_bytes)
}

/// A rig on loopback with these files; its soakers are paused.
pub(super) fn rig(fixed: FixedParams) -> Rig {
    rig_to(fixed, None)
}

/// The same, whose flows end at `remote` if there is one.
pub(super) fn rig_to(fixed: FixedParams, remote: Option<Box<dyn RemoteSide>>) -> Rig {
    rig_with(fixed, remote, None)
}

/// The same, with counters of hardware events, or of others in their place.
pub(super) fn rig_with(
    fixed: FixedParams,
    remote: Option<Box<dyn RemoteSide>>,
    counters: Option<CpuCounters>,
) -> Rig {
    let ms = 1_000_000;
    let timing =
        Timing { warmup_ns: 4 * ms, window_ns: 10 * ms, idle_ns: 4 * ms, unsoaked_ns: 10 * ms };
    let (links, setup) = (loopback(), files());
    Rig::new(RigSetup { links, setup, fixed, timing, remote, sampler: None, counters }).unwrap()
}
