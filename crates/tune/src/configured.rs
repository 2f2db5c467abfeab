//! What is asked of the configuration of any server: the seam between servers and whoever measures
//! copies of them.

use zc_run::Result;

use crate::candidate::{Candidate, Change, Facts, Offer};
use crate::copy::{Copy, Shadow};
use crate::site::Site;

/// A configuration that was read, with the site of it that is tried.
pub trait Configured {
    /// The site.
    fn site(&self) -> &Site;

    /// The lines worth a try for the site, and what is not tried.
    fn candidates(&self, facts: &Facts) -> Vec<Offer>;

    /// The candidate that a line of the operator's own describes.
    ///
    /// # Errors
    /// Usage: the line is no single directive, or one that cannot be tried.
    fn try_line(&self, line: &str, facts: &Facts) -> Result<Candidate>;

    /// A configuration that serves the site beside the live server, with `changes`.
    fn copy(&self, shadow: &Shadow, changes: &[&Change]) -> Copy;

    /// Changes as a unified diff, with the path of each file from `path_of`: where links lead to.
    fn diff(&self, changes: &[&Change], path_of: &dyn Fn(&str) -> String) -> String;

    /// The line with which the site would speak HTTP/2.
    fn http2_line(&self) -> &'static str;

    /// The requests after which the server ends a connection by HTTP/2, and the directive that
    /// says so; `None`: it ends none.
    fn http2_requests(&self) -> Option<(&'static str, u64)>;

    /// The user and the group of the workers that the configuration names.
    fn user(&self) -> Option<(String, String)>;
}
