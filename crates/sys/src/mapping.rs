//! Memory: files mapped for reading, anonymous memory, pinned-memory limits.
