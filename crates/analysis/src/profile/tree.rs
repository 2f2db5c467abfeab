//! The stacks of a cell as one tree, for flame graphs, icicles and folded stacks.

use std::collections::HashMap;

use serde::Serialize;

use super::class::Class;
use super::classes::function_name;
use super::shares::{Frames, is_cost};
use crate::costs::cpus_of_both;
use zc_run::{Profile, Run, SampledTask};

/// A function at one position in the call tree, or a task (the root's children).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flame {
    /// Name of the function, `user mode`, or the task.
    pub name: String,
    /// Class of its samples as innermost function; with several classes, as for tasks, that of the
    /// largest part.
    pub class: Class,
    /// Samples in which it was innermost or a caller.
    pub samples: u64,
    /// Its callees, the largest first.
    pub called: Vec<Flame>,
}

impl Flame {
    /// Samples in which it was innermost.
    pub fn itself(&self) -> u64 {
        self.samples.saturating_sub(self.called.iter().map(|each| each.samples).sum())
    }
}

/// The stacks of a cell's cost over all kept blocks, under a root with the cell's label. The root
/// has all [`Flame::samples`] of the cost; those of idle windows are not subtracted. `None` for a
/// run without samples or without this cell.
pub fn tree(run: &Run, label: &str) -> Option<Flame> {
    let profile = Profile::from_run(run)?;
    let frames = Frames::classify(&profile, run);
    let cell = run.header.plan.cells.iter().find(|cell| cell.label == label)?;
    let cpus = cpus_of_both(&run.header, &cell.levels);
    let kept = run.blocks.iter().zip(&profile.blocks).filter(|(block, _)| block.dropped.is_none());
    let windows = kept
        .flat_map(|(_, windows)| windows)
        .filter(|window| window.cell.as_deref() == Some(label));
    let mut counts: HashMap<(SampledTask, u32), u64> = HashMap::new();
    for task in windows.flat_map(|window| &window.tasks).filter(|task| cpus.contains(&task.cpu)) {
        for &(frame, count) in task.counts.iter().filter(|(frame, _)| is_cost(task.task, *frame)) {
            *counts.entry((task.task, frame)).or_default() += u64::from(count);
        }
    }
    let mut root = Node::default();
    for (&(task, frame), &count) in &counts {
        let class = frames.class(task, frame);
        root.add(class, count);
        let mut node = root.child(task_name(task));
        node.add(class, count);
        let stack: Vec<u32> = profile.callers(frame).collect();
        if stack.is_empty() {
            node.child("user mode").add(class, count);
        }
        for &frame in stack.iter().rev() {
            node = node.child(function_name(profile.symbol(frame)));
            node.add(class, count);
        }
    }
    Some(root.flame(label.to_owned()))
}

/// The printed name of a task.
fn task_name(task: SampledTask) -> &'static str {
    match task {
        SampledTask::Sender => "sender",
        SampledTask::Receiver => "receiver",
        SampledTask::Soaker => "soaker, interrupted",
        SampledTask::Instrument => "zc itself",
        SampledTask::Idle => "idle",
        SampledTask::Ksoftirqd => "ksoftirqd",
        SampledTask::KernelThread => "kernel thread",
        SampledTask::Other => "other process",
    }
}

#[derive(Default)]
struct Node<'a> {
    samples: u64,
    classes: HashMap<Class, u64>,
    children: HashMap<&'a str, Node<'a>>,
}

impl<'a> Node<'a> {
    fn child(&mut self, name: &'a str) -> &mut Self {
        self.children.entry(name).or_default()
    }

    fn add(&mut self, class: Class, count: u64) {
        self.samples += count;
        *self.classes.entry(class).or_default() += count;
    }

    fn flame(self, name: String) -> Flame {
        let mut called: Vec<Flame> =
            self.children.into_iter().map(|(name, node)| node.flame(name.to_owned())).collect();
        called.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.name.cmp(&b.name)));
        let largest = self
            .classes
            .into_iter()
            .max_by_key(|(class, count)| (*count, std::cmp::Reverse(*class)));
        Flame {
            name,
            class: largest.map_or(Class::Unknown, |(class, _)| class),
            samples: self.samples,
            called,
        }
    }
}
