//! Files for a mix of requests ([`zc_access_log::AskedMix`]), and the requests for them: files of
//! zc's own, as long as the mix has them, or those of a site that come nearest.

mod requests;
mod rooted;
mod served_file;
mod sizes;
mod written;

pub use requests::MixFiles;
pub use rooted::mix_of_root;
pub(super) use served_file::http_date;
pub use written::write_mix;
