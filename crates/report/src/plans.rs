//! The list of plans as text.

/// One plan in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRow {
    /// Name for `zc run`.
    pub name: String,
    /// Number of cells without the control; `None` for an experiment without a plan.
    pub cells: Option<usize>,
    /// Default time budget, as text.
    pub budget: String,
    /// Question that it answers.
    pub question: String,
}

/// The list, one line per plan.
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
    text.push_str(
        "\nzc run NAME runs one; zc plan NAME prints it, to make your own from for zc \
        run --plan FILE\n",
    );
    text
}
