//! Detects the format of a log from its first lines.

use super::format::{Extent, Format, KNOWN, Known, Reading};
use super::summary::Unusable;

/// Number of lines that are examined.
pub(crate) const SAMPLE_LINES: usize = 100;

/// Number of their bytes that are kept.
pub(crate) const SAMPLE_BYTES: usize = 1 << 20;

/// Fit of a format to a sample.
struct Fit {
    known: &'static Known,
    /// The format, with the settings found in the sample.
    format: Format,
    readings: Vec<Reading>,
    /// Lines that are of the format from their beginning to their end.
    whole: usize,
    /// Lines that begin like the format, and the number of their bytes that match it.
    begun: usize,
    begun_bytes: usize,
    /// Lines whose needed fields could be read.
    read: usize,
}

impl Fit {
    fn measure(known: &'static Known, sample: &[&[u8]]) -> Self {
        let mut format = known.format();
        let (mut whole, mut begun, mut begun_bytes, mut read) = (0, 0, 0, 0);
        let mut readings = Vec::with_capacity(sample.len());
        for line in sample {
            let reading = format.read(line);
            readings.push(reading);
            if !matches!(reading, Reading::Entry(_)) {
                continue;
            }
            read += 1;
            match format.extent(line) {
                Extent::Whole => whole += 1,
                Extent::Beginning { bytes } => {
                    begun += 1;
                    begun_bytes += bytes;
                }
                Extent::Part => {}
            }
        }
        Self { known, format, readings, whole, begun, begun_bytes, read }
    }

    /// Ranks by whole lines first, so that `combined` is not read as `common`; then by how much of
    /// the lines is explained, so that `combined` with a field behind it is not either.
    fn rank(&self) -> (bool, usize, usize, usize, usize) {
        (!self.known.is_last_resort, self.whole, self.begun, self.begun_bytes, self.read)
    }
}

/// The format of a log that begins with these lines.
///
/// # Errors
/// - [`Unusable::Empty`]: they have nothing, or nothing but a heading.
/// - [`Unusable::Unknown`]: no format has an entry in at least a tenth of them.
/// - [`Unusable::Ambiguous`]: two formats fit equally, and take different things from these lines.
/// - [`Unusable::Lacks`]: the log's own heading lacks what must be there.
pub(crate) fn format_of(sample: &[&[u8]]) -> Result<Format, Unusable> {
    let mut fits: Vec<Fit> = KNOWN.iter().map(|known| Fit::measure(known, sample)).collect();
    if let Some(lacking) = fits.iter().find_map(|fit| {
        let column = fit.format.lacks()?;
        Some(Unusable::Lacks { format: fit.known.name, column })
    }) {
        return Err(lacking);
    }
    let is_aside = |fit: &Fit| fit.readings.iter().all(|reading| *reading == Reading::Aside);
    if fits.iter().any(is_aside) {
        return Err(Unusable::Empty);
    }
    fits.retain(|fit| fit.read > 0 && 10 * fit.read >= sample.len());
    let best_rank = fits.iter().map(Fit::rank).max();
    let mut best = fits.iter().filter(|fit| Some(fit.rank()) == best_rank);
    let Some(first) = best.next() else { return Err(Unusable::Unknown) };
    let others: Vec<_> =
        best.filter(|fit| fit.readings != first.readings).map(|fit| fit.known.name).collect();
    if others.is_empty() {
        Ok(first.known.format())
    } else {
        Err(Unusable::Ambiguous([vec![first.known.name], others].concat()))
    }
}
