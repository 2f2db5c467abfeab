//! Examples of each command, as its long help and its man page show them.

use clap::Command;
use zc_run::Experiment;

/// A command line, and what it does.
pub(super) type Example = (&'static str, &'static str);

const ZC: &[Example] = &[
    ("zc run", "measure what each send path costs here, in a minute"),
    ("zc doctor", "what can be measured on this machine"),
    ("zc show -v zc-DATE.jsonl.gz", "print a saved run again, with all tables and notes"),
    ("zc soak -- COMMAND", "measure what a command costs the whole machine"),
];

const RUN: &[Example] = &[
    ("zc run", "all send paths, over the best link that this user may use"),
    (
        "sudo zc run --paths sendfile,msg-zerocopy",
        "two paths against read+send, zero-copy sends uncopied",
    ),
    ("zc run sizes", "from which message size on does a path pay?"),
    ("zc run --files /srv/www/* --rate 5Gbit/s", "your files at your rate"),
    ("zc run --via 'ssh HOST'", "this machine sends, HOST receives"),
    (
        "zc run --ab 'sysctl -qw net.ipv4.tcp_sack=1' --ab 'sysctl -qw net.ipv4.tcp_sack=0'",
        "two states of this host",
    ),
];

const PROFILE: &[Example] =
    &[("sudo zc profile read+send sendfile", "where the cycles of two paths go")];

const PLAN: &[Example] = &[
    ("zc plan", "list the plans"),
    ("zc plan sizes > mine.toml; zc run --plan mine.toml", "a plan of your own"),
];

const SERVE: &[Example] = &[(
    "zc serve --listen 192.0.2.1",
    "receive for a zc run --remote on another machine; prints a one-time token",
)];

const SHOW: &[Example] = &[
    ("zc show run.json", "print the table again"),
    ("zc show run.json --json | jq .estimates", "the estimates for a program"),
    ("zc show profile.json --folded > stacks", "folded stacks for a flame graph"),
];

const CONVERT: &[Example] = &[
    ("zc convert zc-*.json", "older runs, each beside its file"),
    ("zc convert old.json -o - | jq .plan.cells", "one, for another program"),
];

const REPORT: &[Example] = &[
    ("zc report run.json -o report.html", "a self-contained page with charts"),
    ("zc report *.jsonl.gz --markdown", "several runs in 72 columns, for a pull request"),
    (
        "zc report run.json --openmetrics -o /var/lib/prometheus/node-exporter/zc.prom",
        "metrics, for node_exporter's textfile collector",
    ),
];

const COMPARE: &[Example] = &[
    ("zc compare before.json after.json", "did the kernel upgrade cost anything?"),
    ("zc compare run.json:read+send run.json:sendfile", "two cells of one run"),
    ("zc compare before.json after.json --fail-if-worse 5%", "the answer as an exit code, for CI"),
];

const BISECT: &[Example] = &[
    (
        "git bisect run zc bisect --path sendfile --worse 5% --ab ./good.sh --ab ./state.sh",
        "which commit's ./state.sh makes sendfile dearer?",
    ),
    (
        "git bisect run zc bisect --good good.json --path sendfile --worse 40% -- make install",
        "which commit of what make installs? By runs, which tell large changes alone",
    ),
    (
        "git bisect run zc bisect --good ../good --kernel . --path sendfile --worse 5% -- make",
        "which commit of a kernel? Each is booted in a guest, in turns with the good one",
    ),
    ("zc bisect --report", "the commits that were seen, the suspect, and how sure it is"),
];

const CALIBRATE: &[Example] = &[
    ("zc calibrate quiet-*.json", "how much do runs differ here where nothing changed?"),
    ("zc compare old.json new.json --calibration quiet-*.json", "a comparison that knows it"),
];

const SOAK: &[Example] = &[
    ("zc soak", "the load of this machine by subtraction, one line per second"),
    ("zc soak -- tar cf /dev/null /usr", "what a command costs the whole machine"),
    ("zc soak --service nginx --for 30s", "what a running service costs, interrupts included"),
    (
        "zc soak --container web --log access.log --openmetrics web.prom",
        "CPU per request of a container, as metrics, until Ctrl-C",
    ),
    ("zc soak --verify", "check the soakers with known loads"),
];

const HTTP: &[Example] = &[
    ("zc http http://127.0.0.1:8080/file", "as fast as the server answers, for ten seconds"),
    (
        "zc http http://127.0.0.1:8080/file --rate 2000/s --for 60s",
        "2000 requests a second, whatever the server does",
    ),
    ("zc http https://127.0.0.1:8443/ --close --insecure", "a connection and a handshake each"),
];

const TUNE_NGINX: &[Example] = &[
    (
        "zc tune nginx --log /var/log/nginx/access.log",
        "this machine's nginx under its own log's requests, in 10 minutes",
    ),
    (
        "zc tune nginx -c nginx.conf --try 'sendfile_max_chunk 512k' -o tune.html",
        "another configuration, with a line of yours, also as a page",
    ),
];

const TUNE_APACHE: &[Example] = &[
    (
        "zc tune apache --log /var/log/apache2/access.log",
        "this machine's Apache under its own log's requests, in 10 minutes",
    ),
    (
        "zc tune apache -c httpd.conf --try 'EnableSendfile On' -o tune.html",
        "another configuration, with a line of yours, also as a page",
    ),
];

const TUNE_HAPROXY: &[Example] = &[
    (
        "zc tune haproxy --log /var/log/haproxy.log",
        "this machine's HAProxy under the requests of a log, in 10 minutes",
    ),
    (
        "zc tune haproxy -c haproxy.cfg --try 'option splice-auto' -o tune.html",
        "another configuration, with a line of yours, also as a page",
    ),
];

const TUNE_CADDY: &[Example] = &[
    (
        "zc tune caddy --log /var/log/caddy/access.log",
        "this machine's Caddy under its own log's requests, in 10 minutes",
    ),
    (
        "zc tune caddy -c Caddyfile --try 'env GOGC=800' -o tune.html",
        "another configuration, with a line of yours, also as a page",
    ),
];

const ADVISE: &[Example] = &[
    (
        "zc advise /var/log/nginx/access.log*",
        "what a rotated set of logs has, and what it costs here",
    ),
    ("zc advise access.log --no-costs", "only what it has; nothing is measured"),
    (
        "zc advise access.log --from-run zc-DATE.jsonl.gz --rate 5Gbit/s",
        "costs of a run, also at a rate",
    ),
    (
        "zc advise access.log --tls all --money '$0.04/core-hour'",
        "with what encryption costs, by a run of zc run tls in this folder, and a month's price",
    ),
    ("zc advise --host web1=web1.log --host web2=web2.log", "hosts, and their sum"),
    (
        "zc advise access.log --format '$remote_addr [$time_local] \"$request\" $status \
         $bytes_sent'",
        "a log_format of your own",
    ),
    ("zc advise requests.jsonl --field bytes=resp_size", "JSON lines with a key of your own"),
];

const FLEET: &[Example] = &[
    ("zc fleet plan fleet.toml -o DIR", "which pairs of hosts measure what, as jobs for Slurm"),
    ("zc fleet submit DIR", "submit what is missing; run it again after a failure"),
    ("zc fleet collect DIR --archive zc-runs", "check what came back, and keep it by day"),
    ("zc fleet report DIR -o report.html", "what all runs say together, as a page"),
];

const TREND: &[Example] = &[
    ("zc trend zc-runs --by generation,kernel", "which cost changed in which night"),
    ("zc trend zc-runs --fail-if-worse 5%", "is the last night dearer? the answer as an exit code"),
];

const EXPORT: &[Example] = &[
    ("zc export zc-runs -o runs.csv", "all figures of an archive as one table"),
    ("zc export zc-runs --parquet -o runs.parquet", "the same with types, for DuckDB and pandas"),
];

const GENERATE: &[Example] = &[
    ("zc generate man /usr/local/share/man/man1", "man pages"),
    ("zc generate completions DIR", "completions for bash, zsh and fish"),
];

/// The examples of a command by its whole name, as in `zc run nfs`.
pub(super) fn for_command(command: &str) -> &'static [Example] {
    match command {
        "zc" => ZC,
        "zc run" => RUN,
        "zc profile" => PROFILE,
        "zc plan" => PLAN,
        "zc serve" => SERVE,
        "zc show" => SHOW,
        "zc convert" => CONVERT,
        "zc report" => REPORT,
        "zc compare" => COMPARE,
        "zc bisect" => BISECT,
        "zc calibrate" => CALIBRATE,
        "zc soak" => SOAK,
        "zc http" => HTTP,
        "zc advise" => ADVISE,
        "zc tune nginx" => TUNE_NGINX,
        "zc tune apache" => TUNE_APACHE,
        "zc tune haproxy" => TUNE_HAPROXY,
        "zc tune caddy" => TUNE_CADDY,
        "zc fleet" => FLEET,
        "zc trend" => TREND,
        "zc export" => EXPORT,
        "zc generate" => GENERATE,
        _ => of_experiment(command).unwrap_or_default(),
    }
}

/// The examples of an experiment that is a command of its own, as in `zc run nfs`.
fn of_experiment(command: &str) -> Option<&'static [Example]> {
    let experiment: Experiment = command.strip_prefix("zc run ")?.parse().ok()?;
    Some(experiment.definition().examples)
}

/// The command, whose whole name is `name`, with its examples and those of its subcommands at the
/// end of each long help.
pub(super) fn with(command: Command, name: &str) -> Command {
    let command = command.mut_subcommands(|each| {
        let name = format!("{name} {}", each.get_name());
        with(each, &name)
    });
    match for_command(name) {
        [] => command,
        examples => command.after_long_help(text(examples)),
    }
}

/// Examples as a help shows them.
fn text(examples: &[Example]) -> String {
    let lines = examples.iter().map(|(line, what)| format!("\n  {line}\n      {what}"));
    format!("Examples:{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_example_is_understood() {
        fn all(command: &Command, name: &str) -> Vec<Example> {
            let nested = command.get_subcommands();
            let nested = nested.flat_map(|each| all(each, &format!("{name} {}", each.get_name())));
            for_command(name).iter().copied().chain(nested).collect()
        }
        let examples = all(&Cli::command(), "zc");
        assert!(examples.len() > 40, "{}", examples.len());
        for (line, _) in examples {
            // Up to the first word that only a shell understands.
            let line = line.split(['>', '|', ';']).next().unwrap_or_default().replace('\'', "");
            let words = line
                .split_whitespace()
                .skip_while(|word| ["sudo", "git", "bisect", "run"].contains(word));
            // Quoted commands have spaces, which a parser of examples need not understand.
            if !["--ab", "--via", "--serve", "--try"].iter().any(|option| line.contains(option)) {
                assert!(Cli::command().try_get_matches_from(words).is_ok(), "{line}");
            }
        }
    }
}
