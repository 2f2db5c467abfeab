//! The orders in which columns of CSV and metrics were published, which readers by position rely
//! on. A new one needs no line here: it comes behind them.

/// The place of a name among those that were published; new ones come last.
pub(super) fn place(published: &[&str], name: &str) -> usize {
    published.iter().position(|known| *known == name).unwrap_or(published.len())
}

/// The columns of a cell in CSV.
pub(super) const CSV: &[&str] = &[
    "path",
    "recv",
    "status",
    "blocks",
    "sender_us_per_mb",
    "sender_half_width_us_per_mb",
    "receiver_us_per_mb",
    "receiver_half_width_us_per_mb",
    "both_us_per_mb",
    "both_half_width_us_per_mb",
    "ratio",
    "ratio_low",
    "ratio_high",
    "ratio_half_width",
    "converged",
    "comparison",
    "gbit_per_s_per_core",
    "top_speed_bytes_per_s",
    "top_speed_by_memcpy",
    "copied_share",
    "failed_zero_copy",
    "getrusage_sender_us_per_mb",
    "getrusage_receiver_us_per_mb",
    "getrusage_both_us_per_mb",
    "proc_stat_both_us_per_mb",
    "gross_both_us_per_mb",
    "idle_host_us_per_mb",
    "mean_both_us_per_mb",
    "send_calls_per_mb",
    "recv_calls_per_mb",
    "packets_per_s",
    "packet_bytes",
    "fragments_per_packet",
    "interrupts_per_s",
    "switches_per_mb",
    "retransmits",
    "enobufs",
    "soaked_by_unsoaked_control",
    "soaked_by_nominal",
    "reason",
];

/// The metrics of a cell.
pub(super) const METRICS: &[&str] = &[
    "zc_cost",
    "zc_cost_to_compared",
    "zc_top_speed",
    "zc_gross_cost",
    "zc_idle_host_cost",
    "zc_getrusage_cost",
    "zc_proc_stat_cost",
    "zc_copied",
    "zc_rate_reached",
    "zc_perturbation",
    "zc_packet_size",
    "zc_send",
    "zc_recv",
    "zc_context",
    "zc_device",
];
