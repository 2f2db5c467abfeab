//! The formats of access logs: their names, and what reads a line of each.

mod apache;
mod elb;
mod error;
mod haproxy;
mod json;
mod nginx;
mod proxy;
mod reading;
mod s3;
mod scheme;
mod squid;
mod template;
mod w3c;
mod written_time;

use super::entry::Stamp;
pub use error::FormatError;
pub use json::Fields;
use json::Json;
pub(crate) use reading::Extent;
pub use reading::{DurationUnit, Reading};
use template::Template;
use w3c::{W3c, Writer};

/// A format, with what reading it has to remember.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    name: &'static str,
    parser: Parser,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Parser {
    Template(Template),
    Json(Json),
    W3c(W3c),
    HaProxy,
    Elb,
    S3,
    Squid,
}

/// A format that has a name.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// The name that `--format` takes.
    pub name: &'static str,
    /// Whether it is tried only if no other format fits: its names say too little.
    pub(crate) is_last_resort: bool,
    parser: fn() -> Parser,
}

impl Known {
    /// A format that reads it.
    pub fn format(&self) -> Format {
        Format { name: self.name, parser: (self.parser)() }
    }
}

macro_rules! known {
    ($($name:literal, $parser:expr;)*) => {
        &[$(Known {
            name: $name,
            is_last_resort: matches!($name.as_bytes(), b"json"),
            parser: || $parser,
        }),*]
    };
}

/// All formats that have a name. Where two read the same of a line, the first counts.
pub const KNOWN: &[Known] = known! {
    "vhost_combined", template(apache::named_format(apache::VHOST_COMBINED));
    "combined", template(apache::named_format(apache::COMBINED));
    "common", template(apache::named_format(apache::COMMON));
    "nginx-main", template(nginx::log_format(nginx::MAIN));
    "ingress-nginx", template(nginx::log_format(nginx::INGRESS));
    "nginx-json", json(json::nginx());
    "caddy", json(json::caddy());
    "haproxy", Parser::HaProxy;
    "envoy", template(proxy::envoy());
    "istio", template(proxy::istio());
    "envoy-json", json(json::envoy());
    "traefik", template(proxy::traefik());
    "traefik-json", json(json::traefik());
    "squid", Parser::Squid;
    "s3", Parser::S3;
    "elb", Parser::Elb;
    "cloudfront", w3c(Writer::CloudFront);
    "google-cloud", json(json::google_cloud());
    "iis", w3c(Writer::Iis);
    "w3c", w3c(Writer::Other);
    "json", json(json::common_names());
};

fn template(template: Result<Template, FormatError>) -> Parser {
    Parser::Template(template.expect("the descriptions in this crate are valid, as a test holds"))
}

fn json(dialect: json::Dialect) -> Parser {
    Parser::Json(Json::new(dialect))
}

fn w3c(writer: Writer) -> Parser {
    Parser::W3c(W3c::new(writer))
}

impl Format {
    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        KNOWN.iter().find(|known| known.name == name).map(Known::format)
    }

    /// The format that an nginx `log_format` (`$remote_addr - ...`) or an Apache `LogFormat`
    /// (`%h %l ...`) describes. `None` if the text is neither.
    ///
    /// # Errors
    /// The description cannot be used.
    pub fn described(text: &str) -> Option<Result<Self, FormatError>> {
        let (name, template) = if text.contains('$') {
            ("log_format", nginx::log_format(text))
        } else if text.contains('%') {
            ("LogFormat", apache::log_format(text))
        } else {
            return None;
        };
        Some(template.map(|template| Self { name, parser: Parser::Template(template) }))
    }

    /// This format, if it is one of JSON, with keys that were named.
    pub fn with_fields(mut self, fields: &Fields) -> Option<Self> {
        match &mut self.parser {
            Parser::Json(json) => json.prepend_keys(fields),
            _ => return None,
        }
        Some(self)
    }

    /// Its name: that of [`KNOWN`], or `log_format` or `LogFormat` for one that was described.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The moment of a request that the time of a line is of.
    pub fn stamp(&self) -> Stamp {
        match &self.parser {
            Parser::Template(template) => template.stamp,
            Parser::Json(json) => json.stamp,
            Parser::HaProxy | Parser::S3 => Stamp::Begin,
            Parser::W3c(_) | Parser::Elb | Parser::Squid => Stamp::End,
        }
    }

    /// Reads a line, without its end.
    pub fn read(&mut self, line: &[u8]) -> Reading {
        match &mut self.parser {
            Parser::Template(template) => template.read(line),
            Parser::Json(json) => json.read(line),
            Parser::W3c(w3c) => w3c.read(line),
            Parser::HaProxy => haproxy::read(line),
            Parser::Elb => elb::read(line),
            Parser::S3 => s3::read(line),
            Parser::Squid => squid::read(line),
        }
    }

    /// The part of a readable line that matches this format.
    pub(crate) fn extent(&self, line: &[u8]) -> Extent {
        match &self.parser {
            Parser::Template(template) => template.extent(line),
            _ => Extent::Whole,
        }
    }

    /// The same as an nginx `log_format`, if nginx writes it.
    pub(crate) fn as_log_format(&self) -> Option<&'static str> {
        match self.name {
            "common" => Some(nginx::COMMON),
            "combined" => Some(nginx::COMBINED),
            "nginx-main" => Some(nginx::MAIN),
            _ => None,
        }
    }

    /// The rest of a line behind all fields of this format.
    pub(crate) fn behind<'l>(&self, line: &'l [u8]) -> Option<&'l [u8]> {
        match self.extent(line) {
            Extent::Beginning { bytes } => line.get(bytes..),
            Extent::Whole | Extent::Part => None,
        }
    }

    /// Whether a line is of this format to its end.
    pub(crate) fn reads_whole(&self, line: &[u8]) -> bool {
        self.extent(line) == Extent::Whole
    }

    /// Finds what is a setting of the server by the first lines.
    pub(crate) fn detect_settings(&mut self, lines: &[&[u8]]) {
        if let Parser::Json(json) = &mut self.parser {
            json.detect_unit(lines);
        }
    }

    /// The unit of durations.
    pub(crate) fn durations(&self) -> DurationUnit {
        match &self.parser {
            Parser::Json(json) => json.durations,
            _ => DurationUnit::OfFormat,
        }
    }

    /// The keys of [`Fields`] without a value on any line that was read.
    pub(crate) fn without_value(&self) -> Vec<String> {
        match &self.parser {
            Parser::Json(json) => json.without_value(),
            _ => Vec::new(),
        }
    }

    /// A column that the log must have, and has not by its own heading.
    pub(crate) fn lacks(&self) -> Option<&'static str> {
        match &self.parser {
            Parser::W3c(w3c) => w3c.lacks(),
            _ => None,
        }
    }
}
