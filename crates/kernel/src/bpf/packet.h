// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the programs of this folder share: helpers of the kernel, byte order, and finding the TCP or UDP header of a packet.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <linux/udp.h>

// The kernel's header for user space only hints at it.
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define SEC(name) __attribute__((section(name), used))
#define be16(value) __builtin_bswap16(value)
#define be32(value) __builtin_bswap32(value)

static void *(*const map_lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;

// Ephemeral ports (net.ipv4.ip_local_port_range, 32768 to 60999) differ in their lower 15 bits.
#define PORTS (1 << 15)

#define FIN 0x01
#define SYN 0x02
#define RST 0x04

static __always_inline __u8 flags_of(const struct tcphdr *tcp)
{
	return ((const __u8 *)tcp)[13];
}

// The header of a packet of this protocol, of which header_len bytes are in reach; a null pointer if it is something else.
static __always_inline const void *transport_of(const struct __sk_buff *skb, __u8 protocol, __u32 header_len, int *ipv6)
{
	const void *end = (const void *)(long)skb->data_end;
	const struct ethhdr *ethernet = (const void *)(long)skb->data;
	const void *header;

	if ((const void *)(ethernet + 1) > end)
		return 0;
	if (ethernet->h_proto == be16(ETH_P_IP)) {
		const struct iphdr *ip = (const void *)(ethernet + 1);

		if ((const void *)(ip + 1) > end || ip->protocol != protocol || ip->ihl != 5)
			return 0;
		header = ip + 1;
		*ipv6 = 0;
	} else if (ethernet->h_proto == be16(ETH_P_IPV6)) {
		const struct ipv6hdr *ip = (const void *)(ethernet + 1);

		if ((const void *)(ip + 1) > end || ip->nexthdr != protocol)
			return 0;
		header = ip + 1;
		*ipv6 = 1;
	} else {
		return 0;
	}
	return header + header_len > end ? 0 : header;
}

// The TCP header of a packet, without its options; a null pointer if it is something else.
static __always_inline const struct tcphdr *tcp_of(const struct __sk_buff *skb, int *ipv6)
{
	return transport_of(skb, IPPROTO_TCP, sizeof(struct tcphdr), ipv6);
}
