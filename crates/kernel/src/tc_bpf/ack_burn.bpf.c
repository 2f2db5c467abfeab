// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A known cost in softirq context: the burner of the positive control.
//
// Attached to the ingress of the sender's device (tcx), where acknowledgements arrive in softirq context on the sender's CPU.
// It keeps the CPU busy in proportion to the bytes acknowledged, and counts for how long. It does so only while the sender
// sleeps between two bursts, as the sender itself says: in the middle of a burst, the time that it takes would make room for
// more acknowledgements.
//
// build.sh beside this file compiles it. The layouts of `burn` and `flow` are those of `BurnCell` and `FlowCell` in
// ack_burn.rs.

#include "packet.h"

static __u64 (*const now_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;

// Looks at the clock at most, of 20 ns or more each: over a millisecond. The verifier follows each round.
#define ROUNDS 4000
#define LOOKS 16
#define FS_PER_NS 1000000

struct burn {
	__u64 fs_per_byte; // to be burned, in femtoseconds: ns per MB
	__u64 burned_ns;   // so far, with what the program itself took
};

struct flow {
	__s64 due_fs; // to be burned; below 0 if it was more than was due
	__u32 ack;    // newest number acknowledged
	__u32 sleeps; // whether the sender sleeps; written by the sender
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

// Bytes that the packet acknowledges.
static __always_inline __u32 acknowledged(struct flow *flow, const struct tcphdr *tcp)
{
	__u32 ack = be32(tcp->ack_seq);
	__s32 more = ack - flow->ack;

	if (flags_of(tcp) & SYN) {
		flow->due_fs = 0;
		flow->ack = ack;
		return 0;
	}
	if (more <= 0)
		return 0;
	flow->ack = ack;
	return more;
}

SEC("classifier") int ack_burn(struct __sk_buff *skb)
{
	__u64 began_ns = now_ns();
	__u32 key = 0;
	struct burn *burn = map_lookup(&burns, &key);
	int ipv6;
	const struct tcphdr *tcp = tcp_of(skb, &ipv6);
	struct flow *flow;
	__u64 took_ns;

	if (!burn || !tcp)
		return TC_ACT_OK;
	key = be16(tcp->dest) & (PORTS - 1);
	flow = map_lookup(&flows, &key);
	if (!flow)
		return TC_ACT_OK;
	flow->due_fs += acknowledged(flow, tcp) * burn->fs_per_byte;
	if (*(volatile __u32 *)&flow->sleeps && flow->due_fs > 0)
		burn_until(began_ns + (__u64)flow->due_fs / FS_PER_NS);
	took_ns = now_ns() - began_ns;
	flow->due_fs -= took_ns * FS_PER_NS;
	__sync_fetch_and_add(&burn->burned_ns, took_ns);
	return TC_ACT_OK;
}

char ack_burn_license[] SEC("license") = "Dual MIT/GPL";
