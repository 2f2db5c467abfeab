//! Configurations of Apache: what is read, which host is tried, what a copy has and lacks, and the
//! changes as a diff, without Apache.

use std::collections::BTreeMap;

use zc_run::Result;
use zc_tune::apache::{Config, Line, Start};
use zc_tune::{Change, Copy, Scheme, Shadow, Site};

const MAIN: &str = "/e/apache2.conf";

fn start() -> Start {
    Start {
        build: "Server version: Apache/2.4.57 (Debian)\n -D HTTPD_ROOT=\"/e\"\nCompiled in \
                modules:\n  core.c\n  mod_so.c\n  http_core.c\n"
            .to_owned(),
        variables: BTreeMap::from([("LOGS".to_owned(), "/var/log/a".to_owned())]),
        defines: vec!["GIVEN".to_owned()],
    }
}

fn try_read(files: &[(&str, &str)]) -> Result<Config> {
    let mut files: BTreeMap<&str, &str> = files.iter().copied().collect();
    Config::read(MAIN, &start(), &mut files)
}

#[track_caller]
fn read(text: &str) -> Config {
    try_read(&[(MAIN, text)]).unwrap()
}

#[track_caller]
fn site(text: &str) -> (Config, Site) {
    let config = read(text);
    let site = config.site(None).unwrap();
    (config, site)
}

/// The text of all lines, those of sections after them with a space for each level.
fn lines(all: &[Line]) -> Vec<String> {
    let mut out = Vec::new();
    for line in all {
        out.push(line.text());
        out.extend(lines(line.children()).iter().map(|line| format!(" {line}")));
    }
    out
}

fn directive(text: &str) -> Change {
    let (name, args) = text.split_once(' ').unwrap();
    Change::Directive { name: name.into(), args: args.split(' ').map(str::to_owned).collect() }
}

#[test]
fn includes_are_read_in_the_order_of_names_and_folders_whole() {
    let config = try_read(&[
        (
            MAIN,
            "IncludeOptional none/*.conf\nInclude sites/*.conf\nInclude /e/more\nServerRoot /f\n\
                Include x\nIncludeOptional y\n",
        ),
        ("/e/sites/b.conf", "B 1\n"),
        ("/e/sites/a.conf", "A 1\n"),
        ("/e/sites/.c.conf", "C 1\n"),
        ("/e/sites/d.conf~", "D 1\n"),
        ("/e/more/2/z", "Z 1\n"),
        ("/e/more/1", "Y 1\n"),
        ("/f/x", "X 1\n"),
    ]);
    let config = config.unwrap();
    assert_eq!(lines(&config.lines), ["A 1", "B 1", "Y 1", "Z 1", "ServerRoot /f", "X 1"]);
    assert_eq!(config.files.len(), 6);
}

#[test]
fn conditions_count_from_their_line_on() {
    let config = read(
        "<IfDefine LATER>\nA 1\n</IfDefine>\nDefine LATER \"/x y\"\n<ifdefine LATER>\nB ${LATER}\n\
         </IfDefine>\n<IfDefine !GIVEN>\nC 1\n<Directory /a>\n</Directory>\n</IfDefine>\n\
         <IfModule ssl_module>\nD 1\n</IfModule>\nLoadModule ssl_module modules/mod_ssl.so\n\
         <IfModule mod_ssl.c>\n<IfModule !mod_x.c>\nE ${LOGS}/e ${none}\n</IfModule>\n</IfModule>\n\
         <IfVersion >= 2.4>\nF 1\n</IfVersion>\n<IfVersion < 2.4>\nG 1\n</IfVersion>\n\
         UnDefine LATER\n<IfDefine LATER>\nH 1\n</IfDefine>\n<IfFile /none>\nI 1\n</IfFile>\n\
         <IfFile apache2.conf>\nJ 1\n</IfFile>\n<Macro M $a>\nK $a\n</Macro>\n",
    );
    let expected = [
        "B /x y",
        "LoadModule ssl_module modules/mod_ssl.so",
        "E /var/log/a/e ${none}",
        "F 1",
        "J 1",
    ];
    assert_eq!(lines(&config.lines), expected);
}

#[test]
fn lines_are_joined_and_code_is_left_as_it_is() {
    let config = read(
        "# a comment \\\nthat goes on\nLogFormat \"%h \\\n  %r\" \\\n x\n\
         <LuaHookLog here>\nif a < b then -- <Directory>\nend\n</LuaHookLog>\n<Perl>\n</x>\n</Perl>\n\
         <Directory \"/a b\">\n Options -Indexes\n</directory>\n",
    );
    assert_eq!(
        lines(&config.lines),
        [
            "LogFormat \"%h   %r\"  x",
            "<LuaHookLog here>",
            "<Directory \"/a b\">",
            " Options -Indexes",
        ]
    );
    assert_eq!(config.lines[0].words(), ["%h   %r", "x"]);
    assert_eq!(config.lines[1].code.as_deref(), Some("if a < b then -- <Directory>\nend\n"));
    assert!(config.said[0].contains("\"<Perl>\" is left out"), "{:?}", config.said);
}

#[test]
fn what_cannot_be_read_is_told_with_file_and_line() {
    let long = format!("{}{}", "<A>\n".repeat(300), "</A>\n".repeat(300));
    for (text, id, words) in [
        ("\n<Directory /a>\nX 1\n", "apache-syntax", "line 2: \"<Directory>\" has no end"),
        ("<IfModule core.c>\n", "apache-syntax", "line 1: \"<IfModule>\" has no end"),
        ("<IfModule none>\n<A>\n</IfModule>\n", "apache-syntax", "ends where \"<A>\" is open"),
        ("<IfModule none>\n", "apache-syntax", "\"<IfModule>\" has no end"),
        ("</A>\n", "apache-syntax", "ends what has not begun"),
        ("<A>\n</B>\n", "apache-syntax", "\"</B>\" ends where \"<A>\" of line 1 is open"),
        ("<A\n", "apache-syntax", "\"<A\" has no \">\""),
        ("<A>\n</A\n", "apache-syntax", "\"</A\" has no \">\""),
        ("<Perl>\n", "apache-syntax", "\"<Perl>\" has no end"),
        ("\nInclude apache2.conf\n", "apache-syntax", "does a file include itself?"),
        ("Include none\n", "cannot-read-configuration", "file \"/e/apache2.conf\", line 1: no"),
        ("Include none/*\n", "apache-syntax", "no file matches \"/e/none/*\""),
        (
            "<IfVersion ~ ^2>\n</IfVersion>\n",
            "apache-syntax",
            "zc cannot tell \"<IfVersion ~ ^2>\"",
        ),
        ("Use VHost a\n", "apache-syntax", "zc does not read macros"),
        ("Error \"no\"\n", "apache-syntax", "the configuration ends with"),
        (long.as_str(), "apache-syntax", "more than 256 sections"),
    ] {
        let error = try_read(&[(MAIN, text)]).unwrap_err();
        assert_eq!(error.id, id, "{text}: {error}");
        assert!(error.message.contains(words), "{text}: {error}");
    }
}

/// Two files that include each other twice would be read without end.
#[test]
fn includes_that_multiply_end_in_a_sentence() {
    let files = [
        (MAIN, "Include b\nInclude b\n"),
        ("/e/b", "Include apache2.conf\nInclude apache2.conf\n"),
    ];
    let error = try_read(&files).unwrap_err();
    assert!(error.message.contains("more than 128 includes"), "{error}");
    let folder: Vec<(String, String)> = (0..20)
        .map(|n| (format!("/e/{n}"), format!("Include {0}\nInclude {0}\n", n + 1)))
        .collect();
    let mut files: Vec<(&str, &str)> =
        folder.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.extend([(MAIN, "Include 0\n"), ("/e/20", "A 1\n")]);
    let error = try_read(&files).unwrap_err();
    assert_eq!(error.id, "too-many-includes", "{error}");
}

#[test]
fn the_host_is_the_first_that_answers_with_files_or_that_of_a_name() {
    let text = "LoadModule http2_module m/mod_http2.so\nListen 80\nServerName main.test\n\
                <VirtualHost *:80>\nServerName www.test\nRedirect / https://www.test/\n</VirtualHost>\n\
                <VirtualHost *:80>\nServerName plain.test\nServerAlias *.plain.test\n</VirtualHost>\n\
                <VirtualHost *:443>\nServerName https://www.test:443\nSSLEngine on\nProtocols h2 \
                http/1.1\nSSLCertificateFile c.pem\n</VirtualHost>\n\
                <VirtualHost *:443>\nServerName app.test\nSSLEngine on\nProxyPass / http://a/\n\
                SSLCertificateFile /c\nSSLCertificateKeyFile /k\n</VirtualHost>\n";
    let (config, chosen) = site(text);
    assert_eq!(chosen.name, "www.test");
    assert_eq!((chosen.scheme, chosen.http2, chosen.answers_files), (Scheme::Https, true, true));
    assert_eq!(chosen.certificates, [("/e/c.pem".to_owned(), "/e/c.pem".to_owned())]);
    assert!(chosen.why.starts_with("it is the default host of *:443"), "{}", chosen.why);
    assert_eq!(chosen.position, format!("{MAIN}, line 12"));
    let named = |name: &str| config.site(Some(name)).unwrap();
    assert_eq!(named("a.plain.test").name, "plain.test");
    assert_eq!(named("MAIN.test").position, format!("{MAIN}, the main server"));
    let app = named("app.test");
    assert!(!app.answers_files);
    assert_eq!(app.certificates, [("/c".to_owned(), "/k".to_owned())]);
    let error = config.site(Some("nobody.test")).unwrap_err();
    assert_eq!(error.id, "no-such-server-name");
    assert!(error.help.unwrap().contains("\"plain.test\""));
    assert_eq!(read("ServerName a\n").site(None).unwrap_err().id, "no-http-server");
    for (protocols, speaks) in [("h2 http/1.1", false), ("h2 h2c http/1.1", true)] {
        let module = "LoadModule http2_module m/mod_http2.so";
        let (_, plain) = site(&format!("{module}\nListen 80\nProtocols {protocols}\n"));
        assert_eq!(plain.http2, speaks, "{protocols}");
    }
    let (_, main) = site("Listen 80\nDocumentRoot /srv\nProxyPass /app http://a/\n");
    assert!(main.answers_files && main.why == "there is no other host");
    assert!(main.said[0].contains("answered by ProxyPass, so not asked: \"/app\""));
}

#[test]
fn ten_thousand_hosts_are_one_in_the_copy() {
    let host = |n: usize| {
        format!(
            "<VirtualHost 10.0.{}.{}:80>\nServerName h{n}\nRedirect / http://a/\n</VirtualHost>\n",
            n / 250,
            n % 250
        )
    };
    let text = format!("Listen 80\n{}", (0..10_000).map(host).collect::<String>());
    let (config, chosen) = site(&text);
    assert!(!chosen.answers_files && chosen.name == "h0", "{}", chosen.why);
    let last = config.site(Some("h9999")).unwrap();
    let copy = config.copy(&last, &shadow(), &[&directive("EnableSendfile On")]);
    assert!(copy.said.contains(&"9999 other hosts are left out".to_owned()), "{:?}", copy.said);
    assert!(copy.text.len() < 1000 && copy.text.contains("ServerName h9999"), "{}", copy.text);
}

/// A configuration such as Debian's.
const DEBIAN: &str = "\
DefaultRuntimeDir /run/a
PidFile /run/a/pid
Mutex file:/run/lock/a default
KeepAlive On
User www-data
Group www-data
HostnameLookups On
ErrorLog ${LOGS}/error.log
Listen 80
Listen 443 https
LoadModule authz_core_module /m/mod_authz_core.so
<Directory /var/www/html>
\tAllowOverride All
</Directory>
<Directory />
\tOptions None
\tAllowOverride None
\tRequire all denied
</Directory>
<Directory /var/www/>
\tOptions Indexes FollowSymLinks
\tAllowOverride None
\tRequire all granted
</Directory>
<Directory /usr/share>
\tRequire all granted
</Directory>
LogFormat \"%h\" combined
CustomLog ${LOGS}/other.log combined
CustomLog \"|/usr/bin/rotatelogs /l/x 86400\" combined
SSLSessionCache shmcb:/run/a/ssl_scache(512000)
ScriptSock /run/a/cgisock
MDomain a.test
WSGIDaemonProcess a
WSGIDaemonProcess b
<VirtualHost *:80>
\tServerName a.test
\tDocumentRoot /var/www/html
\tErrorLog ${LOGS}/a-error.log
\tCustomLog ${LOGS}/access.log combined
\tProxyPass /app http://backend.test:8080/
\tProxyPassReverse /app http://backend.test:8080/
\tAuthType Basic
</VirtualHost>
<VirtualHost *:80>
\tServerName b.test
\tErrorLog ${LOGS}/b-error.log
</VirtualHost>
";

fn shadow() -> Shadow {
    Shadow { folder: "/f".into(), port: 8001, root: Some("/f/files".into()), ..Shadow::default() }
}

fn copy_of(text: &str, shadow: &Shadow, changes: &[Change]) -> (Copy, Vec<String>) {
    let (config, site) = site(text);
    let changes: Vec<&Change> = changes.iter().collect();
    let copy = config.copy(&site, shadow, &changes);
    let again = read(&copy.text);
    (copy, lines(&again.lines))
}

#[test]
fn a_copy_has_nothing_of_the_live_server_s() {
    let (copy, lines) = copy_of(DEBIAN, &shadow(), &[]);
    let expected = [
        "DefaultRuntimeDir /f",
        "Mutex file:/f default",
        "KeepAlive On",
        "LoadModule authz_core_module /m/mod_authz_core.so",
        "<Directory />",
        " Options None",
        " AllowOverride None",
        " Require all denied",
        "<Directory /usr/share>",
        " Require all granted",
        "LogFormat \"%h\" combined",
        "CustomLog /f/access-1.log combined",
        "SSLSessionCache shmcb:/f/ssl_scache(512000)",
        "ScriptSock /f/scriptsock",
        "PidFile /f/apache.pid",
        "ErrorLog /f/error.log",
        "Listen 0.0.0.0:8001",
        "ServerName localhost",
        "<VirtualHost *:8001>",
        " DocumentRoot /f/files",
        " ServerName a.test",
        " CustomLog /f/access-2.log combined",
        " AuthType Basic",
        // In the order in which they hold: the shorter path first.
        "<Directory /f/files/zc-tune>",
        " Options Indexes FollowSymLinks",
        " AllowOverride None",
        " Require all granted",
        "<Directory /f/files/zc-tune>",
        " AllowOverride All",
    ];
    assert_eq!(lines, expected, "{}", copy.text);
    let said = copy.said.join("\n");
    for words in [
        "1 other host is left out",
        "HostnameLookups On",
        "rotatelogs",
        "MDomain a.test",
        "WSGIDaemonProcess a",
        "1 line that forwards is left out",
        ".htaccess files are not in the copies",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("WSGIDaemonProcess b"), "{said}");
    assert_eq!(copy.reads, ["/m/mod_authz_core.so"]);
    assert!(!copy.text.contains("/var/log") && !copy.text.contains("/run/"), "{}", copy.text);
}

#[test]
fn in_a_location_of_zc_s_own_nothing_answers_in_place_of_files() {
    let shadow = Shadow { own_location: true, is_link: true, as_root: true, ..shadow() };
    let text = format!("{DEBIAN}<Location />\n Require ip 10.0.0.1\n SetHandler x\n</Location>\n");
    let (copy, lines) = copy_of(&text, &shadow, &[]);
    let at = |line: &str| lines.iter().position(|other| other == line);
    assert!(at("User #65534").is_some() && at("Group #65534").is_some(), "{}", copy.text);
    let end = at("<Directory /f/files>").unwrap();
    let expected = [
        "<Directory /f/files>",
        " Options FollowSymLinks",
        "<Directory /f/files/zc-tune>",
        " Options FollowSymLinks",
        " Options None",
        "<Directory /f/files/zc-tune>",
        " Options Indexes FollowSymLinks",
        " AllowOverride None",
        "<Directory /f/files/zc-tune>",
        " AllowOverride All",
        "<Directory /f/files/zc-tune>",
        " Require all granted",
    ];
    assert_eq!(lines[end..], expected, "{}", copy.text);
    for name in ["SetHandler", "AuthType", "Require all denied", "Require ip"] {
        assert!(!copy.text.contains(name), "{name}: {}", copy.text);
    }
    let known = Shadow { known_user: true, as_root: true, ..self::shadow() };
    assert!(copy_of(DEBIAN, &known, &[]).0.text.contains("User www-data"));
}

#[test]
fn a_site_with_tls_has_its_certificate_or_a_stand_in() {
    let text = "Listen 443\n<VirtualHost *:443>\nSSLEngine on\nSSLCertificateFile c.pem\n\
                SSLCertificateKeyFile k.pem\nSSLUseStapling on\nSSLVerifyClient require\n\
                </VirtualHost>\n";
    let (copy, lines) = copy_of(text, &shadow(), &[]);
    assert!(lines.contains(&" SSLCertificateFile c.pem".to_owned()), "{}", copy.text);
    assert!(lines.contains(&"Listen 0.0.0.0:8001 https".to_owned()), "{}", copy.text);
    assert_eq!(copy.reads, ["/e/c.pem", "/e/k.pem"]);
    assert_eq!(copy.said.len(), 2, "{:?}", copy.said);
    let stand_in = Shadow { certificate: Some(("/f/c.pem".into(), "/f/k.pem".into())), ..shadow() };
    let (copy, _) = copy_of(text, &stand_in, &[]);
    assert!(copy.text.contains("SSLCertificateKeyFile /f/k.pem"), "{}", copy.text);
    assert!(!copy.text.contains("SSLCertificateFile c.pem"), "{}", copy.text);
}

#[test]
fn a_change_is_made_where_its_line_is_in_effect() {
    let lines_with = |change: &str| copy_of(DEBIAN, &shadow(), &[directive(change)]).1;
    let expect = |change: &str, line: &str, before: &str| {
        let lines = lines_with(change);
        let at = lines.iter().position(|other| other == line);
        let at = at.unwrap_or_else(|| panic!("{line}: {lines:?}"));
        assert_eq!(lines[at - 1], before, "{change}: {lines:?}");
    };
    expect("KeepAlive Off", "KeepAlive Off", "Mutex file:/f default");
    let lines = lines_with("AllowOverride None");
    assert_eq!(lines.iter().filter(|line| *line == " AllowOverride None").count(), 3, "{lines:?}");
    expect("EnableSendfile On", " EnableSendfile On", " DocumentRoot /f/files");
    expect("ListenBacklog 9", "ListenBacklog 9", "ScriptSock /f/scriptsock");
    let log = "CustomLog /var/log/a/access.log combined expr=false";
    expect(log, " CustomLog /f/access-2.log combined expr=false", " ServerName a.test");
    // The main server has no section for its files.
    let text = "Listen 80\nDocumentRoot /srv\n";
    let (copy, lines) = copy_of(text, &shadow(), &[directive("AllowOverride All")]);
    let end = ["<Directory /f/files/zc-tune>", " AllowOverride All"];
    assert!(lines.ends_with(&end.map(str::to_owned)), "{}", copy.text);
}

#[test]
fn a_diff_keeps_variables_and_indents_as_the_lines_around() {
    let (config, site) = site(DEBIAN);
    let diff = |changes: &[&str]| {
        let changes: Vec<Change> = changes.iter().map(|text| directive(text)).collect();
        let changes: Vec<&Change> = changes.iter().collect();
        let diff = config.diff(&site, &changes);
        let changed: Vec<String> = diff
            .lines()
            .skip(2)
            .filter(|line| line.starts_with(['+', '-']))
            .map(str::to_owned)
            .collect();
        changed
    };
    assert_eq!(diff(&["keepalive Off"]), ["-KeepAlive On", "+keepalive Off"]);
    assert_eq!(
        diff(&["CustomLog /var/log/a/access.log combined expr=false"]),
        [
            "-\tCustomLog ${LOGS}/access.log combined",
            "+\tCustomLog ${LOGS}/access.log combined expr=false"
        ]
    );
    assert_eq!(
        diff(&["AllowOverride None", "EnableSendfile On", "BufferedLogs On"]),
        [
            "-\tAllowOverride All",
            "+\tAllowOverride None",
            "+\tEnableSendfile On",
            "+BufferedLogs On"
        ]
    );
    assert_eq!(config.diff(&site, &[]), "");
    let sysctl = Change::Sysctl { name: "net.a".into(), value: "1".into() };
    assert_eq!(config.diff(&site, &[&sysctl]), "# /etc/sysctl.d/90-zc-tune.conf:\n# net.a = 1\n");
}

#[test]
fn a_diff_of_odd_files_is_whole() {
    let added = |text: &str, change: &str| {
        let (config, site) = site(text);
        config.diff(&site, &[&directive(change)])
    };
    // No newline at the end, and a line over several.
    let diff = added("Listen 80\nEnableSendfile \\\n  Off", "EnableSendfile On");
    assert!(
        diff.ends_with(
            "@@ -1,3 +1,2 @@\n Listen 80\n-EnableSendfile \\\n-  Off\n\\ No newline at end of \
             file\n+EnableSendfile On\n\\ No newline at end of file\n"
        ),
        "{diff}"
    );
    let diff = added("Listen 80", "EnableSendfile On");
    assert!(diff.contains("+EnableSendfile On\n"), "{diff}");
    let diff = added("Listen 80\r\nDocumentRoot \"/srv/a b\"\r\n", "AllowOverride None");
    assert!(
        diff.ends_with("+<Directory \"/srv/a b\">\r\n+    AllowOverride None\r\n+</Directory>\r\n"),
        "{diff:?}"
    );
}
