//! Scheduling: SCHED_IDLE, CPU affinity, timer slack.
