//! MSG_ZEROCOPY completions from a socket's error queue (Documentation/networking/msg_zerocopy.rst).
