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
        AccountKind::WallTime { why: reason } => {
            format!("by wall time, with what other programs use in them: {}", why(reason))
        }
    }
}

fn why(reason: WhyWallTime) -> &'static str {
    match reason {
        WhyWallTime::NotRead => "the soakers' clocks were not read",
        WhyWallTime::UnknownTasks => "tasks that zc does not know work for the traffic",
        WhyWallTime::InterruptsApart => {
            "the kernel keeps interrupts out of task clocks (CONFIG_IRQ_TIME_ACCOUNTING)"
        }
        WhyWallTime::ClocksTick => "thread clocks advance by ticks",
    }
}
