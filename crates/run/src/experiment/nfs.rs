//! `nfs`: cost of a READ of NFS to server and client, by its size.

use super::definition::{Definition, NoPlan};

pub(super) const DEFINITION: Definition = Definition {
    name: "nfs",
    question: "What does a READ of NFS cost server and client, by its size?",
    title: "what a call of NFS costs server and client, by its size",
    budget: "3min",
    plan: Err(NoPlan {
        why: "has its cells on the command line",
        arguments: " --vers 3 --rsize 4k,1m",
    }),
    private: Some("the addresses of their servers"),
    examples: &[
        ("sudo zc run nfs", "versions 3 and 4.0, READs of 4k to 1m, both ends here"),
        (
            "zc run nfs --nfs-file filer:/srv/big.iso",
            "what reading from a server that is there costs this machine",
        ),
    ],
    ..Definition::DEFAULT
};
