//! `server`: cost of a request to a server, in two or more states of it.

use super::definition::{Definition, NoPlan};

pub(super) const DEFINITION: Definition = Definition {
    name: "server",
    question: "What does a request cost a server, in two states of it?",
    title: "what a request costs in each state of the server",
    budget: "2min",
    plan: Err(NoPlan {
        why: "has its states on the command line",
        arguments: " --state A=URL ...",
    }),
    document: Some("servers.md"),
    private: Some("the addresses of their servers"),
    examples: &[
        (
            "zc run server --state off=http://localhost:8001/f --state \
             on=http://localhost:8002/f",
            "two configurations of a server that runs already",
        ),
        (
            "zc run server --serve 'nginx -c /srv/test/nginx.conf' --state \
             off=http://localhost:8001/f --state on=http://localhost:8002/f",
            "the same, with a server on a CPU of its own",
        ),
    ],
    ..Definition::DEFAULT
};
