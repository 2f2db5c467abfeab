//! Configurations of nginx: read from what `nginx -T` prints, copied for a trial beside the live
//! server, changed line by line, and the changes as a diff.
//!
//! ```
//! use zc_tune::nginx::Config;
//! use zc_tune::{Change, Shadow};
//!
//! let dump = "# configuration file /etc/nginx/nginx.conf:
//! events {}
//! http {
//!     sendfile on;
//!     server { listen 80; root /var/www; }
//! }
//! ";
//! let config = Config::parse(dump).unwrap();
//! let site = config.site(None).unwrap();
//! assert_eq!(config.in_effect(&site, "sendfile").unwrap().words(), "sendfile on");
//! let off = Change::Directive { name: "sendfile".into(), args: vec!["off".into()] };
//! let shadow = Shadow { folder: "/tmp/x".into(), port: 8001, ..Shadow::default() };
//! let copy = config.copy(&site, &shadow, &[&off]);
//! assert!(copy.text.contains("sendfile off;"));
//! assert!(config.diff(&site, &[&off]).contains("-    sendfile on;\n+    sendfile off;\n"));
//! ```

mod answer;
mod build;
mod change;
mod configured;
mod context;
mod copy;
mod diff;
mod dump;
mod gather;
mod lex;
mod listen;
mod logs;
mod lua;
mod one_listen;
mod outside;
mod own_location;
mod parse;
mod paths;
mod render;
mod select;
mod server_name;
mod shadow;
mod site;
mod table;
mod tls;
mod tree;
mod try_line;
mod upstream;

pub use build::conf_path;
pub use configured::Nginx;
pub use gather::gather;
pub use render::render;
pub use table::candidates;
pub use tree::{Config, Directive};
pub use try_line::try_line;
