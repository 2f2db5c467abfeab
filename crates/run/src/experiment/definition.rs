//! The parts of an experiment: its texts, its plan, and what its report adds to the table of cells.

use crate::Factor;

/// An experiment of `zc run`.
#[derive(Debug)]
pub struct Definition {
    /// Its name, as typed and saved.
    pub name: &'static str,
    /// The question that it answers, ending in a question mark: `zc plan` and the help show it.
    pub question: &'static str,
    /// Heading of its page and its row in the documentation, without a capital or a full stop:
    /// `what a larger MTU saves`.
    pub title: &'static str,
    /// Time that it takes unless `--budget` is given.
    pub budget: &'static str,
    /// Its plan, from behind the budget: the file that `zc plan NAME` prints (docs/plans.md).
    pub plan: Result<&'static str, NoPlan>,
    /// The tables that its report has besides those of all experiments.
    pub tables: Option<Tables>,
    /// The sentence under the verdict, in clauses; none leaves it to the tables.
    pub conclusion: &'static [Clause],
    /// The page of the documentation below docs/, unless it is experiments/NAME.md.
    pub document: Option<&'static str>,
    /// The data of its saved runs that `--anonymise` cannot leave out.
    pub private: Option<&'static str>,
    /// Command lines for its help, each with what it does; without any, those of `zc run` are
    /// shown.
    pub examples: &'static [(&'static str, &'static str)],
}

/// An experiment whose cells are chosen by options of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoPlan {
    /// Why it has no plan, as a predicate: `sends nothing`.
    pub why: &'static str,
    /// Arguments that run it, with a space before the first.
    pub arguments: &'static str,
}

/// Tables of an experiment that take code of their own, in crates/report/src/experiments/.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tables {
    /// Load, interrupts and packets of each path as in 2001, and its share of memcpy's speed.
    PathsOf2001,
    /// The receiver's load and own cost.
    Receivers,
    /// Costs of a call and of a byte, and the sizes from which on a path pays.
    Crossovers,
    /// Load without each offload, as in 2001 and 2006.
    Offloads,
    /// Packets and load of small writes.
    SmallWrites,
    /// Top speeds by placement, in kbytes/s as in 2001.
    Placements,
    /// The accounts of netperf and of time(1).
    Accounts,
    /// Costs of wake-ups, calls and bytes, and what they predict.
    Components,
    /// No table; what TLS costs, and what the kernel's TLS saves, as a conclusion.
    Encryption,
    /// What each layer of the link adds to a byte's cost.
    Layers,
    /// What was lost, and what a byte sent and a byte delivered cost.
    Datagrams,
    /// The proxy's own cost, and from which buffer on splicing pays.
    Proxies,
    /// The sender's own cost, its packets and calls, and from which rate per client on a path pays.
    Clients,
}

/// A clause of a conclusion: what a factor does to the cost of each column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clause {
    /// The levels of a factor that cells are compared by which cost least and most, after these
    /// words.
    Levels(Factor, &'static str),
    /// The level of a factor that no cell is compared by which differs most from the first, after
    /// these words.
    Uncompared(Factor, &'static str),
}

impl Definition {
    /// The values of most experiments; the texts and the plan are each one's own.
    pub(super) const DEFAULT: Self = Self {
        name: "",
        question: "",
        title: "",
        budget: "",
        plan: Ok(""),
        tables: None,
        conclusion: &[],
        document: None,
        private: None,
        examples: &[],
    };

    /// Its plan, as a file that a user could write.
    ///
    /// # Errors
    /// It has none.
    pub fn plan_file(&self) -> Result<String, NoPlan> {
        let Self { name, question, budget, plan, .. } = self;
        let head = format!("name = \"{name}\"\nquestion = \"{question}\"\nbudget = \"{budget}\"");
        plan.map(|rest| head + rest)
    }

    /// The page of the documentation, below docs/.
    pub fn document(&self) -> String {
        self.document.map_or_else(|| format!("experiments/{}.md", self.name), str::to_owned)
    }
}
