//! Reads how many packets TCP got at the receiving side of the flows of a trial, and how many
//! segments were in those of their sockets.

use super::connection::Connection;
use super::flow::Flow;
use crate::link::TcpPackets;
use zc_kernel::clock::monotonic_ns;
use zc_kernel::tcp;
use zc_run::DeliveredReading;

/// Of flows whose receivers are threads of this process. `None` with a proxy, which gets the
/// acknowledgements of a second connection among them, and where it is unknown.
pub(super) fn of_flows(flows: &[Flow]) -> Option<DeliveredReading> {
    let packets = flows.first()?.link().tcp_packets()?;
    if flows.iter().any(|flow| flow.proxy.is_some()) {
        return None;
    }
    read(packets, flows.iter().filter_map(Flow::receiving_socket))
}

/// Of these receiving sockets. `None` where the kernel does not say, or they are not of TCP.
pub(super) fn read<'a>(
    packets: &TcpPackets,
    sockets: impl Iterator<Item = &'a Connection>,
) -> Option<DeliveredReading> {
    let at_ns = monotonic_ns();
    let counts = packets.read()?;
    let (mut segs_in, mut bytes) = (0, 0);
    for socket in sockets.flat_map(Connection::streams) {
        let info = tcp::info(socket).ok()?;
        segs_in += u64::from(info.segs_in);
        bytes += info.bytes_received;
    }
    // Every connection began with a segment; the count is absent before Linux 4.2.
    (segs_in > 0).then_some(DeliveredReading {
        at_ns,
        packets: counts.packets,
        segs_in,
        bytes,
        all_segs_in: counts.all_segments,
    })
}
