//! The account of costs in words.

use zc_analysis::{AccountKind, WhyWallTime};

/// What costs come from: `own clocks`, and why it is not that.
pub(crate) fn account(kind: AccountKind) -> String {
    match kind {
        AccountKind::OwnClocks => "by own clocks: other programs are in no cost".to_owned(),
        AccountKind::WallLessOthers => format!(
            "by wall time, less what other programs used by the clocks of their cgroups: {}",
            why(WhyWallTime::InterruptsApart)
        ),
        AccountKind::WallTime { because } => {
            format!("by wall time, with what other programs use in them: {}", why(because))
        }
    }
}

pub(crate) fn why(because: WhyWallTime) -> &'static str {
    match because {
        WhyWallTime::NoClocks => "the run has no clocks of soakers, as those before format 3.7",
        WhyWallTime::UnknownTasks => "tasks that zc does not know work for the traffic",
        WhyWallTime::InterruptsApart => {
            "the kernel keeps interrupts out of task clocks (CONFIG_IRQ_TIME_ACCOUNTING)"
        }
        WhyWallTime::ClocksTick => "thread clocks advance by ticks",
        WhyWallTime::ComparedRun => "it is compared with a run whose costs are",
    }
}
