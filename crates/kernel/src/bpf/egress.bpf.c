// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The egress of the null link: an ideal network card, at which packets end.
//
// Attached to the egress of the sender's device (tc, direct action). A TCP or UDP packet to the discard port is noted in the
// cell of its flow and swallowed: the kernel frees it as a card would after DMA, so that zero-copy sends stay zero-copy. All
// other packets (ARP, the connections by which paths are proven) pass as they would without it. Of datagrams only packets and
// bytes are noted, which go on growing for the next flow with that port.
//
// Nothing is parsed that user space can parse: a SYN's options are kept as they are. A flow's packets leave from one CPU
// (its sender is pinned, and receive packet steering brings its ACKs to the same CPU), so a cell has one writer.
//
// The program exists twice: `egress`, and `egress_counting`, which also counts the fragments of packets while `counting` is
// set. For that it reads the kernel's own sk_buff, at offsets from the kernel's BTF, which not every kernel lets it do.
//
// build.sh beside this file compiles it; egress.bpf.o is committed, so that users need no clang. The layout of `cell` is
// that of `Cell` in egress.rs.

#include "packet.h"

static long (*const read_kernel)(void *to, __u32 len, const void *from) = (void *)BPF_FUNC_probe_read_kernel;
static long (*const load_bytes)(const void *skb, __u32 offset, void *to, __u32 len) = (void *)BPF_FUNC_skb_load_bytes;

#define DISCARD 9
#define OPTIONS 40
#define ENDED 1
#define RESET 2
#define CLOSED 4

struct cell {
	__u64 connections; // SYNs of new connections so far; the last thing that a SYN writes
	__u64 bytes;       // payload that arrived in order
	__u64 again_bytes; // payload that had arrived before
	__u64 packets;     // packets with payload; a GSO packet is one
	__u64 gaps;        // packets beyond what was expected: never, as nothing is lost or overtaken here
	__u64 ends;        // bit 0: a FIN arrived in order; bit 1: a RST; bit 2: our FIN was acknowledged
	__u64 repeats;     // packets that repeat what had arrived: each asks for an answer that got lost
	__u32 first;       // sequence number of the SYN
	__u32 timestamp;   // newest TSval
	__u32 syns;        // SYNs of this connection, repeated ones too
	__u16 port;        // source port
	__u8 options_len;
	__u8 ipv6;
	__u8 options[OPTIONS]; // those of the SYN
	__u64 counted;   // packets with payload whose fragments were counted
	__u64 fragments; // theirs
};

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	__u32 *key;
	struct cell *value;
	int (*max_entries)[PORTS];
	int (*map_flags)[BPF_F_MMAPABLE];
} cells SEC(".maps");

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	__u32 *key;
	__u32 *value; // whether to count
	int (*max_entries)[1];
	int (*map_flags)[BPF_F_MMAPABLE];
} counting SEC(".maps");

// What is needed of the kernel's own types (include/linux/skbuff.h). The offsets are those of the running kernel.
struct sk_buff {
	unsigned char *head;
	unsigned int end;
} __attribute__((preserve_access_index));

struct skb_shared_info {
	__u8 nr_frags;
} __attribute__((preserve_access_index));

// Fragments of a packet behind its header: each is mapped for DMA by a card.
static __always_inline void count_fragments(const struct __sk_buff *packet, struct cell *cell)
{
	const struct sk_buff *skb = (const void *)packet;
	const struct skb_shared_info *shared;
	unsigned char *head;
	unsigned int end;
	__u8 fragments;

	if (read_kernel(&head, sizeof(head), &skb->head) || read_kernel(&end, sizeof(end), &skb->end))
		return;
	shared = (const void *)(head + end); // skb_shinfo()
	if (read_kernel(&fragments, sizeof(fragments), &shared->nr_frags))
		return;
	cell->counted++;
	cell->fragments += fragments;
}

static __always_inline int is_counting(void)
{
	__u32 key = 0;
	const __u32 *wanted = map_lookup(&counting, &key);

	return wanted && *wanted;
}

static __always_inline void begin(struct __sk_buff *skb, struct cell *cell, const struct tcphdr *tcp, __u32 options_at,
				  __u32 header_len, int ipv6)
{
	__u32 first = be32(tcp->seq);
	unsigned long before_last = (unsigned long)header_len - sizeof(*tcp) - 1;

	if (cell->connections && cell->first == first && cell->port == be16(tcp->source) && !cell->bytes) {
		cell->syns++; // the same SYN, sent again
		return;
	}
	cell->bytes = cell->again_bytes = cell->packets = cell->gaps = cell->ends = cell->repeats = 0;
	cell->counted = cell->fragments = 0;
	cell->syns = 1;
	cell->first = first;
	cell->timestamp = 0;
	cell->port = be16(tcp->source);
	cell->ipv6 = ipv6;
	cell->options_len = 0;
	// One comparison bounds the length at both ends, and what is read by is computed from what was compared. The verifier of Linux
	// 6.1 learns no lower bound from "is not 0" (6.12 does), and allows no read of 0 bytes.
	asm volatile("" : "+r"(before_last));
	if (before_last < OPTIONS && !load_bytes(skb, options_at, cell->options, before_last + 1))
		cell->options_len = before_last + 1;
	__sync_fetch_and_add(&cell->connections, 1);
}

static __always_inline int note_datagrams(struct __sk_buff *skb, int counts)
{
	int ipv6 = 0;
	const struct udphdr *udp = transport_of(skb, IPPROTO_UDP, sizeof(*udp), &ipv6);

	if (!udp || udp->dest != be16(DISCARD))
		return TC_ACT_OK;

	__u32 headers_len = ETH_HLEN + (ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)) + sizeof(*udp);
	__u32 key = be16(udp->source) & (PORTS - 1);
	struct cell *cell = map_lookup(&cells, &key);

	if (!cell || skb->len < headers_len)
		return TC_ACT_OK;
	if (skb->len > headers_len) {
		cell->bytes += skb->len - headers_len;
		cell->packets++;
		if (counts && is_counting())
			count_fragments(skb, cell);
	}
	return TC_ACT_STOLEN;
}

static __always_inline int look_at(struct __sk_buff *skb, int counts)
{
	int ipv6 = 0;
	const struct tcphdr *tcp = tcp_of(skb, &ipv6);

	if (!tcp)
		return note_datagrams(skb, counts);
	if (tcp->dest != be16(DISCARD))
		return TC_ACT_OK;

	const void *end = (const void *)(long)skb->data_end;
	const __u32 *options = (const void *)(tcp + 1);
	__u32 tcp_at = ETH_HLEN + (ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	__u32 header_len = tcp->doff * 4;
	__u32 key = be16(tcp->source) & (PORTS - 1);
	__u8 flags = flags_of(tcp);
	struct cell *cell = map_lookup(&cells, &key);

	if (!cell || header_len < sizeof(*tcp) || skb->len < tcp_at + header_len)
		return TC_ACT_OK;
	if (flags & SYN) {
		begin(skb, cell, tcp, tcp_at + sizeof(*tcp), header_len, ipv6);
		return TC_ACT_STOLEN;
	}

	// NOP, NOP, timestamps: how Linux lays out the options of an established connection (tcp_options_write).
	if ((const void *)(options + 2) <= end && options[0] == be32(0x0101080a))
		cell->timestamp = be32(options[1]);

	__u32 len = skb->len - tcp_at - header_len;
	__u32 expected = cell->first + 1 + (__u32)cell->bytes;
	__s32 ahead = be32(tcp->seq) - expected;

	if (cell->ends & ENDED) {
		// The FIN took one number: an empty packet behind it acknowledges ours. All else came before it.
		if (!len && !(flags & FIN) && ahead == 1) {
			cell->ends |= CLOSED;
		} else if (!(flags & RST)) {
			cell->again_bytes += len;
			cell->repeats++;
		}
	} else if (ahead > 0) {
		cell->gaps++;
	} else if ((__s32)len + ahead < 0 || (len && (__s32)len + ahead == 0)) {
		cell->again_bytes += len; // a retransmission, or a probe that keeps the connection alive
		cell->repeats++;
	} else {
		cell->again_bytes += -ahead;
		cell->packets += len > 0;
		cell->bytes += (__s32)len + ahead;
		if (flags & FIN)
			cell->ends |= ENDED;
		if (counts && len && is_counting())
			count_fragments(skb, cell);
	}
	if (flags & RST)
		cell->ends |= RESET;
	return TC_ACT_STOLEN;
}

SEC("classifier") int egress(struct __sk_buff *skb)
{
	return look_at(skb, 0);
}

SEC("classifier/counting") int egress_counting(struct __sk_buff *skb)
{
	return look_at(skb, 1);
}

char egress_license[] SEC("license") = "Dual MIT/GPL";
