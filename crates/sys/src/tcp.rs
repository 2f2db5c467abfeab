//! TCP sockets: TCP_INFO, congestion control, buffers, SO_ZEROCOPY, send and receive with flags.
