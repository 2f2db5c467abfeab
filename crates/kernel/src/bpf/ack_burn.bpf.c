// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A known cost in softirq context: the burner of the positive control.
//
// A filter of the sending socket (SO_ATTACH_BPF), which the kernel calls for each packet that arrives for it, in softirq context
// on the sender's CPU: the acknowledgements. It keeps the CPU busy in proportion to the bytes acknowledged, and counts for how
// long. It does so only while the sender sleeps between two bursts, as the sender itself says: in the middle of a burst, the
// time that it takes would make room for more acknowledgements.
//
// build.sh beside this file compiles it. The layouts of `burn` and `flow` are those of `BurnCell` and `FlowCell` in
// ack_burn.rs.

#include "packet.h"

static __u64 (*const now_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static long (*const load_bytes)(const void *skb, __u32 offset, void *to, __u32 len) = (void *)BPF_FUNC_skb_load_bytes;

// Looks at the clock at most, of 20 ns or more each: over a millisecond. The verifier follows each round.
#define ROUNDS 4000
#define LOOKS 16
#define FS_PER_NS 1000000

// All of the packet passes.
#define PASS (-1)

struct burn {
	__u64 burned_ns; // so far, with what the program itself took
};

struct flow {
	__u64 fs_per_byte; // to be burned, in femtoseconds: ns per MB
	__s64 due_fs;      // to be burned; below 0 if it was more than was due
	__u32 ack;         // newest number acknowledged
	__u32 knows_ack;   // whether it is known
	__u32 sleeps;      // whether the sender sleeps; written by the sender
	__u32 unused;
};

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	__u32 *key;
	struct burn *value;
	int (*max_entries)[1];
	int (*map_flags)[BPF_F_MMAPABLE];
} burns SEC(".maps");

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	__u32 *key;
	struct flow *value;
	int (*max_entries)[PORTS];
	int (*map_flags)[BPF_F_MMAPABLE];
} flows SEC(".maps");

static __always_inline void burn_until(__u64 end_ns)
{
	for (int round = 0; round < ROUNDS; round++) {
#pragma clang loop unroll(full)
		for (int look = 1; look < LOOKS; look++)
			now_ns();
		if (now_ns() >= end_ns)
			return;
	}
}

// Bytes that a packet acknowledges. The first one only tells the numbers.
static __always_inline __u32 acknowledged(struct flow *flow, __u32 ack)
{
	__s32 more = ack - flow->ack;

	if (flow->knows_ack && more <= 0)
		return 0;
	flow->ack = ack;
	if (!flow->knows_ack) {
		flow->knows_ack = 1;
		return 0;
	}
	return more;
}

SEC("socket") int ack_burn(struct __sk_buff *skb)
{
	__u64 began_ns = now_ns();
	__u32 key = 0;
	struct burn *burn = map_lookup(&burns, &key);
	struct tcphdr tcp;
	struct flow *flow;
	__u64 took_ns;

	// TCP calls filters with its header at the beginning.
	if (!burn || load_bytes(skb, 0, &tcp, sizeof(tcp)) < 0)
		return PASS;
	key = be16(tcp.dest) & (PORTS - 1);
	flow = map_lookup(&flows, &key);
	if (!flow)
		return PASS;
	flow->due_fs += acknowledged(flow, be32(tcp.ack_seq)) * flow->fs_per_byte;
	if (*(volatile __u32 *)&flow->sleeps && flow->due_fs > 0)
		burn_until(began_ns + (__u64)flow->due_fs / FS_PER_NS);
	took_ns = now_ns() - began_ns;
	flow->due_fs -= took_ns * FS_PER_NS;
	__sync_fetch_and_add(&burn->burned_ns, took_ns);
	return PASS;
}

char ack_burn_license[] SEC("license") = "Dual MIT/GPL";
