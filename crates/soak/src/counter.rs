//! A counter outside of a command, which says how much each of its executions did.

use super::status::StatusUrl;
use zc_kernel::netlink::Devices;
use zc_run::{Did, Error, Result, escape, in_words};

/// A counter of a command's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counter {
    /// nginx, by its page stub_status: the requests that it served.
    Requests(StatusUrl),
    /// A network device: the bytes that it sent and received, with their headers, everybody's.
    Bytes {
        /// Its name.
        device: String,
    },
}

impl Counter {
    /// The count so far.
    ///
    /// # Errors
    /// The page does not answer, or there is no such device.
    pub(super) fn read(&self) -> Result<u64> {
        match self {
            Self::Requests(page) => page.read().map(|served| served.requests),
            Self::Bytes { device } => sent_and_received(device),
        }
    }

    /// The work of an execution between two readings; `None`: none.
    pub(super) fn between(&self, before: u64, after: u64) -> Option<Did> {
        let (own, by) = match self {
            // The second reading is a request, too.
            Self::Requests(_) => (1, "stub_status".to_owned()),
            Self::Bytes { device } => (0, format!("device {device}")),
        };
        let count = after.saturating_sub(before).saturating_sub(own);
        (count > 0).then_some(Did { count: count as f64, by })
    }
}

fn sent_and_received(name: &str) -> Result<u64> {
    let failed = |error: std::io::Error| {
        Error::input(
            "counters-unreadable",
            format!(
                "the counters of device \"{}\" were not read: {}",
                escape(name, 40),
                in_words(&error)
            ),
        )
        .help("ip link shows the devices of this network namespace")
    };
    let devices = Devices::open().map_err(failed)?;
    let device = devices.find(name).map_err(failed)?;
    let counted = devices.counters(device.index).map_err(failed)?;
    Ok(counted.tx_bytes.saturating_add(counted.rx_bytes))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_device_counts_what_goes_over_it() {
        let counter = Counter::Bytes { device: "lo".to_owned() };
        let before = counter.read().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.write_all(&[0; 10_000]).unwrap();
        let did = counter.between(before, counter.read().unwrap()).unwrap();
        assert!(did.count >= 20_000.0, "loopback sends and receives: {did:?}");
        assert_eq!(did.by, "device lo");
        let none = Counter::Bytes { device: "none\n".to_owned() }.read().unwrap_err();
        assert!(none.message.contains("\"none\\n\""), "{none}");
    }

    #[test]
    fn the_request_for_the_page_is_not_the_commands() {
        let counter = Counter::Requests(StatusUrl::parse("http://a/s").unwrap());
        assert_eq!(counter.between(10, 15).unwrap().count, 4.0);
        assert_eq!(counter.between(10, 11), None);
    }
}
