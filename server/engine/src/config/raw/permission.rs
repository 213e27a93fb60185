//! The shape of `permission` as the schema describes it. Values are read by `rules`.

use std::collections::BTreeMap;

use schemars::JsonSchema;

#[derive(JsonSchema)]
#[schemars(untagged, rename = "Permission")]
#[expect(dead_code, reason = "describes the shape in the schema alone")]
pub(super) enum PermissionSchema {
    /// For everything.
    All(VerdictSchema),
    /// By the name of a tool or permission, which may hold `*` and `?`.
    ByName(BTreeMap<String, RulesSchema>),
}

#[derive(JsonSchema)]
#[schemars(untagged, rename = "Rules")]
#[expect(dead_code, reason = "describes the shape in the schema alone")]
pub(super) enum RulesSchema {
    All(VerdictSchema),
    /// By a pattern with `*` and `?` for what is touched: a path, a command.
    ByPattern(BTreeMap<String, VerdictSchema>),
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase", rename = "Verdict")]
#[expect(dead_code, reason = "describes the shape in the schema alone")]
pub(super) enum VerdictSchema {
    Allow,
    Ask,
    Deny,
}
