//! A configuration that serves the site beside the live server and touches nothing of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use zc_run::escape;

use super::answer;
use super::change::{applied, of_directives};
use super::own_words;
use super::render::render;
use super::tree::{Config, Line, Section};
use crate::Change;
use crate::copy::{Copy, Shadow};
use crate::site::{Scheme, Site};

/// Lines of the global section that are the live process's alone, or would start another.
const OF_THE_PROCESS: [&str; 33] = [
    "chroot",
    "cpu-map",
    "daemon",
    "external-check",
    "gid",
    "grace",
    "group",
    "hard-stop-after",
    "insecure-fork-wanted",
    "insecure-setuid-wanted",
    "localpeer",
    "master-worker",
    "mworker-max-reloads",
    "nbproc",
    "numa-cpu-mapping",
    "pidfile",
    "prealloc-fd",
    "quiet",
    "server-state-base",
    "server-state-file",
    "set-dumpable",
    "setcap",
    "ssl-load-extra-del-ext",
    "ssl-load-extra-files",
    "stats bind-process",
    "stats maxconn",
    "stats socket",
    "stats timeout",
    "strict-limits",
    "uid",
    "ulimit-n",
    "unix-bind",
    "user",
];

/// The rest of them: a warning is no error in a copy.
const WARNINGS: &str = "zero-warning";

/// Sections that ask, or are asked by, other hosts or processes, or are read by those alone.
const LEFT_OUT: [&str; 9] = [
    "fcgi-app",
    "log-forward",
    "log-profile",
    "mailers",
    "peers",
    "program",
    "resolvers",
    "ring",
    "traces",
];

impl Config {
    /// The configuration of one HAProxy in the foreground that serves `site` as the live one does,
    /// with `changes`, in one file.
    ///
    /// The proxies that the site's rules name are there, too. All servers are the origin of
    /// `shadow`, without TLS and checks. Logs go to stdout. With [`Shadow::own_location`], nothing
    /// that would answer or choose servers is left.
    ///
    /// With a sysctl among the changes, it takes over a listening socket, as that has the options.
    pub fn copy(&self, site: &Site, shadow: &Shadow, changes: &[&Change]) -> Copy {
        let edits = of_directives(self, site, changes);
        let behind = self.behind(site.index).index;
        let mut copying = Copying {
            config: self,
            site,
            shadow,
            has_options: changes.iter().any(|change| matches!(change, Change::Sysctl { .. })),
            behind,
            kept: self.kept(site.index, behind, shadow.own_location),
            left_out: BTreeMap::new(),
            said: Vec::new(),
            reads: Vec::new(),
        };
        let mut out = Vec::new();
        for (at, section) in applied(self, &edits) {
            out.extend(copying.section(at, &section));
        }
        let own = Section { header: Line::new(["global"]), lines: copying.own_lines() };
        out.insert(0, own);
        let said = copying.sentences();
        Copy { text: render(&out), said, reads: copying.reads }
    }

    /// The proxies of a copy: the site's two, and those that their lines name.
    fn kept(&self, front: usize, behind: usize, own_location: bool) -> BTreeSet<usize> {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, section) in self.sections.iter().enumerate() {
            if section.is_front() || section.is_back() {
                by_name.entry(section.name()).or_default().push(at);
            }
        }
        let mut kept = BTreeSet::from([front, behind]);
        let mut open: VecDeque<usize> = kept.iter().copied().collect();
        // A rule may compute its backend from what is asked.
        let is_computed = |line: &Line| line.word(1).contains("%[");
        if !own_location && self.sections[front].all("use_backend").any(is_computed) {
            let backs = (0..self.sections.len()).filter(|&at| self.sections[at].is_back());
            kept.extend(backs);
            open = kept.iter().copied().collect();
        }
        // Each `defaults` is looked at once.
        let mut seen: BTreeSet<*const Section> = BTreeSet::new();
        while let Some(at) = open.pop_front() {
            for section in self.chain(at) {
                if !seen.insert(std::ptr::from_ref(section)) {
                    continue;
                }
                let is_left = |line: &&Line| {
                    let key = line.key();
                    !(own_location && answer::is_for_answering(&key))
                        && !(key == "use_backend" && (own_location || at != front))
                        && key != "default_backend"
                };
                for word in section.lines.iter().filter(is_left).flat_map(|line| &line.words[1..]) {
                    for found in names_in(word).filter_map(|name| by_name.get(name)).flatten() {
                        if kept.insert(*found) {
                            open.push_back(*found);
                        }
                    }
                }
            }
        }
        kept
    }
}

/// What of a word may be the name of a proxy: of `nbsrv(app)` also `app`, of `app/s1` `app`.
fn names_in(word: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    word.split(move |c| !is_of_name(c)).filter(|name| !name.is_empty())
}

/// The state of one copy.
struct Copying<'a> {
    config: &'a Config,
    site: &'a Site,
    shadow: &'a Shadow,
    /// Its listening socket has options of its own.
    has_options: bool,
    /// The section with the servers.
    behind: usize,
    /// The proxies that are in it.
    kept: BTreeSet<usize>,
    /// How many of what are left out.
    left_out: BTreeMap<&'static str, usize>,
    said: Vec<String>,
    reads: Vec<String>,
}

impl Copying<'_> {
    fn leave_out(&mut self, line: &Line, why: &str) {
        let words = escape(&line.text(), 80);
        self.said.push(format!("\"{words}\" ({}) is left out: {why}", line.position()));
    }

    fn count(&mut self, what: &'static str) {
        *self.left_out.entry(what).or_default() += 1;
    }

    /// What a copy says of its own.
    fn own_lines(&self) -> Vec<Line> {
        // A user may have fewer descriptors than `maxconn` takes, and none of them is needed.
        let mut lines = vec![Line::new(["no", "strict-limits"])];
        if self.shadow.as_root && !self.shadow.is_alone {
            let user = self.config.user().filter(|_| self.shadow.known_user);
            let of = |word: &str, id: &str, value: &str| match value.strip_prefix('#') {
                Some(number) => Line::new([id, number]),
                None => Line::new([word, value]),
            };
            let (user, group) = user.unwrap_or_else(|| ("#65534".to_owned(), "#65534".to_owned()));
            lines.extend([of("user", "uid", &user), of("group", "gid", &group)]);
        }
        lines
    }

    /// One section, whose place in the configuration is `at`; `None` leaves it out.
    fn section(&mut self, at: Option<usize>, section: &Section) -> Option<Section> {
        let is_kept = match section.kind() {
            "frontend" | "listen" | "backend" => at.is_some_and(|at| self.kept.contains(&at)),
            kind if LEFT_OUT.contains(&kind) => false,
            _ => true,
        };
        if !is_kept {
            self.count(if section.is_front() {
                "proxy that clients come to"
            } else if section.is_back() {
                "backend that no rule of the site names"
            } else {
                "section of what other hosts or processes are for"
            });
            return None;
        }
        let is_site = at == Some(self.site.index);
        let mut lines = Vec::with_capacity(section.lines.len());
        for line in &section.lines {
            lines.extend(match section.kind() {
                "global" => self.of_global(line),
                "defaults" | "frontend" | "listen" | "backend" => self.of_proxy(line, is_site),
                _ => Some(line.clone()),
            });
        }
        if is_site {
            let bind = self.config.bind(self.site.index);
            lines
                .splice(..0, bind.map(|line| own_words::bind(line, self.shadow, self.has_options)));
            if self.shadow.certificate.is_none() && self.site.scheme == Scheme::Https {
                self.reads.extend(self.site.certificates.iter().map(|(path, _)| path.clone()));
            }
            if self.behind != self.site.index {
                let name = self.config.sections[self.behind].name();
                lines.push(Line::new(["default_backend", name]));
            }
        }
        let is_asked = at == Some(self.behind);
        if is_asked
            && !lines
                .iter()
                .any(|line| matches!(line.word(0), "server" | "server-template" | "dispatch"))
        {
            lines.push(Line::new(["server", "zc", self.origin()]));
        }
        Some(Section { header: section.header.clone(), lines })
    }

    /// The address of the origin.
    fn origin(&self) -> &str {
        self.shadow.origin.as_deref().unwrap_or("127.0.0.1:80")
    }

    /// A line of a global section.
    fn of_global(&mut self, line: &Line) -> Option<Line> {
        let key = line.key();
        match key.as_str() {
            key if OF_THE_PROCESS.contains(&key) || key == WARNINGS => None,
            "log" => Some(own_words::log(line)),
            "busy-polling" if !line.is_no() => {
                self.leave_out(line, "a copy that polls takes the CPU from all others");
                None
            }
            key if key.starts_with("lua-load") => {
                let words = escape(&line.text(), 80);
                self.said
                    .push(format!("\"{words}\" ({}) runs in the copies, too", line.position()));
                self.reads.extend(line.words.get(1).filter(|path| path.starts_with('/')).cloned());
                Some(line.clone())
            }
            _ => Some(line.clone()),
        }
    }

    /// A line of a proxy or of what proxies inherit.
    fn of_proxy(&mut self, line: &Line, is_site: bool) -> Option<Line> {
        let key = line.key();
        if self.shadow.own_location && answer::is_for_answering(&key) {
            return None;
        }
        match key.as_str() {
            "bind"
            | "default_backend"
            | "server-state-file-name"
            | "load-server-state-from-file" => None,
            "use_backend" if is_site && !self.shadow.own_location => Some(line.clone()),
            "use_backend" => None,
            "server" | "server-template" | "dispatch" => {
                Some(own_words::server(line, self.origin()))
            }
            "default-server" => own_words::default_server(line),
            "log" => Some(own_words::log(line)),
            "option external-check" | "source" | "option transparent" | "external-check" => None,
            key if key.starts_with("email-alert") => None,
            "stick-table" => {
                let mut words = line.words.clone();
                if let Some(at) = words.iter().position(|word| word == "peers") {
                    words.drain(at..(at + 2).min(words.len()));
                }
                Some(Line { words, ..line.clone() })
            }
            "filter" if matches!(line.word(1), "spoe" | "opentracing" | "fcgi-app") => {
                self.leave_out(line, "it asks another program");
                None
            }
            "use-fcgi-app" => {
                self.leave_out(line, "zc's origin speaks HTTP");
                None
            }
            "http-request" | "tcp-request"
                if line
                    .words
                    .iter()
                    .any(|word| word.starts_with("do-resolve") || word == "send-spoe-group") =>
            {
                self.leave_out(line, "it asks another host or program");
                None
            }
            _ => Some(line.clone()),
        }
    }

    /// What differs from the live server, in sentences.
    fn sentences(&mut self) -> Vec<String> {
        let mut said = vec![
            "the servers behind it are an origin of zc's, which answers with the files: without TLS, \
             checks and the PROXY protocol, on the load's CPU and not in the cost"
                .to_owned(),
        ];
        let index = self.site.index;
        if self.config.of_proxy(index, "log").is_some_and(|line| !line.is_no()) {
            said.push(
                "log lines go to a file of zc's and not to syslog, whose own cost is in no figure"
                    .to_owned(),
            );
        }
        let counted = std::mem::take(&mut self.left_out);
        said.extend(counted.into_iter().map(|(what, count)| match count {
            1 => format!("1 {what} is left out"),
            count => format!("{count} times a {what} is left out"),
        }));
        let binds = self.config.sections[index].all("bind").count();
        if binds > 1 {
            said.push(format!("of its {binds} lines \"bind\" one is asked"));
        }
        if self.config.bind(index).is_some_and(|line| line.has("accept-proxy")) {
            said.push("zc's load does not speak the PROXY protocol (accept-proxy)".to_owned());
        }
        said.append(&mut self.said);
        said
    }
}
