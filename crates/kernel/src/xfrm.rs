//! IPsec in the kernel, over NETLINK_XFRM: security associations of ESP in transport mode, the
//! policies that ask for them, and the bytes that passed them.
//!
//! # References
//! - ip-xfrm(8)
//! - include/uapi/linux/xfrm.h
//! - RFC 4303 (ESP), RFC 4106 (AES-GCM in ESP)

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_EXCL};
use netlink_sys::protocols::NETLINK_XFRM;

use crate::attributes::{family, host_prefix_bits};
use crate::netlink_channel::{Channel, Message, undecodable};

const MSG_NEWSA: u16 = 0x10;
const MSG_GETSA: u16 = 0x12;
const MSG_NEWPOLICY: u16 = 0x13;
const A_TMPL: u16 = 5;
const A_ALG_AEAD: u16 = 18;
const MODE_TRANSPORT: u8 = 0;
const ESP: u8 = libc::IPPROTO_ESP as u8;
/// Sizes of `struct xfrm_usersa_info`, `xfrm_usersa_id` and `xfrm_userpolicy_info`.
const STATE_BYTES: usize = 224;
const STATE_ID_BYTES: usize = 24;
const POLICY_BYTES: usize = 168;
/// Offset of `curlft.bytes` in `struct xfrm_usersa_info`.
const PASSED_AT: usize = 160;
/// Packets that may come out of order.
const REPLAY_WINDOW: u8 = 32;

/// AES-128-GCM with an ICV of 16 bytes.
const ALGORITHM: &str = "rfc4106(gcm(aes))";
const ICV_BITS: u32 = 128;

/// A key of AES-128 and the four bytes of salt that follow it (RFC 4106, section 8.1).
pub type Key = [u8; 20];

/// What names a security association of ESP: its two ends and its SPI (RFC 4301).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Association {
    /// The address that sends.
    pub from: IpAddr,
    /// The address that receives.
    pub to: IpAddr,
    /// The security parameters index, not 0.
    pub spi: u32,
}

/// The direction of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// What is sent is encrypted.
    Out,
    /// What is received must have been.
    In,
}

/// A NETLINK_XFRM socket in one network namespace.
///
/// # References
/// [ip-xfrm(8)]
///
/// [ip-xfrm(8)]: https://man7.org/linux/man-pages/man8/ip-xfrm.8.html
#[doc(alias = "NETLINK_XFRM")]
#[derive(Debug)]
pub struct Xfrm {
    channel: Channel,
}

impl Xfrm {
    /// Opens a socket in the calling thread's network namespace.
    ///
    /// # Errors
    /// - EPROTONOSUPPORT: the kernel has no such netlink (CONFIG_XFRM_USER).
    ///
    /// # References
    /// [netlink(7)]
    ///
    /// [netlink(7)]: https://man7.org/linux/man-pages/man7/netlink.7.html
    #[doc(alias = "socket")]
    pub fn open() -> io::Result<Self> {
        Ok(Self { channel: Channel::open(NETLINK_XFRM)? })
    }

    /// Adds a security association of ESP in transport mode with XFRM_MSG_NEWSA, by AES-128-GCM.
    /// It has no limits.
    ///
    /// # Errors
    /// - EPERM: CAP_NET_ADMIN is needed.
    /// - EPROTONOSUPPORT: the kernel has no ESP (CONFIG_INET_ESP, CONFIG_INET6_ESP).
    /// - ENOENT, ENOSYS: it has no AES-GCM.
    /// - EEXIST: there is one with this SPI.
    ///
    /// # References
    /// - [ip-xfrm(8)], state add
    /// - `xfrm_add_sa` in net/xfrm/xfrm_user.c
    ///
    /// [ip-xfrm(8)]: https://man7.org/linux/man-pages/man8/ip-xfrm.8.html
    #[doc(alias = "XFRM_MSG_NEWSA")]
    pub fn add_state(&self, association: &Association, key: &Key) -> io::Result<()> {
        let Association { from, to, spi } = association;
        let mut state = Vec::with_capacity(STATE_BYTES);
        // A selector of any traffic between the two ends.
        state.extend(selector(*from, *to, 0));
        state.extend(id(*to, *spi));
        state.extend(address(*from));
        state.extend(no_limits());
        // What has passed, statistics, seq and reqid.
        state.extend([0; 32 + 12 + 8]);
        state.extend(u16::from(family(*to)).to_ne_bytes());
        state.extend([MODE_TRANSPORT, REPLAY_WINDOW]);
        state.resize(STATE_BYTES, 0);
        // struct xfrm_algo_aead
        let mut algorithm = [0; 64];
        algorithm[..ALGORITHM.len()].copy_from_slice(ALGORITHM.as_bytes());
        let mut aead = algorithm.to_vec();
        aead.extend((key.len() as u32 * 8).to_ne_bytes());
        aead.extend(ICV_BITS.to_ne_bytes());
        aead.extend(key);
        let request = Message::new(MSG_NEWSA, &state, &[DefaultNla::new(A_ALG_AEAD, aead)]);
        self.channel.request(request, NLM_F_CREATE | NLM_F_EXCL)?;
        Ok(())
    }

    /// Adds a policy with XFRM_MSG_NEWPOLICY: all that goes from `from` to `to` in this `direction`
    /// is in ESP, in transport mode.
    ///
    /// # Errors
    /// - EPERM: CAP_NET_ADMIN is needed.
    /// - EEXIST: there is one.
    ///
    /// # References
    /// - [ip-xfrm(8)], policy add
    /// - `xfrm_add_policy` in net/xfrm/xfrm_user.c
    ///
    /// [ip-xfrm(8)]: https://man7.org/linux/man-pages/man8/ip-xfrm.8.html
    #[doc(alias = "XFRM_MSG_NEWPOLICY")]
    pub fn add_policy(&self, from: IpAddr, to: IpAddr, direction: Direction) -> io::Result<()> {
        let mut policy = Vec::with_capacity(POLICY_BYTES);
        policy.extend(selector(from, to, host_prefix_bits(to)));
        policy.extend(no_limits());
        // What has passed, priority and index.
        policy.extend([0; 32 + 8]);
        policy.push(match direction {
            Direction::In => 0,
            Direction::Out => 1,
        });
        policy.resize(POLICY_BYTES, 0);
        // struct xfrm_user_tmpl: transport mode takes the addresses of the packet.
        let mut template = id(Ipv4Addr::UNSPECIFIED.into(), 0);
        template.extend(u16::from(family(to)).to_ne_bytes());
        // Padding, the source address and reqid.
        template.extend([0; 2 + 16 + 4]);
        template.extend([MODE_TRANSPORT, 0, 0, 0]);
        // Any algorithm.
        template.extend([0xff; 12]);
        let request = Message::new(MSG_NEWPOLICY, &policy, &[DefaultNla::new(A_TMPL, template)]);
        self.channel.request(request, NLM_F_CREATE | NLM_F_EXCL)?;
        Ok(())
    }

    /// Bytes that have passed an association, with XFRM_MSG_GETSA: at its sending end what was
    /// encrypted, at its receiving end what was decrypted, headers of TCP included.
    ///
    /// # Errors
    /// - ESRCH: there is no such association.
    ///
    /// # References
    /// [ip-xfrm(8)], state get
    ///
    /// [ip-xfrm(8)]: https://man7.org/linux/man-pages/man8/ip-xfrm.8.html
    #[doc(alias = "XFRM_MSG_GETSA")]
    pub fn bytes(&self, association: &Association) -> io::Result<u64> {
        let mut wanted = address(association.to).to_vec();
        wanted.extend(association.spi.to_be_bytes());
        wanted.extend(u16::from(family(association.to)).to_ne_bytes());
        wanted.push(ESP);
        wanted.resize(STATE_ID_BYTES, 0);
        let answers = self.channel.request(Message::new(MSG_GETSA, &wanted, &[]), 0)?;
        let state = answers.iter().find(|answer| answer.kind == MSG_NEWSA);
        let state = state.ok_or_else(|| undecodable("no association in it"))?;
        let (state, _) = state.split::<STATE_BYTES>()?;
        let passed = state.get(PASSED_AT..).and_then(|rest| rest.first_chunk());
        Ok(u64::from_ne_bytes(*passed.ok_or_else(|| undecodable("a short association"))?))
    }
}

/// `xfrm_address_t`: 16 bytes, of which IPv4 has the first four.
fn address(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(four) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&four.octets());
            bytes
        }
        IpAddr::V6(six) => six.octets(),
    }
}

/// `struct xfrm_selector` of 56 bytes: both addresses, no ports, the family, the bits of the
/// addresses that count, and neither a protocol, a device nor a user.
fn selector(from: IpAddr, to: IpAddr, bits: u8) -> Vec<u8> {
    let mut selector = [address(to), address(from)].concat();
    selector.extend([0; 8]);
    selector.extend(u16::from(family(to)).to_ne_bytes());
    selector.extend([bits, bits]);
    selector.resize(56, 0);
    selector
}

/// `struct xfrm_id` of 24 bytes.
fn id(to: IpAddr, spi: u32) -> Vec<u8> {
    let mut id = address(to).to_vec();
    id.extend(spi.to_be_bytes());
    id.extend([ESP, 0, 0, 0]);
    id
}

/// `struct xfrm_lifetime_cfg` of 64 bytes: no limit of bytes and packets (XFRM_INF), none of time.
fn no_limits() -> [u8; 64] {
    let mut limits = [0; 64];
    limits[..32].fill(0xff);
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_association_is_added_once_and_nothing_has_passed_it() {
        crate::testing::in_a_namespace(|_| {
            let xfrm = match Xfrm::open() {
                Err(error) if error.raw_os_error() == Some(libc::EPROTONOSUPPORT) => {
                    eprintln!("skipped: this kernel has no IPsec");
                    return;
                }
                opened => opened.unwrap(),
            };
            for (spi, from, to) in
                [(7, "192.0.2.1", "192.0.2.2"), (8, "2001:db8::1", "2001:db8::2")]
            {
                let association =
                    Association { from: from.parse().unwrap(), to: to.parse().unwrap(), spi };
                let key: Key = crate::random::array().unwrap();
                match xfrm.add_state(&association, &key) {
                    Err(error)
                        if matches!(
                            error.raw_os_error(),
                            Some(libc::EPROTONOSUPPORT | libc::ENOSYS | libc::ENOENT)
                        ) =>
                    {
                        eprintln!("skipped: this kernel has no ESP with AES-GCM: {error}");
                        continue;
                    }
                    added => added.unwrap(),
                }
                let again = xfrm.add_state(&association, &key).unwrap_err();
                assert_eq!(again.raw_os_error(), Some(libc::EEXIST));
                for direction in [Direction::Out, Direction::In] {
                    xfrm.add_policy(association.from, association.to, direction).unwrap();
                }
                assert_eq!(xfrm.bytes(&association).unwrap(), 0);
                let other = Association { spi: spi + 2, ..association };
                let error = xfrm.bytes(&other).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
            }
        });
    }

    #[test]
    fn structs_have_the_sizes_of_the_kernel_s() {
        let (from, to) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        assert_eq!(selector(from, to, 32)[..20], {
            let mut both = [0; 20];
            both[..4].copy_from_slice(&[192, 0, 2, 2]);
            both[16..].copy_from_slice(&[192, 0, 2, 1]);
            both
        });
        assert_eq!((selector(from, to, 32).len(), id(to, 1).len()), (56, 24));
    }
}
