//! What zc says to a command line that it refuses, in one snapshot. It is the only place in which
//! this wording is held: other tests look for the ids of errors.

use std::os::unix::fs::symlink;
use std::sync::OnceLock;

use crate::support::{Bounded as _, at_once, refused, saved_run, stderr, words, zc_in};

/// Commands that are refused on every machine, for every user, by the arguments alone or by files
/// of [`FILES`]. Single quotes keep blanks.
const COMMANDS: &str = "
rnu
runn
--frobnicate
--verbose
-v doctor

run file
run paths file
run --pathz splice
run --congestoin reno
run --duration 5s
run --rate
run --rate 1MB/s --rate 2MB/s
run --files
run --json=yes
run --json --csv
run --markdown --json
run --paths senfile
run --paths splice,senfile
run --paths ''
run --paths sendfile,
run --recv reecv
run --recv recv:64kB
run --link ethernet
run --link remote
run --link wire
run --link null --recv splice
run --ack-every 2m
run --ack-interval 1
run --rtt 1
run --rtt 1ms --link veth
run --rtt 1ms --recv splice
run --burn sendfile
run --burn sendfile=4
run --burn sendfile=1s
run --soaker fpu
run --buffer -64k
run --buffer 8g
run --sndbuf 4g
run --rate 900TB/s
run --budget 10ms
run --budget 1000h
run --target 0%
run --sessions 0
run --flows 1000000
run --seed 1.5
run --window 0ms
run --ip 5
run --ip 6 --mtu 576
run --mtu 64k
run --offloads tso
run --cpus 0,0
run --cpus 0,1,2
run --cpus -1,1
run --congestion ''
run --with x.json
run links -o x.json
run --ab true
run --ab a --ab b --ab c
run --ab true --ab ' '
run --ab a --ab b --ab-limit 5
run --kernel a --kernel B=b
run --kernel A=a
run --kernel A=a --kernel A=b
run --kernel A=a --kernel B=b --ab true
run --kernel A=a --kernel B=b --boot kexec
run --kernel A=a --kernel B=b --boot kexek
run --kernel A=a --kernel B=b --remote 'x y'
run --kernel A=a --kernel B=b --remote x --plan y
run --boot kexec
run --kernel A=a --kernel B=b --csv
run --kernel A=a --kernel B=b --link wire --mtu 9000
run --kernel A=a --kernel B=b --boots 0
run --kernel A=a --kernel B=b --tap
run --kernel A=a --kernel B=b --fail-if-worse 0.5x
run --kernel A=a --kernel B=b --paths senfile
run --kernel A=a --kernel B=b --out run.json
run paths sizes --kernel A=a --kernel B=b
run memory --kernel A=a
run --boots 2
run --out ''
run --out run.json
run --out dangling
run --out .
run --out no/such/run.json
run --out run.json/run.json
run --out - --json
run --like none.json
run paths sizes --out x.json
run paths --plan x.toml
run paths --serve true
run paths -- oha
run paths --rsize 4k
run cork --paths sendfile,splice
run sizes --state x=y

run memory --budget 1
run memory --seed -1
run memory --rate 1GB/s
run memory --cpus 0,1
run --seed 5 memory --remote x

run paths --responses close
run cork --responses close
run sizes --responses always
run requests --link loopback
run requests --rate 1MB/s
run requests --push more
run requests --recv splice
run requests --rcvbuf 64k
run requests --speedup 5
run paths --log access.log
run replay
run replay --draw 5
run replay --log nonesuch
run replay --log empty.log
run replay --log prose.log
run replay --log nothing.log
run replay --log access.log --draw 0
run replay --log access.log --speedup -1
run replay --log access.log --log-format nonesuch
run replay --log access.log --log-format iis
run --anonymise server
run --anonymise nfs
run --anonymise replay --log access.log

run server
run server --state a=http://localhost:1/
run server --state a=http://localhost:1/ --state b=http://localhost:2/ --serve ' '
run server --state a=http://localhost:1/ --state b=http://localhost:2/ --serve x --via sh
run server --state a=http://localhost:1/ --state far=http://198.51.100.7/f
run server --state a --state b=http://localhost:2/
run server --state a=http://localhost:1/ --state a=http://b/
run server --state =http://a/ --state b=http://localhost:2/
run server --state a=http://localhost:1/ --state b=
run server --state a=http://localhost:1/ --state b=true
run server --state a=http://localhost:1/ --state b=true --url http://a/
run server --state a=http://localhost:1/ --state b=http://localhost:2/ --serve true --requests 9x
run server --state a=http://localhost:1/ --state b=http://localhost:2/ --serve true --header x
run server --state a=http://localhost:1/ --state b=http://localhost:2/ --link null
run server --state a=http://localhost:1/ --state b=http://localhost:2/ -- oha {url}
run server --state a=http://localhost:1/ --state b=http://localhost:2/ --serve true -- oha http://b/
run server --state a=http://localhost:1/ --state b=http://localhost:2/ --serve true --requests 9/s \
-- oha {url}

run nfs --vers 2
run nfs --vers 4.1
run nfs --rsize 3
run nfs --depth 0
run nfs --link null
run nfs --paths sendfile
run nfs --write fsync
run nfs --nfs-server nfsd
run nfs --nfs-server external
run nfs --nfs-server knfsd --nfs-threads 0
run nfs --nfs-threads 4
run nfs --nfs-transport sctp
run nfs --nfs-transport udp,rdma
run nfs --nfs-client kernel --nconnect 17
run nfs --nfs-client kernel --nfs-reader /bin/true
run nfs --nconnect 4
run nfs --nfs-file 127.0.0.1:/a --write sync
run nfs --nfs-file 127.0.0.1:/a --files b
run nfs --nfs-file 127.0.0.1:/a --nfs-server knfsd
run nfs --nfs-file 127.0.0.1:/a/
run nfs --nfs-file /proc/self/stat
run nfs --via env
run nfs --nfs-file 127.0.0.1:/a --via env
run nfs --nfs-file 192.0.2.1:/a --via env
run nfs --nfs-file 127.0.0.1:/a --remote far
run nfs --nfs-file 127.0.0.1:/a --via env --nfs-reader /bin/true
run nfs --nfs-file 127.0.0.1:/a --via env --far-address 192.0.2.1

plan memory
plan size
plan paths extra
generate beer .
show
show run.json x.json
show .
show /dev/zero
show none.json
show prose.log
show empty.log
report -o old.html
report run.json -o ''
report run.json -o .
report run.json -o none/r.html
report run.json -o /dev/null
report run.json none.json
report run.json prose.log -o ./prose.log
report -o run.json run.json
report run.json --csv --json
compare run.json
compare run.json none.json
compare run.json none.json:sendfile
compare run.json prose.log
compare run.json run.json:spilce
compare --fail-if-worse 5x run.json run.json:sendfile
compare --json --markdown run.json run.json
compare --bisect run.json run.json
bisect
bisect --path sendfile --worse 5x --ab true --ab true
bisect --path sendfile --worse 5% --good run.json --ab true
bisect --path sendfile --worse 5% --kernel new
bisect --path sendfile --worse 5% --good run.json --link veth
bisect --report --path sendfile
bisect --path sendfile --worse 5% --good run.json --like run.json

advise
advise - -
advise . --no-costs
advise none.log --no-costs
advise empty.log --no-costs
advise prose.log --no-costs
advise access.log --no-costs --format caddy
advise access.log --format combinde
advise access.log --format '$time_local $status'
advise access.log --format '%t %r %>s %b'
advise access.log --format %t%Y
advise access.log --field colour=red
advise access.log --field bytes=b --format s3
advise access.log --no-costs --rate 5/s
advise access.log --budget 0s
advise access.log --from-run none.json
advise access.log --from-run x --budget 5s
advise access.log --from-run run.json --rate 2000
advise access.log --from-run run.json --rate 10G
advise access.log --from-run run.json --rate auto
advise access.log --server-run none.json
advise access.log --server-run run.json
advise access.log --server-run run.json --from-run x
advise access.log --server-run run.json --budget 5s
advise access.log --server-run run.json --no-costs
advise access.log --server-run run.json --rate 10G
advise access.log --tls-run none.json
advise access.log --tls-run run.json --server-run run.json
advise access.log --tls some
advise access.log --tls 1.5
advise access.log --cipher des
advise access.log --money 5
advise access.log --no-costs --money 0.04/core-hour
advise --host web1 --no-costs
advise --host =access.log --no-costs
advise --host web1= --no-costs
advise --host web1=none.log --no-costs
advise --host web1=access.log access.log --no-costs

soak --period 1
soak --period 1ms
soak --cpus x
soak --soaker mmx
soak --count 0
soak --verify -- true
soak --runs 0 -- true
soak --runs 2
soak --budget soon -- true
soak --budget 5s
soak --raw -- true
soak --per pages -- true
soak --per-regex ( -- true
soak --link lo -- true
soak --per bytes --status-url http://a/ -- true
soak --per requests --status-url x -- true
soak --soaker alu curl -s http://[::1]/
soak --for 5s
soak --for=5s
soak --pid x --for 1s
soak --pid 1
soak --pid 1 --for 1ms
soak --pid 1 --for 1s --verify
soak --pid 1 --for 1s --count 3
soak --pid 1 --for 1s -- true
soak --pid 1 --for 1s --raw
soak --pid 1 --for 1s --per requests
soak --pid 1 --for 1s --per transactions
soak --pid 1 --for 1s --status-url https://x/
soak --pid 2147483647 --for 1s
soak --service ../x --for 1s
soak --service nginx
soak --openmetrics x.prom
soak --pid 1 --openmetrics x.prom --every 1ms
soak --pid 1 --openmetrics x.prom --for 5s
soak --pid 1 --openmetrics x.prom --period 5s
soak --pid 1 --for 5s --every 5s
soak --pid 1 --openmetrics x.prom --json
soak --pid 1 --for 5s --log access.log
soak --pid 1 --openmetrics x.prom --log a --status-url http://a/
soak --container web --service nginx --for 5s

http localhost/x
http --concurrency 5
http --duration 5s
http http://127.0.0.1/ --rate 2k
http http://127.0.0.1/ --rate -1/s
http http://127.0.0.1/ --connections 0
http http://127.0.0.1/ --for 10
http http://127.0.0.1/ --requests 0
http http://127.0.0.1/ --for 1s --requests 1
http http://127.0.0.1/ --insecure --cacert x
http http://127.0.0.1/ --source here
http http://127.0.0.1/ --header X
http http://127.0.0.1/ --header 'Content-Length: 1'
http http://127.0.0.1/file --from access.log

fleet submit none
fleet status none
fleet cancel none
fleet collect none
fleet plan none.toml -o out
fleet plan prose.log -o out
trend none
export none

zcc prose.log
zcc -s0 f -b 0
zcs -p x
cyclesoak -p 0
run_rr -x
ttcp
install-classic
";

/// What the folder has in which they are refused, beside a saved run and a link that leads nowhere.
const FILES: [(&str, &str); 4] = [
    ("empty.log", ""),
    ("prose.log", "in a form that nobody knows\n"),
    ("access.log", "192.0.2.1 - - [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 1000\n"),
    ("nothing.log", "192.0.2.1 - - [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 304 -\n"),
];

/// What zc says to a line of [`COMMANDS`], in a folder of its own: of two runs that begin in one
/// folder in one second, the second has no name for its file.
fn said(line: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in FILES {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    std::fs::write(folder.path().join("run.json"), saved_run()).unwrap();
    symlink("nowhere", folder.path().join("dangling")).unwrap();
    let output = zc_in(folder.path(), &[]).args(words(line)).finish().unwrap();
    let code = output.status.code().unwrap_or_default();
    assert!(matches!(code, 2..=5 | 11 | 128), "{line}: {output:?}");
    refused(&output, code);
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, FILES.len() + 2, "{line} left something behind");
    format!("$ zc {line}\nexit code {code}\n{}\n", stderr(&output))
}

#[test]
fn the_wording_of_refusals_changes_only_on_purpose() {
    let lines = COMMANDS.lines().filter(|line| !line.is_empty());
    let cases: Vec<(&str, OnceLock<String>)> = lines.map(|line| (line, OnceLock::new())).collect();
    at_once(&cases, |(line, printed)| printed.set(said(line)).unwrap());
    let printed: Vec<&str> = cases.iter().filter_map(|(_, it)| it.get()).map(|it| &**it).collect();
    insta::assert_snapshot!("refusals", printed.concat());
}
