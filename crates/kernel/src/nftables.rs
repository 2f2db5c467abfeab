//! The tables of nftables that packets pass, over nfnetlink.
//!
//! # References
//! - Documentation/netlink/specs/nftables.yaml
//! - include/uapi/linux/netfilter/nf_tables.h and nfnetlink.h

use std::io;

use netlink_packet_core::{DecodeError, NLM_F_DUMP};
use netlink_sys::protocols::NETLINK_NETFILTER;

use crate::attributes::{child, string};
use crate::netlink_channel::{Channel, Message, take, undecodable};

const SUBSYSTEM: u16 = 10 << 8;
const MSG_NEWCHAIN: u16 = 3;
const MSG_GETCHAIN: u16 = 4;
const A_CHAIN_TABLE: u16 = 1;
const A_CHAIN_HOOK: u16 = 4;

/// `struct nfgenmsg`: the family, version 0, and a resource id.
const HEADER_BYTES: usize = 4;

/// Tables of the calling thread's network namespace with a chain at a hook of the network stack, as
/// `nft` names them (`inet filter`), each once, with NFT_MSG_GETCHAIN. Other tables see no packet.
///
/// # Errors
/// - EPERM: CAP_NET_ADMIN is needed.
/// - EPROTONOSUPPORT: the kernel has no nfnetlink.
/// - EOPNOTSUPP, EINVAL: it has no nftables.
///
/// # References
/// [nft(8)]
///
/// [nft(8)]: https://man7.org/linux/man-pages/man8/nft.8.html
#[doc(alias = "NFT_MSG_GETCHAIN")]
#[doc(alias = "NETLINK_NETFILTER")]
pub fn tables_at_hooks() -> io::Result<Vec<String>> {
    let channel = Channel::open(NETLINK_NETFILTER)?;
    // Chains of all families.
    let request = Message::new(SUBSYSTEM | MSG_GETCHAIN, &[0; HEADER_BYTES], &[]);
    tables_of(&channel.request(request, NLM_F_DUMP)?)
}

/// The tables that one datagram of the kernel's answer to the request `sequence` lists: what
/// [`tables_at_hooks`] returns of it.
///
/// # Errors
/// The bytes are not messages of nfnetlink, or one of them is an error.
#[doc(alias = "NFT_MSG_NEWCHAIN")]
pub fn tables_in(datagram: &[u8], sequence: u32) -> io::Result<Vec<String>> {
    let mut chains = Vec::new();
    take(datagram, sequence, &mut chains)?;
    tables_of(&chains)
}

fn tables_of(chains: &[Message]) -> io::Result<Vec<String>> {
    let mut tables = Vec::new();
    for chain in chains {
        let table = table_at_hook(chain).map_err(undecodable)?;
        tables.extend(table.filter(|table| !tables.contains(table)));
    }
    Ok(tables)
}

/// The table of a chain that is at a hook.
fn table_at_hook(chain: &Message) -> Result<Option<String>, DecodeError> {
    let (Some(family), Some(attributes)) =
        (chain.payload.first(), chain.payload.get(HEADER_BYTES..))
    else {
        return Ok(None);
    };
    if chain.kind != SUBSYSTEM | MSG_NEWCHAIN || child(attributes, A_CHAIN_HOOK)?.is_none() {
        return Ok(None);
    }
    let table = child(attributes, A_CHAIN_TABLE)?;
    Ok(table.map(|table| format!("{} {}", family_name(*family), string(&table))))
}

/// NFPROTO_*, as `nft` names them.
fn family_name(family: u8) -> String {
    match family {
        1 => "inet".to_owned(),
        2 => "ip".to_owned(),
        3 => "arp".to_owned(),
        5 => "netdev".to_owned(),
        7 => "bridge".to_owned(),
        10 => "ip6".to_owned(),
        other => format!("family {other}"),
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::{DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_REQUEST};
    use netlink_sys::{Socket, SocketAddr};

    use super::*;
    use crate::attributes::{bytes, nested, text};

    const INET: u8 = 1;
    const BATCH_BEGIN: u16 = 0x10;
    const BATCH_END: u16 = 0x11;
    const MSG_NEWTABLE: u16 = 0;
    const A_TABLE_NAME: u16 = 1;
    const A_CHAIN_NAME: u16 = 3;
    const A_CHAIN_TYPE: u16 = 7;
    const A_HOOK_NUMBER: u16 = 1;
    const A_HOOK_PRIORITY: u16 = 2;

    /// One message of a batch, with its netlink header.
    fn message(
        kind: u16,
        flags: u16,
        family: u8,
        resource: u16,
        attributes: &[DefaultNla],
    ) -> Vec<u8> {
        let body = [&[family, 0], &resource.to_be_bytes()[..], &bytes(attributes)].concat();
        let length = (16 + body.len()) as u32;
        let flags = NLM_F_REQUEST | flags;
        [
            &length.to_ne_bytes()[..],
            &kind.to_ne_bytes(),
            &flags.to_ne_bytes(),
            &7_u32.to_ne_bytes(),
            &0_u32.to_ne_bytes(),
            &body,
        ]
        .concat()
    }

    /// Makes the table `filter` with a chain at the hook `input`, and `idle` with none.
    fn make_tables() -> io::Result<()> {
        let chain = [
            text(A_CHAIN_TABLE, "filter"),
            text(A_CHAIN_NAME, "in"),
            nested(
                A_CHAIN_HOOK,
                &[
                    DefaultNla::new(A_HOOK_NUMBER, 1_u32.to_be_bytes().to_vec()),
                    DefaultNla::new(A_HOOK_PRIORITY, 0_u32.to_be_bytes().to_vec()),
                ],
            ),
            text(A_CHAIN_TYPE, "filter"),
        ];
        let table = |name| {
            message(SUBSYSTEM | MSG_NEWTABLE, NLM_F_CREATE, INET, 0, &[text(A_TABLE_NAME, name)])
        };
        let batch = [
            message(BATCH_BEGIN, 0, 0, SUBSYSTEM >> 8, &[]),
            table("filter"),
            table("idle"),
            message(SUBSYSTEM | MSG_NEWCHAIN, NLM_F_CREATE | NLM_F_ACK, INET, 0, &chain),
            message(BATCH_END, 0, 0, SUBSYSTEM >> 8, &[]),
        ]
        .concat();
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        socket.send(&batch, 0)?;
        let (answer, _) = socket.recv_from_full()?;
        // After its header, an error message begins with the negative errno, 0 in an
        // acknowledgement.
        let code =
            answer.get(16..20).and_then(|code| code.try_into().ok()).map_or(0, i32::from_ne_bytes);
        if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-code)) }
    }

    #[test]
    fn only_tables_with_a_chain_at_a_hook_are_listed() {
        // In a thread of its own, because a namespace belongs to a thread.
        std::thread::spawn(|| {
            if crate::netns::NetNs::unshare().is_err() {
                eprintln!("skipped: needs CAP_SYS_ADMIN");
                return;
            }
            match tables_at_hooks() {
                Ok(none) => assert_eq!(none, [""; 0]),
                Err(error) => {
                    eprintln!("skipped: no nftables: {error}");
                    return;
                }
            }
            if let Err(error) = make_tables() {
                eprintln!("skipped: no table can be made: {error}");
                return;
            }
            assert_eq!(tables_at_hooks().unwrap(), ["inet filter"]);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_datagram_lists_the_tables_of_its_own_request_alone() {
        let chain = |kind, table| {
            let attributes = [text(A_CHAIN_TABLE, table), nested(A_CHAIN_HOOK, &[])];
            message(SUBSYSTEM | kind, 0, INET, 0, &attributes)
        };
        let datagram = [
            chain(MSG_NEWCHAIN, "filter"),
            chain(MSG_NEWTABLE, "other"),
            chain(MSG_NEWCHAIN, "nat"),
            chain(MSG_NEWCHAIN, "filter"),
        ]
        .concat();
        assert_eq!(tables_in(&datagram, 7).unwrap(), ["inet filter", "inet nat"]);
        assert_eq!(tables_in(&datagram, 8).unwrap(), [""; 0]);
        // A length that reaches beyond the datagram, and one of nothing.
        assert!(tables_in(&datagram[..datagram.len() - 1], 7).is_err());
        assert!(tables_in(&[0; 16], 0).is_err());
    }

    #[test]
    fn a_message_that_is_cut_short_is_no_table() {
        for payload in [vec![], vec![1, 0], vec![1, 0, 0, 0]] {
            let chain = Message { kind: SUBSYSTEM | MSG_NEWCHAIN, payload };
            assert_eq!(table_at_hook(&chain).unwrap(), None);
        }
    }
}
