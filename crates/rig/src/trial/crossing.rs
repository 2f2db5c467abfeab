//! Proof that the bytes of a trial crossed the layer of their link: its counters at both ends, or
//! the sequence numbers of MPTCP, rose by at least as many. Bytes that took another way (a route
//! past the device, a policy that is gone, a fall back to TCP) have no cost that is that layer's.

use std::sync::Arc;

use super::connection::Connection;
use super::flow::Flow;
use crate::link::{LayerBytes, Link};
use zc_kernel::mptcp;
use zc_run::{Error, Layer, Result};

/// What was counted before the flows of a trial sent anything.
pub(super) struct Crossing {
    layer: Layer,
    counted: Option<(Arc<dyn Link>, LayerBytes)>,
    /// The senders' sockets of MPTCP, and where each began.
    sockets: Vec<(Connection, u64)>,
}

impl Crossing {
    /// Reads the counters of the layer that these flows, which have sent nothing, are to cross.
    ///
    /// # Errors
    /// They cannot be read, or a connection is not of MPTCP although it should be.
    pub(super) fn begin(flows: &[Flow]) -> Result<Option<Self>> {
        let Some(link) = flows.first().map(|flow| &flow.link) else { return Ok(None) };
        let layer = link.facts().layer();
        if layer.is_plain() {
            return Ok(None);
        }
        let counted = link.layer_bytes()?.map(|bytes| (Arc::clone(link), bytes));
        let sockets = match layer {
            Layer::Mptcp => flows.iter().map(socket).collect::<Result<_>>()?,
            _ => Vec::new(),
        };
        Ok(Some(Self { layer, counted, sockets }))
    }

    /// Checks that the flows, of whose bytes so many have `arrived`, crossed it.
    ///
    /// # Errors
    /// Fewer crossed it, or the counters cannot be read.
    pub(super) fn check(&self, arrived: u64) -> Result<()> {
        if let Some((link, before)) = &self.counted {
            let after = link.layer_bytes()?.unwrap_or(*before);
            let sent = after.sent.saturating_sub(before.sent);
            let received = after.received.saturating_sub(before.received);
            return enough(self.layer, sent.min(received), arrived);
        }
        let mut crossed = 0_u64;
        for (socket, began) in &self.sockets {
            crossed = crossed.saturating_add(next(socket)?.wrapping_sub(*began));
        }
        enough(self.layer, crossed, arrived)
    }
}

fn enough(layer: Layer, crossed: u64, arrived: u64) -> Result<()> {
    if crossed >= arrived {
        return Ok(());
    }
    Err(Error::failed(
        "bytes-past-the-layer",
        format!(
            "{arrived} bytes arrived, and {layer} carried {crossed} of them: the others went past \
             it"
        ),
    )
    .help("something has changed a route, a policy or a device in the namespaces of the link"))
}

/// The sender's socket of a flow, and the number of the next byte on it.
fn socket(flow: &Flow) -> Result<(Connection, u64)> {
    let socket = flow.socket().duplicate()?;
    let next = next(&socket)?;
    Ok((socket, next))
}

fn next(socket: &Connection) -> Result<u64> {
    mptcp::next_sequence(socket).map_err(|error| Error::os("read MPTCP_INFO", error))?.ok_or_else(
        || {
            Error::failed("not-mptcp", "a connection of MPTCP fell back to TCP")
                .help("the other end has no MPTCP, or something on the way strips its options")
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_a_layer_did_not_carry_are_an_error_that_says_how_many_it_did() {
        enough(Layer::Vxlan, 1000, 1000).unwrap();
        let error = enough(Layer::Vxlan, 999, 1000).unwrap_err();
        assert_eq!(error.id, "bytes-past-the-layer");
        assert!(error.message.contains("vxlan carried 999"), "{error:?}");
    }
}
