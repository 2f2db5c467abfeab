//! Determines from their notifications which zero-copy sends were copied.
//!
//! A notification is marked "copied" in two cases (io_notif_tw_complete() in io_uring/notif.c): the
//! data of a packet was copied, or no packet of the send itself was ever freed. The second is not a
//! copy. Since Linux 6.10 a send may join the packet that an earlier send has begun
//! (io_link_skb()), and has none of its own if it fits into that packet. That is so for the end of
//! nearly every file. It can also hold for many small sends in a row, because the rest of a packet
//! that TCP splits belongs to the send that began it (skb_zerocopy_clone()).
//!
//! Sends that joined others complete together with those, directly after them, and last in first
//! out: io_link_skb() inserts each directly after the one that began the packet. Copied sends
//! complete in order, and the send that began their packet is marked too. A send larger than a
//! packet always has a packet of its own.

/// Largest packet of TCP (GSO_LEGACY_MAX_SIZE in include/linux/netdevice.h), unless a device allows
/// larger ones (BIG TCP).
const PACKET_BYTES: u32 = 1 << 16;

/// Classifies the notifications of one ring in their order.
#[derive(Debug)]
pub(super) struct Copied {
    /// Largest packet that the socket's device takes from TCP, or more.
    packet_bytes: u32,
    /// The previous notification, whose packet a marked send may have joined.
    before: Before,
}

#[derive(Debug, Default, Clone, Copy)]
enum Before {
    /// No notification, or that of a copied send.
    #[default]
    Copied,
    /// Notification of an unmarked send.
    Unmarked,
    /// Notification of the send with this number, which had joined a packet.
    Joined(u32),
}

impl Default for Copied {
    fn default() -> Self {
        Self::in_packets_of(PACKET_BYTES)
    }
}

impl Copied {
    /// For a device that takes packets of `packet_bytes`, or of fewer.
    pub(super) fn in_packets_of(packet_bytes: u32) -> Self {
        Self { packet_bytes, before: Before::default() }
    }

    /// Whether the send of the next notification was copied. `send` is its number (modulo 2^32),
    /// `bytes` its length.
    pub(super) fn was_copied(&mut self, marked: bool, send: u32, bytes: u32) -> bool {
        let joined = match self.before {
            _ if bytes >= self.packet_bytes => false,
            Before::Copied => false,
            Before::Unmarked => true,
            Before::Joined(before) => (send.wrapping_sub(before) as i32) < 0,
        };
        self.before = match (marked, joined) {
            (false, _) => Before::Unmarked,
            (true, true) => Before::Joined(send),
            (true, false) => Before::Copied,
        };
        marked && !joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: u32 = 65_536;

    fn copied(notifications: impl IntoIterator<Item = (bool, u32, u32)>) -> Vec<u32> {
        let mut copied = Copied::default();
        let those = notifications
            .into_iter()
            .filter(|&(marked, send, bytes)| copied.was_copied(marked, send, bytes));
        those.map(|(_, send, _)| send).collect()
    }

    #[test]
    fn the_end_of_a_file_in_the_packet_of_what_came_before_it_is_not_copied() {
        assert_eq!(
            copied([(false, 1, LARGE), (true, 2, 5_000), (false, 3, LARGE), (true, 4, 64_535)]),
            [0; 0]
        );
        // They are one chain: 3 joined 1, and so did 2 before it; 4 joined 3.
        assert_eq!(
            copied([(false, 1, LARGE), (false, 3, LARGE), (true, 4, 5_000), (true, 2, 5_000)]),
            [0; 0]
        );
    }

    #[test]
    fn a_large_send_may_have_joined_a_packet_that_is_larger_still() {
        let two = [(false, 1, LARGE), (true, 2, LARGE)];
        let copied =
            |mut by: Copied| two.map(|(marked, send, len)| by.was_copied(marked, send, len));
        assert_eq!(copied(Copied::default()), [false, true]);
        assert_eq!(copied(Copied::in_packets_of(1 << 19)), [false, false]);
    }

    #[test]
    fn small_sends_that_went_on_joining_one_packet_are_not_copied() {
        let joined = (2..=126).rev().map(|send| (true, send, 16_384));
        assert_eq!(copied([(false, 1, 16_384)].into_iter().chain(joined)), [0; 0]);
        assert_eq!(copied([(false, u32::MAX, 100), (true, 1, 100), (true, 0, 100)]), [0; 0]);
    }

    #[test]
    fn where_everything_is_marked_everything_is_copied() {
        assert_eq!(copied((0..100).map(|send| (true, send, 5_000))).len(), 100);
        assert_eq!(
            copied((0..100).map(|send| (true, send, if send % 6 == 0 { 5_000 } else { LARGE })))
                .len(),
            100
        );
        assert_eq!(copied([(true, 1, 5_000), (true, 3, 5_000), (true, 2, 5_000)]), [1, 3, 2]);
    }

    #[test]
    fn a_copy_that_begins_in_the_middle_is_seen_with_its_second_send() {
        let calm = (0..100).map(|send| (false, send, 16_384));
        let then = (100..200).map(|send| (true, send, 16_384));
        assert_eq!(copied(calm.chain(then)).len(), 99);
        assert_eq!(copied([(false, 1, LARGE), (true, 2, LARGE), (false, 3, LARGE)]), [2]);
    }
}
