//! Facts about and control over processes: limits, capabilities, uname, autogroups.
