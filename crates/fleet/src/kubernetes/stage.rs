//! Progress of a measurement, and how it ended, by its Jobs and pods.

use zc_run::escape;

use super::objects::{End, Measurement, Object, one_line};

/// Progress of a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has not begun; with a description.
    Waiting(String),
    /// It has begun; with a description.
    Running(String),
    /// The receiving end is of no use any more: the sending pod is to be ended, which then saves
    /// what it has.
    ToEnd {
        /// The pod that sends.
        pod: String,
        /// Why.
        why: String,
    },
    /// It has ended.
    Ended(Ending),
    /// The Job that sends is gone, and the other one is left.
    Left,
}

/// The end of a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ending {
    /// The number of the attempt: when the Job that sends was made.
    pub(super) attempt: String,
    /// The pod that sent, whose log has the run.
    pub(super) pod: Option<String>,
    /// Whether its zc may be writing still: a kubelet of 1.20 calls a pod failed that it has only
    /// told to end.
    pub(super) may_write: bool,
    /// The pod that received, whose log may say why it failed.
    pub(super) far_pod: Option<String>,
    /// The exit code of the zc that sent.
    pub(super) code: Option<u8>,
    /// Reason given by Kubernetes; `None` where it gives nothing but the exit code.
    pub(super) why: Option<String>,
    /// Whether that is about the end that received.
    pub(super) receiver_failed: bool,
}

impl Measurement {
    /// The names of its Jobs.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &str> {
        let jobs = [&self.near, &self.far].into_iter().filter_map(|end| end.job.as_ref());
        jobs.map(|job| job.metadata.name.as_str())
    }

    /// Its progress.
    pub(super) fn stage(&self) -> Stage {
        let (near, far) = (&self.near, &self.far);
        let Some(job) = &near.job else { return Stage::Left };
        if job.metadata.deletion_timestamp.is_some() {
            return Stage::Waiting("its Job is being deleted".to_owned());
        }
        let attempt = &job.metadata.creation_timestamp;
        let pod = near.pod();
        let ending = |code, why: Option<String>, receiver_failed| Ending {
            attempt: attempt.chars().filter(char::is_ascii_digit).collect(),
            pod: pod.map(|pod| pod.metadata.name.clone()),
            may_write: pod.is_some_and(|pod| pod.container(|at| at.running.as_ref()).is_some()),
            far_pod: far.pod().map(|pod| pod.metadata.name.clone()),
            code,
            why,
            receiver_failed,
        };
        let far_failed = far.failed().map(|why| format!("the end that receives {why}"));
        if let Some((code, why)) = near.ended() {
            return Stage::Ended(match far_failed {
                _ if code == Some(0) => ending(code, None, false),
                // It was ended because of the other end, or would have failed for it.
                Some(why) => ending(code, Some(why), true),
                None => ending(code, why.map(|why| format!("it {why}")), false),
            });
        }
        if let Some(why) = near.lost_node() {
            // Nobody answers for its log.
            return Stage::Ended(Ending {
                pod: None,
                ..ending(None, Some(format!("it {why}")), false)
            });
        }
        match (far_failed, pod.filter(|pod| pod.status.phase == "Running")) {
            (Some(why), Some(pod)) => Stage::ToEnd { pod: pod.metadata.name.clone(), why },
            (Some(why), None) => Stage::Ended(ending(None, Some(why), true)),
            (None, _) => self.waiting_or_running(),
        }
    }

    /// `Waiting` with what keeps it waiting, or `Running`.
    fn waiting_or_running(&self) -> Stage {
        let ends = [(&self.near, "that sends"), (&self.far, "that receives")];
        for (end, which) in ends {
            if let Some(why) = end.waiting_reason() {
                return Stage::Waiting(format!("the end {which}: {why}"));
            }
        }
        for (end, _) in ends {
            if let Some(node) = end.silent_node() {
                return Stage::Running(format!("node {node} does not answer"));
            }
        }
        Stage::Running("running".to_owned())
    }
}

impl End {
    /// Its pod. Where there are several, the Job has replaced one that is gone.
    fn pod(&self) -> Option<&Object> {
        let is_there = |pod: &&Object| pod.metadata.deletion_timestamp.is_none();
        let time = |pod: &&Object| pod.metadata.creation_timestamp.clone();
        self.pods
            .iter()
            .filter(is_there)
            .max_by_key(time)
            .or_else(|| self.pods.iter().max_by_key(time))
    }

    /// The exit code of its zc, and what Kubernetes says of its end; `None` while it has none.
    fn ended(&self) -> Option<(Option<u8>, Option<String>)> {
        if let Some(pod) = self.pod()
            && let Some(ended) = pod.ended()
        {
            return Some(ended);
        }
        let job = self.job.as_ref()?;
        if let Some(failed) = job.condition("Failed", "True") {
            let why = one_line(failed.reason.as_deref(), failed.message.as_deref());
            return Some((None, Some(format!("has no pod any more: {why}"))));
        }
        job.condition("Complete", "True")
            .is_some()
            .then(|| (None, Some("has no pod any more: its log is lost".to_owned())))
    }

    /// Description of its failure; `None` if it has not failed.
    fn failed(&self) -> Option<String> {
        if self.job.is_none() {
            return Some("has no Job any more".to_owned());
        }
        match self.ended() {
            Some((Some(0), _)) => None,
            // A Job that is complete, and whose pod is gone.
            Some((None, _)) if self.is_complete() => None,
            Some((Some(137), None)) => Some("was killed".to_owned()),
            Some((Some(code), None)) => Some(format!("failed with exit code {code}")),
            Some((_, Some(why))) => Some(why),
            Some((None, None)) => Some("failed".to_owned()),
            None => self.lost_node(),
        }
    }

    fn is_complete(&self) -> bool {
        self.job.as_ref().is_some_and(|job| job.condition("Complete", "True").is_some())
    }

    /// The failure of an end whose pod's node has vanished, so that the pod is to be removed and
    /// cannot be. Its Job may have made another pod already, which waits for that node.
    fn lost_node(&self) -> Option<String> {
        let is_lost = |pod: &&Object| {
            let is_silent =
                pod.status.phase == "Running" && pod.condition("Ready", "False").is_some();
            pod.metadata.deletion_timestamp.is_some()
                && (is_silent || pod.status.reason.as_deref() == Some("NodeLost"))
        };
        let pod = self.pods.iter().find(is_lost)?;
        let node = escape(pod.spec.node_name.as_deref().unwrap_or_default(), 80);
        Some(format!("was on node {node}, which has vanished"))
    }

    /// Why it has not begun; `None` if it has.
    fn waiting_reason(&self) -> Option<String> {
        let job = self.job.as_ref()?;
        let Some(pod) = self.pod() else {
            return Some(match job.spec.suspend {
                true => "its Job is suspended".to_owned(),
                false => "it has no pod yet".to_owned(),
            });
        };
        if pod.status.phase != "Pending" {
            return None;
        }
        if let Some(waiting) = pod.container(|state| state.waiting.as_ref()) {
            let text = one_line(waiting.reason.as_deref(), waiting.message.as_deref());
            let node = escape(pod.spec.node_name.as_deref().unwrap_or("its node"), 80);
            return Some(match waiting.reason.as_deref().unwrap_or_default() {
                "ErrImagePull" | "ImagePullBackOff" | "InvalidImageName" | "ErrImageNeverPull" => {
                    format!("the image cannot be had on {node}: {text}")
                }
                "ContainerCreating" | "PodInitializing" => format!("it starts on {node}"),
                _ => text,
            });
        }
        let scheduled = pod.condition("PodScheduled", "False");
        Some(match scheduled {
            Some(not) => one_line(not.reason.as_deref(), not.message.as_deref()),
            None => "it is about to start".to_owned(),
        })
    }

    /// The node of a pod that runs and is not heard of any more. A pod without a probe is ready
    /// while it runs.
    fn silent_node(&self) -> Option<String> {
        let pod = self.pod().filter(|pod| pod.status.phase == "Running")?;
        let is_silent = pod.condition("Ready", "False").is_some();
        is_silent.then(|| escape(pod.spec.node_name.as_deref().unwrap_or_default(), 80))
    }
}

#[cfg(test)]
mod tests {
    use super::super::objects::parse;
    use super::*;

    /// Recorded objects of one measurement in a cluster of Kubernetes 1.20, without the fields that
    /// are not read.
    fn recorded(text: &str) -> Measurement {
        let (number, measurement) = parse(text).unwrap().pop_first().unwrap();
        assert!(number <= 1);
        measurement
    }

    fn ending(text: &str) -> Ending {
        match recorded(text).stage() {
            Stage::Ended(ending) => ending,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_waits_says_why() {
        let waits = |text: &str| match recorded(text).stage() {
            Stage::Waiting(why) => why,
            other => panic!("{other:?}"),
        };
        let pending = waits(include_str!("testdata/pending.json"));
        assert!(
            pending.starts_with(
                "the end that sends: Unschedulable: 0/3 nodes are available: 1 Insufficient zc/host"
            ),
            "{pending}"
        );
        let missing = waits(include_str!("testdata/image-missing.json"));
        assert!(
            missing
                .starts_with("the end that sends: the image cannot be had on n2: ErrImagePull: "),
            "{missing}"
        );
        assert_eq!(
            waits(include_str!("testdata/image-backoff.json")),
            "the end that sends: the image cannot be had on n2: ImagePullBackOff: Back-off pulling \
             image \"registry.example/zc:9\""
        );
    }

    #[test]
    fn what_runs_says_so_and_which_node_is_not_heard_of() {
        let running = recorded(include_str!("testdata/running.json"));
        assert_eq!(running.stage(), Stage::Running("running".to_owned()));
        let silent = recorded(include_str!("testdata/silent-node.json"));
        assert_eq!(silent.stage(), Stage::Running("node n3 does not answer".to_owned()));
    }

    #[test]
    fn what_has_ended_says_how() {
        let oom = ending(include_str!("testdata/oom.json"));
        assert_eq!(oom.attempt, "20261126223524");
        assert_eq!((oom.code, oom.may_write, oom.receiver_failed), (Some(137), false, false));
        assert_eq!(oom.why.as_deref(), Some("it was killed for lack of memory (OOMKilled)"));
        assert!(oom.pod.is_some_and(|pod| pod.contains("-near-")));
        // This Kubernetes calls the pod failed as soon as it has told zc to end.
        let late = ending(include_str!("testdata/deadline.json"));
        assert_eq!((late.code, late.may_write), (None, true));
        assert_eq!(late.why.as_deref(), Some("it took too long (DeadlineExceeded)"));
    }

    #[test]
    fn an_end_that_receives_and_is_of_no_use_any_more_is_the_reason() {
        let killed = ending(include_str!("testdata/far-killed.json"));
        assert_eq!((killed.code, killed.receiver_failed), (Some(6), true));
        assert_eq!(killed.why.as_deref(), Some("the end that receives was killed"));
        let deleted = recorded(include_str!("testdata/far-deleted.json")).stage();
        let Stage::ToEnd { pod, why } = deleted else { panic!("{deleted:?}") };
        assert_eq!(why, "the end that receives has no Job any more");
        assert!(pod.contains("-near-"), "{pod}");
        assert_eq!(recorded(include_str!("testdata/near-deleted.json")).stage(), Stage::Left);
    }

    #[test]
    fn a_node_that_has_vanished_ends_what_it_had_though_its_job_makes_another_pod() {
        let text = include_str!("testdata/lost-node.json");
        let lost = ending(text);
        assert_eq!(lost.why.as_deref(), Some("it was on node n3, which has vanished"));
        assert_eq!(lost.pod, None, "nobody answers for its log");
        // The same at the other end.
        let swapped = text.replace("near", "NEAR").replace("far", "near").replace("NEAR", "far");
        let stage = recorded(&swapped).stage();
        let Stage::ToEnd { why, .. } = stage else { panic!("{stage:?}") };
        assert_eq!(why, "the end that receives was on node n3, which has vanished");
    }
}
