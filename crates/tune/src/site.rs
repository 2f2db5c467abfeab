//! The site that is tried, as whoever copies and asks it has to know it.

/// Whether the site is asked with or without TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Without.
    Http,
    /// With.
    Https,
}

/// The part of a configuration that answers for one host: nginx's `server` block, Apache's
/// `VirtualHost`.
#[derive(Debug, Clone)]
pub struct Site {
    /// The first of its names; empty if it has none.
    pub name: String,
    /// Its file, and the line on which it begins.
    pub position: String,
    /// Why it is this one: a sentence.
    pub why: String,
    /// The scheme of its address. Of several schemes, https.
    pub scheme: Scheme,
    /// Whether clients may use HTTP/2.
    pub http2: bool,
    /// Whether requests for `/...` are answered by files. Where they are not,
    /// [`Shadow::own_location`](crate::Shadow::own_location) is the way.
    pub answers_files: bool,
    /// Its certificates and keys, absolute where they are files.
    pub certificates: Vec<(String, String)>,
    /// Sentences about what of the site is not asked, and what may answer in place of the files.
    pub said: Vec<String>,
    /// Its place among those of the configuration.
    pub(crate) index: usize,
}
