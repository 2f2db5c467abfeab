//! Changes of a JSON document, derived from the fuzzer's bytes. A document that begins valid and
//! has a few of them gets past the parser, where random bytes end.

use arbitrary::Arbitrary;
use serde_json::{Value, json};

/// Begins every text that a change puts in: no report of text from outside may have it unescaped.
pub const CANARY: &str = "<zq onload=\"'";

/// A text in place of another.
#[derive(Debug, Clone, Arbitrary)]
pub enum ForeignText {
    Hostile,
    Text(String),
    /// As long as nothing should be.
    Long(u8),
}

impl ForeignText {
    /// The text.
    pub fn text(&self) -> String {
        match self {
            Self::Hostile => HOSTILE.to_owned(),
            Self::Text(text) => format!("{HOSTILE}{text}"),
            Self::Long(letter) => char::from(*letter).to_string().repeat(5000),
        }
    }
}

/// Text that would be markup, move the cursor, or be a second line if it were not escaped.
const HOSTILE: &str =
    "<zq onload=\"' &amp;\u{1b}[2J\u{9b}2J\u{202e}\r\n| a | `b` | \"c\" \\ ,=1+1 -->]]>";

/// One change.
#[derive(Debug, Clone, Arbitrary)]
pub struct Edit {
    /// At each level of the document, which child is next; the place is where a leaf is reached, or
    /// where the list ends.
    path: Path,
    change: Change,
}

/// Up to eight steps into a document.
#[derive(Debug, Clone, Arbitrary)]
struct Path {
    steps: [u8; 8],
    depth: u8,
}

#[derive(Debug, Clone, Arbitrary)]
enum Change {
    /// A number that has a meaning for somebody.
    Known(u8),
    Integer(i64),
    Small(i16),
    /// Multiplies a number.
    Times(f32),
    Real(f64),
    /// A word of the format.
    Word(u8),
    Text(String),
    Hostile,
    Other(u8),
    Remove,
    Twice,
    Half,
    Reverse,
    /// Many times as long.
    Longer(u8),
    /// Replaces the value by that at another place.
    From(Path),
    /// Exchanges the value and that at another place.
    Swap(Path),
    /// Gives a member of an object another name.
    Rename(u8),
}

const NUMBERS: &[f64] = &[
    0.0, 1.0, -1.0, 0.5, 1e-9, 1e9, 1e18, 1e300, -1e300, 5e-324, 2.0, 7.0, 100.0, 1024.0, 65536.0,
];

const INTEGERS: &[i128] = &[
    0,
    1,
    -1,
    255,
    256,
    1000,
    u32::MAX as i128,
    u32::MAX as i128 + 1,
    i64::MAX as i128,
    i64::MIN as i128,
    u64::MAX as i128,
    1 << 53,
    10_000_000,
    80_000_000,
];

/// Names and labels that runs, plans and messages use.
const WORDS: &[&str] = &[
    "",
    "read+send",
    "read+send (A/A)",
    "read+send (+burn)",
    "sendfile",
    "splice",
    "msg-zerocopy",
    "read+write",
    "uring-send",
    "recv",
    "A",
    "B",
    "in both",
    "null",
    "veth",
    "loopback",
    "remote",
    "soaked",
    "paced",
    "top-speed",
    "unsoaked-control",
    "unsoaked-paced",
    "paths",
    "sizes",
    "sockbuf",
    "profile",
    "cork",
    "offloads",
    "message",
    "send",
    "state",
    "mtu",
    "flows",
    "cubic",
    "steal",
    "idle-drift",
    "foreign",
    "budget-spent",
    "converged",
    "interrupted",
    "tcp_sendmsg",
    "NET_RX",
    "2026-11-25T14:30:00Z",
    "9999-12-31T23:59:59Z",
    "zc",
    "3",
    "-0",
    "1e400",
    "auto",
    "in-turn",
    "kernel",
    "iperf3",
    "discard",
    "usage",
    "remote",
    "failed",
    "note",
    "doubt",
];

impl Edit {
    /// Makes the change, where the document has such a place.
    pub fn apply(&self, document: &mut Value) {
        match &self.change {
            Change::From(other) => {
                let value = other.find(document).clone();
                if size(&value) < 20_000 {
                    *self.path.find_mut(document) = value;
                }
            }
            Change::Swap(other) => {
                let theirs = other.find(document).clone();
                let ours = std::mem::replace(self.path.find_mut(document), theirs);
                if size(&ours) < 20_000 {
                    *other.find_mut(document) = ours;
                }
            }
            Change::Remove | Change::Twice | Change::Rename(_) => self.change_parent(document),
            _ => self.change_value(self.path.find_mut(document)),
        }
    }

    /// Changes a member of the object, or an element of the list, at the place before the last
    /// step.
    fn change_parent(&self, document: &mut Value) {
        let depth = usize::from(self.path.depth % 9);
        let Some(last) = depth.checked_sub(1) else { return };
        let step = usize::from(self.path.steps[last]);
        let path = Path { depth: last as u8, ..self.path.clone() };
        match path.find_mut(document) {
            Value::Object(map) if !map.is_empty() => {
                let Some(key) = map.keys().nth(step % map.len()).cloned() else { return };
                match &self.change {
                    Change::Remove => drop(map.remove(&key)),
                    Change::Rename(word) => {
                        if let Some(value) = map.remove(&key) {
                            map.insert(pick(WORDS, *word).to_owned(), value);
                        }
                    }
                    _ => {}
                }
            }
            Value::Array(all) if !all.is_empty() => {
                let place = step % all.len();
                match self.change {
                    Change::Remove => drop(all.remove(place)),
                    Change::Twice if all.len() < 4096 => all.insert(place, all[place].clone()),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn change_value(&self, value: &mut Value) {
        let number =
            |number: f64| serde_json::Number::from_f64(number).map_or(json!(0), Value::Number);
        match &self.change {
            Change::Known(which) => {
                let which = usize::from(*which);
                *value = match INTEGERS.get(which % (INTEGERS.len() + NUMBERS.len())) {
                    Some(&integer) => u64::try_from(integer)
                        .map_or_else(|_| json!(integer as i64), |integer| json!(integer)),
                    None => number(NUMBERS[which % NUMBERS.len()]),
                };
            }
            Change::Integer(integer) => *value = json!(integer),
            Change::Small(integer) => *value = json!(integer),
            Change::Real(real) => *value = number(*real),
            Change::Times(factor) => {
                if let Some(old) = value.as_i64() {
                    *value = json!((old as f64 * f64::from(*factor)) as i64);
                } else if let Some(old) = value.as_f64() {
                    *value = number(old * f64::from(*factor));
                }
            }
            Change::Word(word) => *value = json!(pick(WORDS, *word)),
            Change::Text(text) => *value = json!(format!("{CANARY}{text}")),
            Change::Hostile => *value = json!(HOSTILE),
            Change::Other(which) => {
                *value = match which % 8 {
                    0 => Value::Null,
                    1 => json!(true),
                    2 => json!(false),
                    3 => json!([]),
                    4 => json!({}),
                    5 => json!([[[]]]),
                    6 => json!([HOSTILE]),
                    _ => json!({HOSTILE: [1, 2, 3]}),
                }
            }
            Change::Half => match value {
                Value::Array(all) => all.truncate(all.len() / 2),
                Value::String(text) => *text = text.chars().take(text.len() / 2).collect(),
                _ => {}
            },
            Change::Reverse => match value {
                Value::Array(all) => all.reverse(),
                Value::Number(old) => *value = json!(old.as_i64().map_or(-1, i64::wrapping_neg)),
                Value::Bool(old) => *old = !*old,
                _ => {}
            },
            Change::Longer(times) => {
                let times = usize::from(*times % 32) + 1;
                match value {
                    Value::Array(all)
                        if all.len() * times < 2048 && size_of_all(all) * times < 20_000 =>
                    {
                        *all = std::iter::repeat_n(&*all, times).flatten().cloned().collect();
                    }
                    Value::String(text) if text.len() < 1000 => *text = text.repeat(times),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

impl Path {
    fn find<'a>(&self, mut value: &'a Value) -> &'a Value {
        for &step in self.steps.iter().take(usize::from(self.depth % 9)) {
            let step = usize::from(step);
            value = match value {
                Value::Object(map) if !map.is_empty() => {
                    map.values().nth(step % map.len()).unwrap_or(&Value::Null)
                }
                Value::Array(all) if !all.is_empty() => &all[step % all.len()],
                _ => return value,
            }
        }
        value
    }

    fn find_mut<'a>(&self, mut value: &'a mut Value) -> &'a mut Value {
        for &step in self.steps.iter().take(usize::from(self.depth % 9)) {
            let step = usize::from(step);
            let leaf = match value {
                Value::Object(map) => map.is_empty(),
                Value::Array(all) => all.is_empty(),
                _ => true,
            };
            if leaf {
                return value;
            }
            value = match value {
                Value::Object(map) => {
                    let place = step % map.len();
                    map.values_mut().nth(place).expect("it has that many")
                }
                Value::Array(all) => {
                    let place = step % all.len();
                    &mut all[place]
                }
                _ => unreachable!("it is a leaf"),
            }
        }
        value
    }
}

fn pick<T: Copy>(all: &[T], which: u8) -> T {
    all[usize::from(which) % all.len()]
}

/// About how many values a value consists of: an input must not grow without limit.
fn size(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        Value::Array(all) => 1 + size_of_all(all),
        Value::String(text) => 1 + text.len() / 16,
        _ => 1,
    }
}

fn size_of_all(all: &[Value]) -> usize {
    all.iter().map(size).sum()
}
