//! io_uring: rings that own the buffers they lend to the kernel.
