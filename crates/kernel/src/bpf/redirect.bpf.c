// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A proxy inside the kernel: what arrives on one socket is sent from another.
//
// A verdict of the map `sources` (BPF_SK_SKB_STREAM_VERDICT), which the kernel asks for each packet that a socket of that map has
// received, in softirq context. It answers with the socket in `targets`, from which a worker of the kernel sends the packet's
// payload (sk_psock_backlog, net/core/skmsg.c). The two are maps of their own, because what a target receives is not redirected.
//
// build.sh beside this file compiles it.

#include "packet.h"

static long (*const redirect)(struct __sk_buff *skb, void *map, __u32 key, __u64 flags) = (void *)BPF_FUNC_sk_redirect_map;

struct {
	int (*type)[BPF_MAP_TYPE_SOCKMAP];
	__u32 *key;
	__u32 *value;
	int (*max_entries)[1];
} sources SEC(".maps");

struct {
	int (*type)[BPF_MAP_TYPE_SOCKMAP];
	__u32 *key;
	__u32 *value;
	int (*max_entries)[1];
} targets SEC(".maps");

SEC("sk_skb/stream_verdict") int redirect_all(struct __sk_buff *skb)
{
	return redirect(skb, &targets, 0, 0);
}

char redirect_license[] SEC("license") = "Dual MIT/GPL";
