//! User and network namespaces, held by file descriptor.
