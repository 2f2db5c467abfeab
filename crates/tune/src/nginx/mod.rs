//! Configurations of nginx: read from what `nginx -T` prints, copied for a trial beside the live
//! server, changed line by line, and the changes as a diff.
//!
//! ```
//! use zc_tune::Change;
//! use zc_tune::nginx::{Config, Shadow};
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
mod context;
mod copy;
mod diff;
mod dump;
mod gather;
mod glob;
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
mod tls;
mod tree;
mod upstream;

pub(crate) use build::argument as build_argument;
pub use build::conf_path;
pub use copy::Copy;
pub use gather::{Files, gather};
pub(crate) use lex::{End, Fault, Lexer};
pub(crate) use listen::name as parameter_name;
pub use render::render;
pub use shadow::{OWN_LOCATION, Shadow};
pub use site::{Scheme, Site};
pub use tree::{Config, Directive, File};
