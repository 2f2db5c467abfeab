//! Encodings of the values of a page. <https://parquet.apache.org/docs/file-format/data-pages/encodings/>

use std::collections::HashMap;

use super::thrift::varint;

/// Values of a column, each once, and the place of each line's value among them.
pub(super) struct Dictionary {
    /// The values, one after the other.
    pub(super) entries: Vec<u8>,
    pub(super) count: usize,
    /// The width of a place in bits, and the places.
    pub(super) places: Vec<u8>,
}

impl Dictionary {
    /// The dictionary of these values, if it is smaller than they are.
    pub(super) fn if_smaller(values: &[Vec<u8>]) -> Option<Self> {
        let mut place_of = HashMap::new();
        let mut entries = Vec::new();
        let places: Vec<u32> = values
            .iter()
            .map(|value| {
                let next = u32::try_from(place_of.len()).expect("fewer values than 2^32");
                *place_of.entry(value).or_insert_with(|| {
                    entries.extend(value);
                    next
                })
            })
            .collect();
        let count = place_of.len();
        let width = (u32::BITS - (u32::try_from(count).ok()?.max(2) - 1).leading_zeros()).max(1);
        let mut places_of_lines = vec![u8::try_from(width).expect("at most 32")];
        places_of_lines.extend(runs(&places, width));
        let size: usize = values.iter().map(Vec::len).sum();
        (entries.len() + places_of_lines.len() < size).then_some(Self {
            entries,
            count,
            places: places_of_lines,
        })
    }
}

/// Numbers of so many bits: eight or more that are the same as one with their count, and others
/// packed by eights (`RLE`, the hybrid of both).
pub(super) fn runs(numbers: &[u32], width: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while at < numbers.len() {
        let same = numbers[at..].iter().take_while(|number| **number == numbers[at]).count();
        if same < 8 {
            at = numbers.len().min(at + 8);
            continue;
        }
        packed_run(&numbers[begin..at], width, &mut out);
        out.extend(varint((same as u64) << 1));
        out.extend(&numbers[at].to_le_bytes()[..width.div_ceil(8) as usize]);
        at += same;
        begin = at;
    }
    packed_run(&numbers[begin..], width, &mut out);
    out
}

fn packed_run(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    if !numbers.is_empty() {
        out.extend(varint((numbers.len().div_ceil(8) as u64) << 1 | 1));
        out.extend(packed(numbers, width));
    }
}

/// Numbers of so many bits, the lowest bit first, and zeros up to a multiple of eight numbers.
pub(super) fn packed(numbers: &[u32], width: u32) -> Vec<u8> {
    let mut out = Vec::new();
    for eight in numbers.chunks(8) {
        // 8 numbers of 32 bits are 256 bits.
        let (mut bits, mut filled) = (0_u64, 0);
        for at in 0..8 {
            bits |= u64::from(eight.get(at).copied().unwrap_or(0)) << filled;
            filled += width;
            while filled >= 8 {
                out.push(bits.to_le_bytes()[0]);
                bits >>= 8;
                filled -= 8;
            }
        }
    }
    out
}
