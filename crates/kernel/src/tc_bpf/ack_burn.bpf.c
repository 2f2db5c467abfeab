// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A known cost in softirq context: the burner of the positive control.
//
// Attached to the ingress of the sender's device (tc, direct action), where acknowledgements arrive in softirq context on the
// sender's CPU. When the last byte of a burst is acknowledged, the sender sleeps until the next is due: then the program keeps
// the CPU busy for as long as `ns_per_burst` says, and counts how long that was. In the middle of a burst, the time that it
// takes would make room for more acknowledgements.
//
// build.sh beside this file compiles it. The layout of `burn` is that of `BurnCell` in ack_burn.rs.

#include "packet.h"

static __u64 (*const now_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;

// Looks at the clock at most, of 20 ns or more each: over a millisecond. The verifier follows each round.
#define ROUNDS 4000
#define LOOKS 16

struct burn {
	__u64 burst_bytes;  // of one flow
	__u64 ns_per_burst; // to be burned for each
	__u64 burned_ns;    // so far, with what the program itself took
};

struct flow {
	__u64 acked;  // bytes, since the last burst that ended
	__s64 due_ns; // to be burned; below 0 if it was more than was due
	__u32 ack;    // newest number acknowledged
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

// Adds what the packet acknowledges; returns the bursts that have ended with it.
static __always_inline __u64 bursts_ended(struct flow *flow, const struct tcphdr *tcp, __u64 burst_bytes)
{
	__u32 ack = be32(tcp->ack_seq);
	__s32 more = ack - flow->ack;
	__u64 bursts;

	if (flags_of(tcp) & SYN) {
		flow->acked = flow->due_ns = 0;
		flow->ack = ack;
		return 0;
	}
	if (more <= 0)
		return 0;
	flow->ack = ack;
	flow->acked += more;
	if (flow->acked < burst_bytes)
		return 0;
	bursts = flow->acked / burst_bytes;
	flow->acked -= bursts * burst_bytes;
	return bursts;
}

SEC("classifier") int ack_burn(struct __sk_buff *skb)
{
	__u64 began_ns = now_ns();
	__u32 key = 0;
	struct burn *burn = map_lookup(&burns, &key);
	int ipv6;
	const struct tcphdr *tcp = tcp_of(skb, &ipv6);
	struct flow *flow;
	__u64 bursts, took_ns;

	if (!burn || !burn->burst_bytes || !tcp)
		return TC_ACT_OK;
	key = be16(tcp->dest) & (PORTS - 1);
	flow = map_lookup(&flows, &key);
	if (!flow)
		return TC_ACT_OK;
	bursts = bursts_ended(flow, tcp, burn->burst_bytes);
	flow->due_ns += bursts * burn->ns_per_burst;
	if (bursts && flow->due_ns > 0)
		burn_until(began_ns + flow->due_ns);
	took_ns = now_ns() - began_ns;
	flow->due_ns -= took_ns;
	__sync_fetch_and_add(&burn->burned_ns, took_ns);
	return TC_ACT_OK;
}

char ack_burn_license[] SEC("license") = "Dual MIT/GPL";
