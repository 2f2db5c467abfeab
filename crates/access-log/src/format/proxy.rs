//! The text formats that Traefik and Envoy write if they are not told otherwise. Both are of one
//! fixed form.

use super::error::FormatError;
use super::template::{Field, Piece, Template};
use crate::entry::Stamp;

const MS_US: u64 = 1000;

/// Traefik's `common`: Apache's `combined`, and behind it the number of the request, the router, the
/// server's URL and the duration, `12ms`. Bytes are those of the body.
/// <https://doc.traefik.io/traefik/observability/access-logs/>
pub(super) fn traefik() -> Result<Template, FormatError> {
    let mut pieces = vec![
        Piece::Field(Field::Skipped),
        literal(" - "),
        Piece::Field(Field::Skipped),
        literal(" ["),
        Piece::Field(Field::ClfTime),
        literal("] \""),
        Piece::Field(Field::Request),
        literal("\" "),
        Piece::Field(Field::Status),
        literal(" "),
        Piece::Field(Field::Body),
    ];
    for between in [" \"", "\" \"", "\" ", " \"", "\" \""] {
        pieces.extend([literal(between), Piece::Field(Field::Skipped)]);
    }
    pieces.extend([
        literal("\" "),
        Piece::Field(Field::Duration { unit_us: MS_US }),
        literal("ms"),
    ]);
    Template::new(pieces, Stamp::Begin)
}

/// Envoy's default format. `%BYTES_SENT%` is the body of the response, `%DURATION%` in ms from the
/// request's first byte to the response's last.
/// <https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage>
pub(super) fn envoy() -> Result<Template, FormatError> {
    let mut pieces = vec![
        literal("["),
        Piece::Field(Field::IsoTime),
        literal("] \""),
        Piece::Field(Field::Request),
        literal("\" "),
        Piece::Field(Field::Status),
        literal(" "),
        Piece::Field(Field::Skipped), // response flags
        literal(" "),
        Piece::Field(Field::Skipped), // bytes received
        literal(" "),
        Piece::Field(Field::Body),
        literal(" "),
        Piece::Field(Field::Duration { unit_us: MS_US }),
    ];
    for between in [" ", " \"", "\" \"", "\" \"", "\" \"", "\" \""] {
        pieces.extend([literal(between), Piece::Field(Field::Skipped)]);
    }
    pieces.push(literal("\""));
    Template::new(pieces, Stamp::Begin)
}

fn literal(text: &str) -> Piece {
    Piece::Literal(text.to_owned())
}
