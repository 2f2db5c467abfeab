//! Does a document fit a JSON Schema? The part of
//! [draft 2020-12](https://json-schema.org/draft/2020-12) that `schemars` writes, which is what
//! `zc schema` prints. A keyword that is not known here is a panic, so that nothing passes
//! unchecked.

use serde_json::Value;

/// A JSON Schema.
pub struct Schema(pub Value);

/// The fields of a value that a schema describes, or the first fault: its place in the document, and
/// after a colon what is wrong there.
type Described<'v> = Result<Vec<&'v str>, String>;

impl Schema {
    /// Whether a document fits.
    pub fn is_valid(&self, document: &Value) -> bool {
        self.check(document).is_ok()
    }

    /// Checks a document.
    ///
    /// # Errors
    /// The first fault, after its place in the document.
    ///
    /// # Panics
    /// The schema has a keyword that is not known here, or one with a value of another type.
    pub fn check(&self, document: &Value) -> Result<(), String> {
        self.describe(&self.0, document).map(drop)
    }

    fn describe<'v>(&self, schema: &Value, value: &'v Value) -> Described<'v> {
        let Some(keywords) = schema.as_object() else {
            let fits = schema.as_bool().expect("a schema is an object or a bool");
            return if fits {
                Ok(Vec::new())
            } else {
                Err(format!(": {} is too much", brief(value)))
            };
        };
        let mut described = Vec::new();
        for (keyword, rule) in keywords {
            described.extend(self.apply(schema, keyword, rule, value)?);
        }
        // After all others.
        if schema.get("unevaluatedProperties") == Some(&Value::Bool(false)) {
            let unknown = fields(value).find(|(name, _)| !described.contains(name));
            unknown.map_or(Ok(()), |(name, _)| Err(format!(": unknown field \"{name}\"")))?;
        }
        Ok(described)
    }

    /// Applies one keyword of a schema, whose value is `rule`.
    fn apply<'v>(
        &self,
        schema: &Value,
        keyword: &str,
        rule: &Value,
        value: &'v Value,
    ) -> Described<'v> {
        let all = || rule.as_array().expect("the rule is a list");
        let item = |(index, schema), item| {
            self.describe(schema, item).map_err(|fault| format!("/{index}{fault}"))
        };
        let field = |schema, name: &'v str, value| {
            let described = self.describe(schema, value);
            described.map(|_| name).map_err(|fault| format!("/{name}{fault}"))
        };
        let fits = match keyword {
            "$schema"
            | "$defs"
            | "title"
            | "description"
            | "default"
            | "format"
            | "unevaluatedProperties" => true,
            "type" => match rule {
                Value::Array(types) => types.iter().any(|one| is_of_type(value, one)),
                one => is_of_type(value, one),
            },
            "const" => value == rule,
            "enum" => all().contains(value),
            "minimum" | "maximum" | "minItems" | "maxItems" => {
                let is_length = keyword.ends_with("Items");
                let length = value.as_array().map(|items| items.len() as f64);
                let (found, limit) =
                    (if is_length { length } else { value.as_f64() }, rule.as_f64());
                let limit = limit.expect("the rule is a number");
                let is_least = keyword.starts_with("min");
                found.is_none_or(|found| if is_least { found >= limit } else { found <= limit })
            }
            "uniqueItems" => {
                let items = items(value);
                (1..items.len()).all(|index| !items[..index].contains(&items[index]))
            }
            "required" => {
                let has = |name: &Value| value.get(name.as_str().expect("a name")).is_some();
                !value.is_object() || all().iter().all(has)
            }
            "$ref" => {
                let place = rule.as_str().and_then(|rule| rule.strip_prefix('#'));
                let schema = place.and_then(|place| self.0.pointer(place));
                return self.describe(schema.expect("the definition is there"), value);
            }
            "prefixItems" => {
                let mut pairs = all().iter().enumerate().zip(items(value));
                pairs.try_for_each(|(rule, value)| item(rule, value).map(drop))?;
                true
            }
            "items" => {
                let first = schema["prefixItems"].as_array().map_or(0, Vec::len);
                let mut rest = items(value).iter().enumerate().skip(first);
                rest.try_for_each(|(index, value)| item((index, rule), value).map(drop))?;
                true
            }
            "properties" => {
                let of = |(name, value)| rule.get(name).map(|schema| field(schema, name, value));
                return fields(value).filter_map(of).collect();
            }
            // Names are numbers, where they have a pattern.
            "patternProperties" => {
                let schema = rule.get(r"^\d+$").expect("the pattern of numbers");
                let named = fields(value).filter(|(name, _)| is_number(name));
                return named.map(|(name, value)| field(schema, name, value)).collect();
            }
            "additionalProperties" => {
                let others = fields(value).filter(|(name, _)| {
                    schema["properties"].get(name).is_none()
                        && !(schema.get("patternProperties").is_some() && is_number(name))
                });
                return others.map(|(name, value)| field(rule, name, value)).collect();
            }
            "anyOf" | "oneOf" => {
                let tried: Vec<_> = all().iter().map(|one| self.describe(one, value)).collect();
                let fitting = tried.iter().filter(|one| one.is_ok()).count();
                if fitting == 0 || (keyword == "oneOf" && fitting > 1) {
                    let faults: Vec<_> = tried.into_iter().filter_map(Result::err).collect();
                    let faults: String = faults.join("; ").chars().take(300).collect();
                    return Err(format!(": {fitting} of {keyword} fit: {faults}"));
                }
                return Ok(tried.into_iter().flatten().flatten().collect());
            }
            unknown => panic!("a keyword that is not known here: \"{unknown}\""),
        };
        let fault = || format!(": {} does not fit {keyword} {rule}", brief(value));
        if fits { Ok(Vec::new()) } else { Err(fault()) }
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn fields(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_of_type(value: &Value, name: &Value) -> bool {
    match name.as_str().expect("the type is a name") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        unknown => panic!("a type that is not known here: \"{unknown}\""),
    }
}

fn brief(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        value => value.to_string().chars().take(100).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_fits_is_accepted_and_each_fault_is_found_at_its_place() {
        let fruit = json!({ "type": "object", "required": ["kind"], "properties": {
            "kind": { "enum": ["apple", "pear"] }, "seeds": { "type": ["integer", "null"] } } });
        for (schema, good, bad, fault) in [
            (json!({ "type": "integer" }), json!(3), json!(3.5), ": 3.5 does not fit type"),
            (json!({ "type": ["null", "string"] }), json!(null), json!(true), ": true does"),
            (json!({ "const": "a" }), json!("a"), json!("b"), ": \"b\" does not fit const"),
            (json!({ "minimum": 0, "maximum": 9 }), json!(9), json!(-1), ": -1 does not fit min"),
            (json!({ "maximum": 9 }), json!("x"), json!(9.5), ": 9.5 does not fit maximum"),
            (json!({ "items": { "type": "null" } }), json!([null]), json!([null, 1]), "/1: 1 does"),
            (json!({ "minItems": 1 }), json!([1]), json!([]), ": a list does not fit minItems"),
            (json!({ "maxItems": 1 }), json!([1]), json!([1, 2]), ": a list does not fit maxItems"),
            (json!({ "uniqueItems": true }), json!([1, 2]), json!([1, 2, 1]), ": a list does not"),
            (
                json!({ "prefixItems": [{ "type": "string" }], "items": false }),
                json!(["a"]),
                json!(["a", 1]),
                "/1: 1 is too much",
            ),
            (fruit.clone(), json!({ "kind": "pear" }), json!({}), ": an object does not fit req"),
            (fruit.clone(), json!({ "kind": "pear", "x": 1 }), json!({ "kind": 1 }), "/kind: 1"),
            (
                json!({ "patternProperties": { "^\\d+$": { "type": "null" } },
                    "additionalProperties": false }),
                json!({ "7": null }),
                json!({ "7": null, "a": null }),
                "/a: null is too much",
            ),
            (
                json!({ "properties": { "a": true }, "additionalProperties": { "type": "null" } }),
                json!({ "a": 1, "b": null }),
                json!({ "b": 1 }),
                "/b: 1 does not fit type",
            ),
            (
                json!({ "anyOf": [{ "type": "null" }, { "$ref": "#/$defs/Fruit" }],
                    "$defs": { "Fruit": fruit }, "unevaluatedProperties": false }),
                json!({ "kind": "apple", "seeds": 5 }),
                json!({ "kind": "apple", "stone": 1 }),
                ": unknown field \"stone\"",
            ),
            (
                json!({ "oneOf": [{ "minimum": 1 }, { "minimum": 5 }] }),
                json!(3),
                json!(7),
                ": 2 of oneOf fit",
            ),
        ] {
            let schema = Schema(schema);
            assert_eq!(schema.check(&good), Ok(()), "{good}");
            let found = schema.check(&bad).unwrap_err();
            assert!(found.starts_with(fault), "{found} instead of {fault}");
        }
    }

    #[test]
    #[should_panic(expected = "not known here: \"multipleOf\"")]
    fn an_unknown_keyword_is_no_silence() {
        Schema(json!({ "multipleOf": 2 })).is_valid(&json!(3));
    }
}
