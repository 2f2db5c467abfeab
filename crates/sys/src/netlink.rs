//! Route and ethtool netlink: devices, addresses, counters, offloads.
