//! Clocks: CLOCK_MONOTONIC, sleeping until a moment of it, and the CPU clocks of threads and of the process.
