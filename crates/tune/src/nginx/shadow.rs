//! What a copy of a configuration is told about the place where it runs.

use super::build;

/// Where a copy runs, and as whom.
///
/// The folder has to exist, and be writable for the user of the workers; nginx makes what is in it.
/// The copy is started with `-e FOLDER/error.log` (or `-e stderr`) and `-p FOLDER`, as nginx opens
/// the log it was built with before it reads the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shadow {
    /// Absolute: pid, lock, logs, caches and temporary files are in it. Without spaces, quotes,
    /// dollars and braces.
    pub folder: String,
    /// The port it listens on.
    pub port: u16,
    /// An absolute folder of files in place of every `root` and `alias` of the site.
    pub root: Option<String>,
    /// A certificate and its key in place of the site's. The site's own stay if there is none.
    pub certificate: Option<(String, String)>,
    /// The files are asked below [`OWN_LOCATION`] instead of `/`: see [`Config::copy`].
    ///
    /// [`Config::copy`]: super::Config::copy
    pub own_location: bool,
    /// nginx has the rights of root, so it changes to the user of `user`.
    pub as_root: bool,
    /// The user and the group of the configuration's `user` exist.
    pub known_user: bool,
    /// Root is the only user of this user namespace, so workers stay root.
    pub is_alone: bool,
    /// The text of `nginx -V`: the prefix of relative paths, and modules that were left out.
    pub build: String,
}

/// Where the files are asked in a copy with [`Shadow::own_location`]: `ROOT/zc-tune/NAME` is
/// `/zc-tune/NAME`.
pub const OWN_LOCATION: &str = "/zc-tune/";

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
