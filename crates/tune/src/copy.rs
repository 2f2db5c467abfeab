//! A configuration that serves a site beside the live server and touches nothing of it, and what
//! it is told about the place where it runs.

/// A configuration in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// Its text.
    pub text: String,
    /// Sentences about what differs from the live server and may matter.
    pub said: Vec<String>,
    /// Files that the server opens when it starts, so its user has to have the right to:
    /// certificates, keys, modules. Absolute.
    pub reads: Vec<String>,
}

/// Where a copy runs, and as whom.
///
/// The folder has to exist, and be writable for the user of the workers; the server makes what is
/// in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shadow {
    /// Absolute: pid, lock, logs, caches and temporary files are in it. Without spaces, quotes,
    /// dollars and braces.
    pub folder: String,
    /// The port it listens on.
    pub port: u16,
    /// An absolute folder of files in place of those of the site. The site's own stay if there is
    /// none.
    pub root: Option<String>,
    /// The folder of [`OWN_LOCATION`] in `root` is a link to another.
    pub is_link: bool,
    /// A certificate and its key in place of the site's. The site's own stay if there is none.
    pub certificate: Option<(String, String)>,
    /// The files are asked below [`OWN_LOCATION`] without what of the site would answer instead.
    pub own_location: bool,
    /// The address and the port of what answers with the files, for a server that is a proxy.
    pub origin: Option<String>,
    /// The server has the rights of root, so it changes to the user of its configuration.
    pub as_root: bool,
    /// The user and the group of the configuration exist.
    pub known_user: bool,
    /// Root is the only user of this user namespace, so workers stay root.
    pub is_alone: bool,
    /// What the server prints about how it was built: `nginx -V`.
    pub build: String,
}

/// Where the files are asked in a copy: `ROOT/zc-tune/NAME` is `/zc-tune/NAME`.
pub const OWN_LOCATION: &str = "/zc-tune/";
