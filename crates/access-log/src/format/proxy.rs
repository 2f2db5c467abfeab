//! The text formats that Traefik, Envoy and Istio write by default. Each has one fixed form.

use super::error::FormatError;
use super::template::{Field, Piece, Template};
use crate::entry::{Counted, Stamp};

const MS_US: u64 = 1000;

/// Traefik's `common`: Apache's `combined`, and behind it the number of the request, the router,
/// the server's URL and the duration, `12ms`. Bytes are those of the body.
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
        Piece::Field(Field::Bytes { counted: Counted::Body, may_be_dash: true }),
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

/// Envoy's default format.
const ENVOY: &str = "[%START_TIME%] \"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% \
                     %PROTOCOL%\" %RESPONSE_CODE% %RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% \
                     %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% \"%REQ(X-FORWARDED-FOR)%\" \
                     \"%REQ(USER-AGENT)%\" \"%REQ(X-REQUEST-ID)%\" \"%REQ(:AUTHORITY)%\" \
                     \"%UPSTREAM_HOST%\"";

/// The format that Istio sets.
/// <https://istio.io/latest/docs/tasks/observability/logs/access-log/>
const ISTIO: &str = "[%START_TIME%] \"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% \
                     %PROTOCOL%\" %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% \
                     %CONNECTION_TERMINATION_DETAILS% \"%UPSTREAM_TRANSPORT_FAILURE_REASON%\" \
                     %BYTES_RECEIVED% %BYTES_SENT% %DURATION% \
                     %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% \"%REQ(X-FORWARDED-FOR)%\" \
                     \"%REQ(USER-AGENT)%\" \"%REQ(X-REQUEST-ID)%\" \"%REQ(:AUTHORITY)%\" \
                     \"%UPSTREAM_HOST%\" %UPSTREAM_CLUSTER_RAW% %UPSTREAM_LOCAL_ADDRESS% \
                     %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% \
                     %REQUESTED_SERVER_NAME% %ROUTE_NAME%";

pub(super) fn envoy() -> Result<Template, FormatError> {
    envoy_format(ENVOY)
}

pub(super) fn istio() -> Result<Template, FormatError> {
    envoy_format(ISTIO)
}

/// A format of Envoy's: text with operators between percent signs. `%BYTES_SENT%` is the body of
/// the response, `%DURATION%` in ms from the request's first byte to the response's last.
/// <https://www.envoyproxy.io/docs/envoy/latest/configuration/observability/access_log/usage>
fn envoy_format(text: &str) -> Result<Template, FormatError> {
    let pieces = text.split('%').enumerate().filter(|(_, part)| !part.is_empty());
    let pieces = pieces.map(|(place, part)| match (place % 2, part) {
        (0, text) => literal(text),
        (_, "START_TIME") => Piece::Field(Field::IsoTime),
        (_, "REQ(:METHOD)") => Piece::Field(Field::Method),
        (_, "PROTOCOL") => Piece::Field(Field::Protocol),
        (_, "RESPONSE_CODE") => Piece::Field(Field::Status),
        (_, "BYTES_SENT") => Piece::Field(Field::BODY),
        (_, "DURATION") => Piece::Field(Field::Duration { unit_us: MS_US }),
        _ => Piece::Field(Field::Skipped),
    });
    Template::new(pieces.collect(), Stamp::Begin)
}

fn literal(text: &str) -> Piece {
    Piece::Literal(text.to_owned())
}
