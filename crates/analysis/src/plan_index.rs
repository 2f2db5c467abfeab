//! The cells of a plan by label, and what each is divided by.
//!
//! Everything is looked up once. A plan may have thousands of cells, and a walk over all of them
//! for each one would take most of the time of an estimate.

use std::collections::HashMap;

use zc_run::{Cell, Plan};

/// An index of a plan's cells.
#[derive(Debug, Clone)]
pub struct PlanIndex<'p> {
    plan: &'p Plan,
    /// Place of each label's cell; the first where several have the label.
    places: HashMap<&'p str, usize>,
    reference: Option<usize>,
    aa_controls: Vec<usize>,
}

impl<'p> PlanIndex<'p> {
    /// The index of a plan. O(cells).
    pub fn new(plan: &'p Plan) -> Self {
        let mut places = HashMap::with_capacity(plan.cells.len());
        for (place, cell) in plan.cells.iter().enumerate() {
            places.entry(cell.label.as_str()).or_insert(place);
        }
        let controls = plan.cells.iter().enumerate().filter(|(_, cell)| cell.is_aa_control());
        Self {
            plan,
            reference: places.get(plan.reference.as_str()).copied(),
            aa_controls: controls.map(|(place, _)| place).collect(),
            places,
        }
    }

    /// The place of a cell in the plan.
    pub fn place(&self, label: &str) -> Option<usize> {
        self.places.get(label).copied()
    }

    /// The cell with a label.
    pub fn cell(&self, label: &str) -> Option<&'p Cell> {
        self.plan.cells.get(self.place(label)?)
    }

    /// The place of the plan's reference.
    pub fn reference(&self) -> Option<usize> {
        self.reference
    }

    /// Whether two cells run the same path, and so wander together. Each state of a server runs
    /// code of its own.
    pub fn wander_together(&self, cell: usize, other: usize) -> bool {
        let (cell, other) = (&self.plan.cells[cell], &self.plan.cells[other]);
        cell.runs_the_path_of(other)
            && (self.plan.traffic.server().is_none() || cell.levels.state == other.levels.state)
    }

    /// Whether a cell wanders with what it is divided by: a control does, and a cell that is
    /// compared with itself in another state of the host.
    pub fn wanders_with_its_baseline(&self, cell: usize) -> bool {
        self.baseline(cell).is_some_and(|base| self.wander_together(cell, base))
    }

    /// The place of a cell's baseline: the cell that it names, else the plan's reference. `None`
    /// for the reference, which has no baseline, and where the named cell is not in the plan.
    pub fn baseline(&self, cell: usize) -> Option<usize> {
        let base = match self.plan.cells.get(cell)?.by.as_deref() {
            Some(label) => self.place(label),
            None => self.reference,
        };
        base.filter(|base| *base != cell)
    }

    /// The places of the cells that a cell is divided by: its [`baseline`](Self::baseline) and, if
    /// that is the plan's reference, the A/A control too. The control is the same path, and the
    /// geometric mean of two trials has less noise. That control itself is divided by the reference
    /// alone: a part of its own divisor would be no control. Empty for a cell without a ratio.
    pub fn divisors(&self, cell: usize) -> Vec<usize> {
        let Some(base) = self.baseline(cell) else { return Vec::new() };
        let doubled = Some(base) == self.reference && !self.plan.cells[cell].is_aa_control();
        let controls = if doubled { self.aa_controls.as_slice() } else { &[] };
        std::iter::once(base).chain(controls.iter().copied()).collect()
    }
}
