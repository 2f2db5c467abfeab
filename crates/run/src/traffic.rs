//! The kind of traffic that a run is about.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{NfsPlan, Plan, ResponsesPlan, ServerPlan};

/// Kind of traffic of a run. The cells say how each of them sends it.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Traffic {
    /// Streams of files, by send path and receive path.
    #[default]
    Stream,
    /// Responses of zc's own server, by send path: `zc run requests`, `zc run replay`.
    Responses(ResponsesPlan),
    /// Responses of a server that is not zc's, by its states: `zc run server`.
    Server(ServerPlan),
    /// READs or WRITEs of NFS, by version and size: `zc run nfs`.
    Nfs(NfsPlan),
}

impl Traffic {
    /// The responses of zc's own server.
    pub fn responses(&self) -> Option<&ResponsesPlan> {
        match self {
            Self::Responses(plan) => Some(plan),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn responses_mut(&mut self) -> Option<&mut ResponsesPlan> {
        match self {
            Self::Responses(plan) => Some(plan),
            _ => None,
        }
    }

    /// The server that is not zc's.
    pub fn server(&self) -> Option<&ServerPlan> {
        match self {
            Self::Server(plan) => Some(plan),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn server_mut(&mut self) -> Option<&mut ServerPlan> {
        match self {
            Self::Server(plan) => Some(plan),
            _ => None,
        }
    }

    /// The operations of NFS.
    pub fn nfs(&self) -> Option<&NfsPlan> {
        match self {
            Self::Nfs(plan) => Some(plan),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn nfs_mut(&mut self) -> Option<&mut NfsPlan> {
        match self {
            Self::Nfs(plan) => Some(plan),
            _ => None,
        }
    }
}

/// Whose processes work for the traffic.
impl Plan {
    /// Whether it is about a server, zc's own included, and the load is in no cost.
    pub fn is_of_a_server(&self) -> bool {
        match &self.traffic {
            Traffic::Stream => false,
            Traffic::Responses(_) | Traffic::Server(_) => true,
            Traffic::Nfs(plan) => plan.is_of_the_server(),
        }
    }

    /// Whether it is about a server that ran before zc did: see [`ServerPlan::ran_already`]. Where
    /// zc has started the client of NFS on another machine, zc knows the processes of neither end.
    pub fn server_ran_already(&self) -> bool {
        match &self.traffic {
            Traffic::Stream | Traffic::Responses(_) => false,
            Traffic::Server(plan) => plan.ran_already(),
            Traffic::Nfs(plan) => plan.client_at.is_some(),
        }
    }

    /// Whether it is about a client whose server is on another machine, where nothing measures.
    pub fn is_of_a_client(&self) -> bool {
        self.traffic.nfs().is_some_and(NfsPlan::is_of_the_client)
    }

    /// Whether a server works on this machine whose processes zc does not know.
    pub fn has_unknown_processes(&self) -> bool {
        let shares_machine = self.traffic.nfs().is_some_and(|plan| plan.shares_machine);
        (self.server_ran_already() || shares_machine) && !self.has_all_clocks()
    }

    /// Whether readings have the CPU clocks of all who are known to work for the traffic.
    pub fn has_all_clocks(&self) -> bool {
        match &self.traffic {
            Traffic::Stream | Traffic::Responses(_) => true,
            Traffic::Server(plan) => plan.has_clocks(),
            Traffic::Nfs(plan) => plan.all_clocks,
        }
    }
}

/// How the kind of traffic is saved: one field for each kind, without any for streams.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
pub(super) struct SavedTraffic {
    /// The server that is measured in place of zc's own paths: `zc run server` (since format 3.6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<ServerPlan>,
    /// Responses, in a plan whose messages are responses to requests (since format 3.6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    responses: Option<ResponsesPlan>,
    /// NFS, in a plan whose messages are its READs or WRITEs (since format 3.6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nfs: Option<NfsPlan>,
}

impl SavedTraffic {
    pub(super) fn serialize<S: Serializer>(traffic: &Traffic, out: S) -> Result<S::Ok, S::Error> {
        let mut saved = Self::default();
        match traffic.clone() {
            Traffic::Stream => {}
            Traffic::Responses(plan) => saved.responses = Some(plan),
            Traffic::Server(plan) => saved.server = Some(plan),
            Traffic::Nfs(plan) => saved.nfs = Some(plan),
        }
        Serialize::serialize(&saved, out)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Traffic, D::Error> {
        let Self { server, responses, nfs } = Deserialize::deserialize(from)?;
        Ok(server
            .map(Traffic::Server)
            .or(responses.map(Traffic::Responses))
            .or(nfs.map(Traffic::Nfs))
            .unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Saved {
        #[serde(flatten, with = "SavedTraffic")]
        traffic: Traffic,
    }

    fn read(text: &Value) -> Traffic {
        serde_json::from_value::<Saved>(text.clone()).unwrap().traffic
    }

    #[test]
    fn each_kind_of_traffic_is_saved_under_its_name_and_read_again() {
        let responses = json!({"connections": 4, "keepalive": true, "head_bytes": 100});
        let server = json!({
            "states": [], "serve": "nginx", "load_from": null, "generator": [], "connections": 8,
            "keepalive": true, "requests_per_s": 1000.0
        });
        let nfs = json!({
            "server": "knfsd", "server_version": "6.1", "client": "kernel", "depth": 4,
            "file_bytes": 4096, "crc32": 7, "mounts": []
        });
        let kinds =
            [json!({"responses": responses}), json!({"server": server}), json!({"nfs": nfs})];
        for saved in kinds.into_iter().chain([json!({})]) {
            let traffic = read(&saved);
            assert_eq!(traffic == Traffic::Stream, saved == json!({}), "{saved}");
            assert_eq!(serde_json::to_value(Saved { traffic }).unwrap(), saved);
        }
        assert!(read(&json!({"server": server})).server().is_some());
        assert!(read(&json!({"nfs": nfs})).nfs().is_some());
        assert!(read(&json!({"responses": responses})).responses().is_some());
    }
}
