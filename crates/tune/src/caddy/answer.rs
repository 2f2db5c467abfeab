//! What answers the requests of a site: files, or something else.

use super::tree::Line;

/// Directives that answer every request that meets their matcher.
const ANSWERING: [&str; 8] =
    ["abort", "acme_server", "error", "invoke", "metrics", "redir", "respond", "reverse_proxy"];

/// Directives that answer some, or have to agree before anything answers.
const ASKING: [&str; 4] = ["basic_auth", "basicauth", "forward_auth", "rewrite"];

/// Directives that have others for the requests that meet their matcher.
const GROUPS: [&str; 3] = ["handle", "handle_path", "route"];

/// What of a site stays where files are asked without what would answer instead.
const BESIDE_FILES: [&str; 5] = ["encode", "header", "log", "templates", "tls"];

/// Whether every request is answered by files, as far as a block decides it.
pub(super) fn answers_files(block: &[Line]) -> bool {
    let mut has_files = false;
    for line in block.iter().filter(|line| line.matcher().is_none()) {
        match line.word(0) {
            "file_server" => has_files = true,
            name if GROUPS.contains(&name) => has_files |= answers_files(line.children()),
            name if ANSWERING.contains(&name) || ASKING.contains(&name) => return false,
            _ => {}
        }
    }
    has_files
}

/// The lines that may answer some requests in place of the files, or delay them.
pub(super) fn may_answer(block: &[Line]) -> Vec<&Line> {
    let mut out = Vec::new();
    for line in block {
        let name = line.word(0);
        if ANSWERING.contains(&name) || ASKING.contains(&name) || name == "php_fastcgi" {
            out.push(line);
        } else if GROUPS.contains(&name) {
            out.extend(may_answer(line.children()));
        }
    }
    out
}

/// Whether a line stays where files are asked in a location of zc's own.
pub(super) fn is_beside_files(line: &Line) -> bool {
    BESIDE_FILES.contains(&line.word(0)) && line.matcher().is_none()
}

#[cfg(test)]
mod tests {
    use super::super::testing::read;
    use super::*;

    fn block(lines: &str) -> Vec<Line> {
        read(&format!(":80 {{\n{lines}\n}}\n")).unwrap().blocks[0].children().to_vec()
    }

    #[test]
    fn files_answer_where_nothing_answers_before_them() {
        for lines in [
            "file_server",
            "file_server browse",
            "file_server *",
            "handle {\nfile_server\n}",
            "route {\nfile_server\n}\nreverse_proxy /api/* localhost:1",
            "redir /old /new\nfile_server",
            "php_fastcgi unix//run/php.sock\nfile_server",
        ] {
            assert!(answers_files(&block(lines)), "{lines}");
        }
        for lines in [
            "",
            "file_server /static/*",
            "reverse_proxy localhost:1",
            "file_server\nrespond 200",
            "file_server\nbasicauth * {\na b\n}",
            "file_server\nredir https://{host}{uri}",
            "handle /a/* {\nfile_server\n}",
            "handle {\nrespond 404\n}",
        ] {
            assert!(!answers_files(&block(lines)), "{lines}");
        }
    }

    #[test]
    fn what_may_answer_is_found_in_groups_too() {
        let found = block("redir /a /b\nhandle /x {\nreverse_proxy localhost:1\n}\nfile_server");
        let words: Vec<&str> = may_answer(&found).into_iter().map(|line| line.word(0)).collect();
        assert_eq!(words, ["redir", "reverse_proxy"]);
        let kept = block("log\nheader /a X y\nheader X y\nreverse_proxy localhost:1");
        let kept: Vec<String> =
            kept.iter().filter(|line| is_beside_files(line)).map(Line::text).collect();
        assert_eq!(kept, ["log", "header X y"]);
    }
}
