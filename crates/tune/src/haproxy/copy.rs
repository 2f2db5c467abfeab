//! A configuration that serves the site beside the live server and touches nothing of it.

use zc_run::escape;

use super::answer;
use super::change::{applied, edits};
use super::own_words;
use super::render::render;
use super::tree::{Config, Line, Section};
use crate::Change;
use crate::copy::{Copy, Shadow};
use crate::site::Site;

/// Lines of the global section that are the live process's alone, or would start another.
const OF_THE_PROCESS: [&str; 22] = [
    "chroot",
    "cpu-map",
    "daemon",
    "grace",
    "hard-stop-after",
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
    "strict-limits",
    "ulimit-n",
    "unix-bind",
    // A warning is no error in a copy.
    "zero-warning",
    "stats",
];

/// Sections that listen, connect to other hosts, or start processes.
const LEFT_OUT: [&str; 4] = ["log-forward", "peers", "program", "ring"];

/// The user and the group of a copy that root starts, where the configuration names none.
const NOBODY: [[&str; 2]; 2] = [["uid", "65534"], ["gid", "65534"]];

impl Config {
    /// The configuration of one HAProxy in the foreground that serves `site` as the live one does,
    /// with `changes`, in one file.
    ///
    /// Other proxies are backends in it, which the site's rules may name. All servers are the
    /// origin of `shadow`, without TLS and checks. Logs go to stdout. With
    /// [`Shadow::own_location`], nothing that would answer or choose servers is left.
    ///
    /// With a sysctl among the changes, it takes over a listening socket, as that has the options.
    pub fn copy(&self, site: &Site, shadow: &Shadow, changes: &[&Change]) -> Copy {
        let (global, sections) = applied(self, &edits(self, site, changes));
        let mut copying = Copying {
            config: self,
            site,
            shadow,
            has_options: changes.iter().any(|change| matches!(change, Change::Sysctl { .. })),
            behind: self.behind(site.index).index,
            said: Vec::new(),
        };
        copying.tell_of_site();
        let mut out = vec![copying.own_section(global)];
        for (at, section) in sections.into_iter().enumerate() {
            out.extend(copying.section(at, section));
        }
        let own = site.certificates.iter().filter(|_| shadow.certificate.is_none());
        let reads = own.map(|(path, _)| path.clone()).collect();
        Copy { text: render(&out), said: copying.said, reads }
    }
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
    said: Vec<String>,
}

impl Copying<'_> {
    /// What differs from the live server, whatever its lines are.
    fn tell_of_site(&mut self) {
        let mut say = |what: &str| self.said.push(what.to_owned());
        say("the servers behind it are an origin of zc's, which answers with the files: without \
             TLS and checks, on the load's CPU and not in the cost");
        let index = self.site.index;
        if self.config.of_proxy(index, "log").is_some_and(|line| !line.is_no()) {
            say("log lines go to a file of zc's and not to syslog, whose own cost is in no figure");
        }
        if self.config.binds(index).count() > 1 {
            say("of its lines \"bind\" one is asked");
        }
        if self.config.bind(index).is_some_and(|line| line.has("accept-proxy")) {
            say("zc's load does not speak the PROXY protocol (accept-proxy)");
        }
        let fronts = self.config.sections.iter().filter(|section| section.is_front()).count();
        if fronts > 1 {
            say("nothing listens for other proxies");
        }
    }

    /// Tells what becomes of a line.
    fn tell(&mut self, line: &Line, what: &str) {
        let words = escape(&line.text(), 80);
        self.said.push(format!("\"{words}\" ({}) {what}", line.position()));
    }

    /// Whether it changes to the user of the configuration.
    fn changes_user(&self) -> bool {
        self.shadow.as_root && !self.shadow.is_alone && self.shadow.known_user
    }

    /// What a copy says of its own, with the lines of a new global section.
    fn own_section(&self, mut lines: Vec<Line>) -> Section {
        // A user may have fewer descriptors than `maxconn` takes, and none of them is needed.
        lines.push(Line::new(&["no", "strict-limits"]));
        let names_user = ["user", "uid"].iter().any(|key| self.config.global(key).is_some());
        let is_root = self.shadow.as_root && !self.shadow.is_alone;
        if is_root && !(self.changes_user() && names_user) {
            lines.extend(NOBODY.iter().map(|words| Line::new(words)));
        }
        Section { header: Line::new(&["global"]), lines }
    }

    /// One section by its place in the configuration; `None` leaves it out.
    fn section(&mut self, at: usize, section: Section) -> Option<Section> {
        let Section { mut header, lines } = section;
        let is_site = at == self.site.index;
        let is_global = header.word(0) == "global";
        match header.word(0) {
            kind if LEFT_OUT.contains(&kind) => return None,
            "frontend" if !is_site => return None,
            "listen" if !is_site => header.words[0] = "backend".to_owned(),
            // It answers everything itself; with a server it has to be another kind.
            "frontend" if at == self.behind => header.words[0] = "listen".to_owned(),
            "defaults" | "frontend" | "listen" | "backend" | "global" => {}
            _ => return Some(Section { header, lines }),
        }
        let one = |line| match is_global {
            true => self.of_global(line),
            false => self.of_proxy(line, is_site),
        };
        let mut lines: Vec<Line> = lines.into_iter().filter_map(one).collect();
        if is_site {
            if let Some(line) = self.config.bind(at) {
                lines.insert(0, own_words::bind(line, self.shadow, self.has_options));
            }
            if self.behind != at {
                let name = self.config.sections[self.behind].name();
                lines.push(Line::new(&["default_backend", name]));
            }
        }
        let is_server = |line: &Line| line.word(0).starts_with("server");
        if at == self.behind && !lines.iter().any(is_server) {
            lines.push(Line::new(&["server", "zc", self.origin()]));
        }
        Some(Section { header, lines })
    }

    /// The address of the origin.
    fn origin(&self) -> &str {
        self.shadow.origin.as_deref().unwrap_or("127.0.0.1:80")
    }

    /// A line of a global section.
    fn of_global(&mut self, line: Line) -> Option<Line> {
        match line.word(usize::from(line.is_no())) {
            word if OF_THE_PROCESS.contains(&word) => None,
            "user" | "group" | "uid" | "gid" => self.changes_user().then_some(line),
            "log" => Some(own_words::log(line)),
            "busy-polling" => {
                if !line.is_no() {
                    self.tell(&line, "is left out: copies that poll take the CPU from each other");
                }
                None
            }
            word => {
                if word.starts_with("lua-load") {
                    self.tell(&line, "runs in the copies, too");
                }
                Some(line)
            }
        }
    }

    /// A line of a proxy or of what proxies inherit.
    fn of_proxy(&mut self, line: Line, is_site: bool) -> Option<Line> {
        if self.shadow.own_location && answer::is_for_answering(&line) {
            return None;
        }
        if line.words.iter().any(|word| word == "spoe" || word == "send-spoe-group") {
            self.tell(&line, "is left out: it asks another program");
            return None;
        }
        match line.word(0) {
            "use_backend" => (is_site && !self.shadow.own_location).then_some(line),
            "server" | "server-template" => Some(own_words::server(line, self.origin())),
            "default-server" => own_words::default_server(line),
            "log" => Some(own_words::log(line)),
            "stick-table" => Some(own_words::stick_table(line)),
            "bind"
            | "default_backend"
            | "dispatch"
            | "load-server-state-from-file"
            | "server-state-file-name"
            | "source"
            | "use-fcgi-app" => None,
            "option" if line.word(1) == "transparent" => None,
            "filter" if line.word(1) == "fcgi-app" => None,
            _ => Some(line),
        }
    }
}
