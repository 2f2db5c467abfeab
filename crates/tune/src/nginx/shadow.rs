//! What nginx makes of the place where a copy runs.
//!
//! The copy is started with `-e FOLDER/error.log` (or `-e stderr`) and `-p FOLDER`, as nginx opens
//! the log it was built with before it reads the configuration.

use super::build;
use crate::copy::Shadow;

impl Shadow {
    /// A path as nginx completes it, relative to its prefix.
    pub(super) fn in_prefix(&self, path: &str) -> String {
        match path.starts_with(['/', '$']) || path.is_empty() {
            true => path.to_owned(),
            false => format!("{}/{path}", build::prefix(&self.build)),
        }
    }

    /// Whether nginx was built with a module of http that is there unless it is left out.
    pub(super) fn has_module(&self, name: &str) -> bool {
        !self.build.contains(&format!("--without-http_{name}_module"))
    }

    /// An address at which nobody answers, for what the site forwards.
    pub(super) fn nowhere(&self) -> String {
        // 108 bytes with the final zero: unix(7). In URLs nginx takes a colon for the path's end.
        let path = format!("{}/none.sock", self.folder);
        match path.len() < 100 && !path.contains([':', ' ', '$']) {
            true => format!("unix:{path}"),
            false => "127.0.0.1:1".to_owned(),
        }
    }

    /// The folder of the files in a copy.
    pub(super) fn files(&self) -> String {
        let files = || format!("{}/files", self.folder);
        self.root.as_ref().map_or_else(files, |root| root.trim_end_matches('/').to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_is_that_of_the_build() {
        let build = "configure arguments: --with-ld-opt='-Wl' --prefix=/usr/share/nginx --x".into();
        let shadow = Shadow { build, ..Shadow::default() };
        assert_eq!(shadow.in_prefix("html"), "/usr/share/nginx/html");
        assert_eq!(shadow.in_prefix("/html"), "/html");
        assert_eq!(Shadow::default().in_prefix("html"), "/usr/local/nginx/html");
    }
}
