//! TCP_ZEROCOPY_RECEIVE: mapping received pages instead of copying them.
