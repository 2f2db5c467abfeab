//! Takes the values of some keys out of a JSON object, borrowed from the line. Everything else is
//! parsed and dropped, so that a line counts as readable only if it is JSON to its end.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::key::Key;

/// A value that is neither an object nor a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar<'l> {
    Text(Cow<'l, str>),
    Unsigned(u64),
    Float(f64),
    /// A boolean, a negative whole number, an object or a list.
    Other,
}

impl Scalar<'_> {
    /// The value as text: numbers in decimal.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Unsigned(number) => Cow::Owned(number.to_string()),
            // 17.0, as some programs write whole numbers.
            Self::Float(number) => Cow::Owned(number.to_string()),
            Self::Other => Cow::Borrowed(""),
        }
    }
}

/// The values of these keys; those that are not there, or null, are `None`. `None` if the line is
/// no object.
pub(super) fn scalars<'l>(line: &'l [u8], keys: &[Key]) -> Option<Vec<Option<Scalar<'l>>>> {
    let mut found = vec![None; keys.len()];
    let wanted: Vec<_> = keys.iter().map(|key| key.path.as_str()).enumerate().collect();
    let mut json = serde_json::Deserializer::from_slice(line);
    let object = Object { wanted: &wanted, found: &mut found };
    json.deserialize_map(object).and_then(|()| json.end()).ok()?;
    Some(found)
}

/// An object of which some keys are wanted: each with its place among `found`, and its path from
/// here.
struct Object<'a, 'l> {
    wanted: &'a [(usize, &'a str)],
    found: &'a mut Vec<Option<Scalar<'l>>>,
}

impl<'l> Visitor<'l> for Object<'_, 'l> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'l>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Name<'l>>()? {
            let key = key.0.as_ref();
            let here = self.wanted.iter().find(|(_, path)| *path == key).map(|(place, _)| *place);
            let below = self.wanted.iter().any(|(_, path)| inside(path, key).is_some());
            match (here, below) {
                (None, false) => {
                    map.next_value::<IgnoredAny>()?;
                }
                (here, _) => {
                    let below: Vec<_> = self
                        .wanted
                        .iter()
                        .filter_map(|(place, path)| Some((*place, inside(path, key)?)))
                        .collect();
                    let value = Value { wanted: &below, found: &mut *self.found };
                    let scalar = map.next_value_seed(value)?;
                    if let Some(here) = here {
                        self.found[here] = scalar;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The rest of a path whose first name is `key`.
fn inside<'p>(path: &'p str, key: &str) -> Option<&'p str> {
    path.strip_prefix(key)?.strip_prefix('.')
}

/// A key of an object.
struct Name<'l>(Cow<'l, str>);

impl<'l> serde::Deserialize<'l> for Name<'l> {
    fn deserialize<D: Deserializer<'l>>(from: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'l> Visitor<'l> for Text {
            type Value = Name<'l>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, name: &'l str) -> Result<Name<'l>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Name<'l>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }
        }
        from.deserialize_str(Text)
    }
}

/// A value that is wanted, or an object in which some are.
struct Value<'a, 'l> {
    wanted: &'a [(usize, &'a str)],
    found: &'a mut Vec<Option<Scalar<'l>>>,
}

impl<'l> DeserializeSeed<'l> for Value<'_, 'l> {
    type Value = Option<Scalar<'l>>;

    fn deserialize<D: Deserializer<'l>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'l> Visitor<'l> for Value<'_, 'l> {
    type Value = Option<Scalar<'l>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Some(Scalar::Other))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(Scalar::Unsigned(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(u64::try_from(number).map_or(Scalar::Other, Scalar::Unsigned)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(Scalar::Float(number)))
    }

    fn visit_borrowed_str<E>(self, text: &'l str) -> Result<Self::Value, E> {
        Ok(Some(Scalar::Text(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Scalar::Text(Cow::Owned(text.to_owned()))))
    }

    fn visit_map<A: MapAccess<'l>>(self, map: A) -> Result<Self::Value, A::Error> {
        Object { wanted: self.wanted, found: self.found }.visit_map(map)?;
        Ok(Some(Scalar::Other))
    }

    fn visit_seq<A: SeqAccess<'l>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Some(Scalar::Other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::key::Role;
    use super::*;

    fn values_at<'l>(line: &'l str, paths: &[&str]) -> Option<Vec<Option<Scalar<'l>>>> {
        let key = |path: &&str| Key { path: (*path).to_owned(), role: Role::Time };
        scalars(line.as_bytes(), &paths.iter().map(key).collect::<Vec<_>>())
    }

    #[test]
    fn keys_are_found_wherever_they_are() {
        let line =
            r#"{"a":"x","b":{"c":2,"d":{"e":-1}},"b.f":2.5,"g":null,"h":[{"a":3}],"i":"\u0041"}"#;
        let found = values_at(line, &["a", "b.c", "b.d.e", "b.f", "g", "h", "i", "b"]).unwrap();
        assert_eq!(
            found,
            [
                Some(Scalar::Text("x".into())),
                Some(Scalar::Unsigned(2)),
                Some(Scalar::Other),
                Some(Scalar::Float(2.5)),
                None,
                Some(Scalar::Other),
                Some(Scalar::Text("A".into())),
                Some(Scalar::Other),
            ]
        );
        assert!(matches!(found[0], Some(Scalar::Text(Cow::Borrowed(_)))));
    }

    #[test]
    fn what_is_no_object_to_its_end_is_refused() {
        for none in ["", "[]", "1", "{", "{\"a\":1} x", "{\"a\":}", "{a:1}"] {
            assert_eq!(values_at(none, &["a"]), None, "{none}");
        }
        let deep = "{\"b\":".repeat(100_000);
        assert_eq!(values_at(&deep, &["b.b.b"]), None);
    }

    proptest! {
        #[test]
        fn whatever_it_is_it_is_an_object_or_none(line in "[{}\\[\\]\",:ab.0-9eE+-]{0,60}") {
            let expected = serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(&line);
            prop_assert_eq!(values_at(&line, &["a", "b.a"]).is_some(), expected.is_ok());
        }
    }
}
