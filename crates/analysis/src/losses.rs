//! CPU time that was lost in one window, by side.

/// The side that a cost belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Loss of the sender's CPU; over `remote`, of the sender's machine. Only where the sides have
    /// separate costs.
    Sender,
    /// Loss of the receiver's CPU; over `remote`, of the receiver's machine. Only where the sides
    /// have separate costs.
    Receiver,
    /// Loss of sender and receiver together. Where there is no receiver, or its end does not
    /// measure, the sender's loss alone. Where the threads are not pinned, the loss of all soaked
    /// CPUs.
    Both,
    /// Loss of all other soaked CPUs together. Only where there are any; never over `remote`, nor
    /// where the threads are not pinned.
    OtherCpus,
}

/// CPU time that was lost in one window, by side. It is a difference with noise and may be
/// negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Losses {
    /// Length of the window, above 0.
    pub window_ns: f64,
    /// See [`Side::Sender`].
    pub sender_ns: Option<f64>,
    /// See [`Side::Receiver`]. Over `remote`, the loss in the remote machine's own window, scaled
    /// from the bytes that arrived in that window to those of the local one.
    pub receiver_ns: Option<f64>,
    /// See [`Side::Both`].
    pub both_ns: f64,
    /// See [`Side::OtherCpus`].
    pub other_cpus_ns: Option<f64>,
}

impl Losses {
    /// The loss of a side; `None` where the side has no cost of its own.
    pub fn for_side(&self, side: Side) -> Option<f64> {
        match side {
            Side::Sender => self.sender_ns,
            Side::Receiver => self.receiver_ns,
            Side::Both => Some(self.both_ns),
            Side::OtherCpus => self.other_cpus_ns,
        }
    }

    /// These and `others`, of the same window.
    pub(crate) fn plus(self, others: &Self) -> Self {
        let sum = |a: Option<f64>, b: Option<f64>| Some(a? + b.unwrap_or(0.0));
        Self {
            window_ns: self.window_ns,
            sender_ns: sum(self.sender_ns, others.sender_ns),
            receiver_ns: sum(self.receiver_ns, others.receiver_ns),
            both_ns: self.both_ns + others.both_ns,
            other_cpus_ns: sum(self.other_cpus_ns, others.other_cpus_ns),
        }
    }

    /// The same in a window of another length, if losses are the same in any time.
    pub(crate) fn scaled_to(self, window_ns: f64) -> Self {
        let by = window_ns / self.window_ns;
        let times = |ns: Option<f64>| ns.map(|ns| ns * by);
        Self {
            window_ns,
            sender_ns: times(self.sender_ns),
            receiver_ns: times(self.receiver_ns),
            both_ns: self.both_ns * by,
            other_cpus_ns: times(self.other_cpus_ns),
        }
    }
}
