//! The list of plans.

/// A plan in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRow {
    /// What `zc run` is given.
    pub name: String,
    /// How many cells it has, the control not counted; null for one that has none.
    pub cells: Option<usize>,
    /// The time that it takes unless another is asked for.
    pub budget: String,
    /// What it finds out.
    pub question: String,
}

/// The list, a line to a plan.
pub fn plans(rows: &[PlanRow]) -> String {
    let widest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or_default();
    let line = |name: &str, cells: &str, budget: &str, question: &str| {
        format!("{name:widest$}  {cells:>5}  {budget:>6}  {question}\n")
    };
    let mut text = line("plan", "cells", "budget", "finds out");
    for row in rows {
        let cells = row.cells.map_or_else(String::new, |cells| cells.to_string());
        text.push_str(&line(&row.name, &cells, &row.budget, &row.question));
    }
    text.push_str("\nzc run NAME runs one; zc plan NAME prints it, to make your own from for zc run --plan FILE\n");
    text
}
