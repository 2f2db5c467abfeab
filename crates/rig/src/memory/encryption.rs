//! Encryption of a working set in place, in records of TLS 1.3: the speed that `tls-write` cannot
//! exceed.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::tls::{Layout, Sealer, TlsKeying, TlsSecret};
use zc_run::{Cipher, LONGEST_RECORD, TlsRecords, TlsVersion};

thread_local! {
    /// A key is set up once: that takes as long as a record of some kilobytes.
    static SEALERS: RefCell<BTreeMap<Cipher, Sealer>> = const { RefCell::new(BTreeMap::new()) };
}

/// Encrypts `set`, record by record; what is too short for one at its end stays as it is.
pub(super) fn encrypt(cipher: Cipher, set: &mut [u8]) {
    let records = TlsRecords { cipher, version: TlsVersion::V13, payload_bytes: LONGEST_RECORD };
    let overhead = Layout::new(records).overhead();
    let whole = set.chunks_mut(LONGEST_RECORD).filter(|record| record.len() > overhead);
    SEALERS.with_borrow_mut(|sealers| {
        let keying = || TlsKeying { records, secret: TlsSecret::KNOWN };
        let sealer = sealers.entry(cipher).or_insert_with(|| Sealer::new(&keying().session(0)));
        whole.for_each(|record| sealer.seal(record));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cipher_changes_every_record_of_a_set() {
        for &cipher in Cipher::ALL.iter().filter(|cipher| **cipher != Cipher::Clear) {
            let mut set = vec![7; 2 * LONGEST_RECORD + 100];
            encrypt(cipher, &mut set);
            for record in set.chunks(LONGEST_RECORD) {
                assert!(
                    record.chunks(50).all(|part| part.iter().any(|byte| *byte != 7)),
                    "{cipher}"
                );
            }
        }
    }
}
