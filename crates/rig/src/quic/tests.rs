use super::opener::whole_number;
use super::packet::{NUMBER_AT, PROTECTED_BITS, mask};
use super::*;
use crate::tls::{TlsKeying, TlsSecret, TlsSession};
use zc_run::{Cipher, LONGEST_RECORD, TlsRecords, TlsVersion};

fn session(cipher: Cipher, index: usize) -> TlsSession {
    let records = TlsRecords { cipher, version: TlsVersion::V13, payload_bytes: LONGEST_RECORD };
    TlsKeying { records, secret: TlsSecret::KNOWN }.session(index)
}

fn packet(sealer: &mut PacketSealer, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; payload.len() + OVERHEAD_BYTES];
    packet[HEADER_BYTES..][..payload.len()].copy_from_slice(payload);
    sealer.seal(&mut packet);
    packet
}

const CIPHERS: [Cipher; 3] = [Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::Chacha20Poly1305];

#[test]
fn what_is_sealed_is_opened_also_after_a_loss_and_out_of_order() {
    for cipher in CIPHERS {
        let session = session(cipher, 0);
        let (mut sealer, mut opener) = (PacketSealer::new(&session), PacketOpener::new(&session));
        let mut packets: Vec<_> =
            (0..6_u8).map(|number| packet(&mut sealer, &[number; 100])).collect();
        assert!(packets.iter().all(|packet| packet[HEADER_BYTES..][..2] != [packet[0]; 2]));
        packets.swap(3, 4);
        for (at, number) in [(0, 0), (2, 2), (3, 4), (4, 3), (5, 5)] {
            assert_eq!(opener.open(&mut packets[at]).unwrap(), [number; 100], "{cipher}");
        }
    }
}

#[test]
fn a_changed_byte_another_key_and_a_short_datagram_are_not_opened() {
    for cipher in CIPHERS {
        let own = session(cipher, 0);
        let sealed = packet(&mut PacketSealer::new(&own), &[7; 40]);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            let error = PacketOpener::new(&own).open(&mut changed).unwrap_err();
            assert_eq!(error.id, "not-decrypted", "{cipher}: byte {at}");
        }
        let mut other = PacketOpener::new(&session(cipher, 1));
        other.open(&mut sealed.clone()).unwrap_err();
        PacketOpener::new(&own).open(&mut sealed[..OVERHEAD_BYTES - 1].to_vec()).unwrap_err();
        PacketOpener::new(&own).open(&mut sealed.clone()).unwrap();
    }
}

#[test]
fn a_number_is_made_whole_as_the_rfc_says() {
    for number in [0, 5, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, (7 << 32) - 3, 7 << 32] {
        for expected in [number, number + 1, number + 100, u64::max(number, 100) - 100] {
            assert_eq!(whole_number(expected, number as u32), number, "{expected}");
        }
    }
}

#[test]
fn the_header_is_protected_as_in_the_rfc() {
    // RFC 9001, appendix A.5: a packet with a short header, ChaCha20-Poly1305. Its header has no
    // name and a number of 3 bytes; the protection is the same.
    let key = b"\x25\xa2\x82\xb9\xe8\x2f\x06\xf2\x1f\x48\x89\x17\xa4\xfc\x8f\x1b\x73\x57\x36\x85\x60\x85\x97\xd0\xef\xcb\x07\x6b\x0a\xb7\xa7\xa4";
    let sample = b"\x5e\x5c\xd5\x5c\x41\xf6\x90\x80\x57\x5d\x79\x99\xc2\x5a\x5b\xfb";
    let key = ring::aead::quic::HeaderProtectionKey::new(&ring::aead::quic::CHACHA20, key).unwrap();
    let own = key.new_mask(sample).unwrap();
    assert_eq!(own, [0xae, 0xfe, 0xfe, 0x7d, 0x03]);
    let mut header = [0_u8; HEADER_BYTES];
    mask(&mut header, own);
    assert_eq!(header[0], 0xae & PROTECTED_BITS);
    assert_eq!(header[NUMBER_AT..], own[1..]);
}
