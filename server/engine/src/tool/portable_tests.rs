use proptest::prelude::*;
use schemars::JsonSchema;
use serde_json::json;

use super::*;

#[expect(dead_code, reason = "only the schema is looked at")]
#[derive(JsonSchema)]
struct Input {
    /// How many.
    count: u64,
    small: Option<i8>,
    /// Which way.
    way: Option<Way>,
    steps: Vec<Step>,
    anything: Value,
}

#[expect(dead_code, reason = "only the schema is looked at")]
#[derive(JsonSchema)]
enum Way {
    /// To the left.
    Left,
    /// To the right.
    Right,
}

#[expect(dead_code, reason = "only the schema is looked at")]
#[derive(JsonSchema)]
struct Step {
    name: String,
    within: Vec<Step>,
}

#[test]
fn of_a_type_with_references_and_a_cycle() {
    let schema = schemars::schema_for!(Input).to_value();
    assert!(schema.to_string().contains("$defs") && schema.to_string().contains("uint64"), "{schema}");
    insta::assert_json_snapshot!(portable(&schema), @r#"
    {
      "properties": {
        "anything": {},
        "count": {
          "description": "How many.",
          "minimum": 0,
          "type": "integer"
        },
        "small": {
          "maximum": 127,
          "minimum": -128,
          "type": "integer"
        },
        "steps": {
          "items": {
            "properties": {
              "name": {
                "type": "string"
              },
              "within": {
                "items": {},
                "type": "array"
              }
            },
            "required": [
              "name",
              "within"
            ],
            "type": "object"
          },
          "type": "array"
        },
        "way": {
          "description": "Which way.",
          "enum": [
            "Left",
            "Right"
          ],
          "type": "string"
        }
      },
      "required": [
        "count",
        "steps",
        "anything"
      ],
      "type": "object"
    }
    "#);
}

#[test]
fn of_foreign_schemas() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"id": {"type": ["integer", "null"], "exclusiveMinimum": 0, "maximum": 18_446_744_073_709_551_615_u64}},
        "properties": {
            "id": {"$ref": "#/definitions/id", "description": "Here."},
            "format": {"type": "string", "format": "date-time", "default": null},
            "kind": {"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]},
            "either": {"oneOf": [{"type": "string"}, {"type": "number", "exclusiveMinimum": 0.5}, {"type": "null"}]},
            "all": {"allOf": [{"$ref": "#/definitions/id"}]},
            "lost": {"$ref": "#/definitions/missing"},
            "free": true,
        },
        "required": ["id"],
        "additionalProperties": false,
    });
    insta::assert_json_snapshot!(portable(&schema), @r#"
    {
      "additionalProperties": false,
      "properties": {
        "all": {
          "minimum": 1,
          "type": "integer"
        },
        "either": {
          "anyOf": [
            {
              "type": "string"
            },
            {
              "exclusiveMinimum": 0.5,
              "type": "number"
            }
          ]
        },
        "format": {
          "type": "string"
        },
        "free": {},
        "id": {
          "description": "Here.",
          "minimum": 1,
          "type": "integer"
        },
        "kind": {
          "enum": [
            "a",
            "b"
          ]
        },
        "lost": {}
      },
      "required": [
        "id"
      ],
      "type": "object"
    }
    "#);
}

#[test]
fn null_is_no_word_among_others() {
    let shaped = |word: serde_json::Value| portable(&json!({"properties": {"a": word}}))["properties"]["a"].clone();
    let expected = json!({"type": "string", "enum": ["a", "b"]});
    assert_eq!(shaped(json!({"type": ["string", "null"], "enum": ["a", "b", null]})), expected);
    assert_eq!(shaped(json!({"enum": [null]})), json!({"enum": [null]}));
}

#[test]
fn a_root_that_is_no_object_becomes_one() {
    for root in [json!(true), json!({"type": "string"}), json!({}), json!(null)] {
        let shaped = portable(&root);
        assert_eq!((&shaped["type"], &shaped["properties"]), (&json!("object"), &json!({})), "{root}");
    }
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!({"type": ["string", "null"], "format": "uri", "default": null})),
        Just(json!({"type": "integer", "format": "uint64", "minimum": 0, "exclusiveMaximum": 9})),
        Just(json!({"$ref": "#/$defs/x"})),
        Just(json!({"const": null})),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            prop::collection::btree_map("[a-c]|format|type|\\$ref", inner.clone(), 0..3)
                .prop_map(|properties| json!({"type": "object", "properties": properties})),
            prop::collection::vec(inner.clone(), 0..3).prop_map(|branches| json!({"anyOf": branches})),
            inner.prop_map(|items| json!({"type": "array", "items": items, "$defs": {"x": {"type": "object"}}})),
        ]
    })
}

proptest! {
    #[test]
    fn shaping_twice_changes_nothing_and_leaves_no_reference(schema in any_schema(), of_x in any_schema()) {
        let mut schema = json!({"properties": {"a": schema}, "$defs": {"x": of_x}});
        schema["type"] = json!("object");
        let shaped = portable(&schema);
        prop_assert_eq!(portable(&shaped).to_string(), shaped.to_string());
        let text = shaped.to_string();
        prop_assert!(!text.contains("\"#/") && !text.contains("uint64") && !text.contains("$defs"), "{}", text);
    }
}
