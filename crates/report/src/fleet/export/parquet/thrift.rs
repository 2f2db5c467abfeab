//! Structs in Thrift's compact protocol, in which Parquet keeps what it says about its data.
//! <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct, to which fields are added in the order of their numbers.
#[derive(Default)]
pub(super) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    pub(super) fn flag(self, number: u8, value: bool) -> Self {
        self.field(number, if value { TRUE } else { FALSE }, &[])
    }

    pub(super) fn int(self, number: u8, value: i32) -> Self {
        self.field(number, I32, &zigzag(value.into()))
    }

    /// An `i64` that is a number of bytes or rows.
    pub(super) fn size(self, number: u8, value: usize) -> Self {
        let value = i64::try_from(value).expect("memory is smaller than an i64");
        self.field(number, I64, &zigzag(value))
    }

    pub(super) fn text(self, number: u8, text: &str) -> Self {
        self.field(number, BINARY, &binary(text))
    }

    pub(super) fn nested(self, number: u8, nested: Struct) -> Self {
        self.field(number, STRUCT, &nested.end())
    }

    pub(super) fn ints(self, number: u8, values: &[i32]) -> Self {
        let items = values.iter().map(|&value| zigzag(value.into())).collect();
        self.list(number, I32, items)
    }

    pub(super) fn texts(self, number: u8, texts: &[&str]) -> Self {
        let items = texts.iter().map(|text| binary(text)).collect();
        self.list(number, BINARY, items)
    }

    pub(super) fn structs(self, number: u8, structs: Vec<Struct>) -> Self {
        let items = structs.into_iter().map(Struct::end).collect();
        self.list(number, STRUCT, items)
    }

    /// Its bytes.
    pub(super) fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    fn list(self, number: u8, kind: u8, items: Vec<Vec<u8>>) -> Self {
        let mut list = match items.len() {
            length @ 0..15 => vec![u8::try_from(length).expect("less than 15") << 4 | kind],
            length => [vec![0xF0 | kind], varint(length as u64)].concat(),
        };
        list.extend(items.concat());
        self.field(number, LIST, &list)
    }

    /// The header has the distance from the field before, which is less than 16 in all structs of
    /// Parquet.
    fn field(mut self, number: u8, kind: u8, value: &[u8]) -> Self {
        self.bytes.push((number - self.last) << 4 | kind);
        self.bytes.extend(value);
        self.last = number;
        self
    }
}

fn binary(text: &str) -> Vec<u8> {
    [&varint(text.len() as u64), text.as_bytes()].concat()
}

fn zigzag(value: i64) -> Vec<u8> {
    varint(((value << 1) ^ (value >> 63)).cast_unsigned())
}

/// Seven bits in each byte, the lowest first (ULEB128).
pub(super) fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
    bytes
}
