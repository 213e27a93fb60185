//! LSP's answers as the engine's values. What is no file, or is malformed, is left out; of an edit nothing is: it is refused as a whole.

use std::ops::Range;

use copydesk_engine::ports::{LanguageAction, LanguageCall, LanguageChange, LanguagePlace, LanguageSymbol};
use copydesk_workspace::path::AbsPath;
use copydesk_workspace::position::Position;
use copydesk_workspace::uri::path_from_uri;
use serde_json::Value;

/// Of `Location`, `Location[]` or `LocationLink[]`.
pub(super) fn places(value: &Value) -> Vec<LanguagePlace> {
    let mut found: Vec<LanguagePlace> = Vec::new();
    for value in several(value) {
        let linked = || place(&value["targetUri"], &value["targetSelectionRange"]);
        if let Some(place) = place(&value["uri"], &value["range"]).or_else(linked)
            && !found.contains(&place)
        {
            found.push(place);
        }
    }
    found
}

/// Of `MarkupContent`, or of one or several `MarkedString`s.
pub(super) fn hover(contents: &Value) -> String {
    let one = |content: &Value| match (content, content["language"].as_str(), content["value"].as_str()) {
        (Value::String(text), _, _) => text.clone(),
        (_, Some(language), Some(text)) => format!("```{language}\n{text}\n```"),
        (_, None, Some(text)) => text.to_owned(),
        _ => String::new(),
    };
    let texts = several(contents).map(one).map(|text| text.trim().to_owned());
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Of `DocumentSymbol[]`, which hold each other, or of `SymbolInformation[]`.
pub(super) fn document_symbols(value: &Value, path: &AbsPath) -> Vec<LanguageSymbol> {
    let mut found = Vec::new();
    collect(value, path, 0, &mut found);
    found
}

fn collect(value: &Value, path: &AbsPath, depth: usize, found: &mut Vec<LanguageSymbol>) {
    for value in several(value) {
        let own = || Some(LanguagePlace { path: path.clone(), range: range(&value["selectionRange"])? });
        let place = place(&value["location"]["uri"], &value["location"]["range"]).or_else(own);
        found.extend(place.and_then(|place| symbol(value, place, depth)));
        collect(&value["children"], path, depth + 1, found);
    }
}

/// Of those kinds that stand for themselves: what is declared inside of functions is not looked for in a workspace.
pub(super) fn workspace_symbols(value: &Value) -> Vec<LanguageSymbol> {
    const KINDS: [u64; 11] = [2, 3, 5, 6, 10, 11, 12, 13, 14, 22, 23];
    let of = |value: &Value| {
        let location = &value["location"];
        let start = Position { line: 0, column: 0 };
        // A server may leave the range to be asked for.
        let whole = || Some(LanguagePlace { path: path(&location["uri"])?, range: start..start });
        symbol(value, place(&location["uri"], &location["range"]).or_else(whole)?, 0)
    };
    several(value)
        .filter(|value| value["kind"].as_u64().is_some_and(|kind| KINDS.contains(&kind)))
        .filter_map(of)
        .collect()
}

/// Of `CallHierarchyItem[]`.
pub(super) fn items(value: &Value) -> Vec<LanguageSymbol> {
    several(value).filter_map(item).collect()
}

/// `end` is `from` or `to`: the side of the other one. The calls stand in the text of who calls.
pub(super) fn calls(value: &Value, end: &str, asked: &Value) -> Vec<LanguageCall> {
    let of = |value: &Value| {
        let symbol = item(&value[end])?;
        let path = if end == "from" { symbol.place.path.clone() } else { path(&asked["uri"])? };
        let ranges = several(&value["fromRanges"]).filter_map(range);
        let calls = ranges.map(|range| LanguagePlace { path: path.clone(), range }).collect();
        Some(LanguageCall { symbol, calls })
    };
    several(value).filter_map(of).collect()
}

/// Of `(Command | CodeAction)[]`, without those that are not to be had there: some servers tell of each that they know. `obstacle` says why one cannot be
/// carried out.
pub(super) fn actions(value: &Value, obstacle: impl Fn(&Value) -> Option<String>) -> Vec<LanguageAction> {
    let of = |value: &Value| {
        if value["disabled"].is_object() {
            return None;
        }
        Some(LanguageAction {
            title: value["title"].as_str()?.to_owned(),
            kind: value["kind"].as_str().filter(|kind| !kind.is_empty()).map(str::to_owned),
            is_preferred: value["isPreferred"] == true,
            obstacle: obstacle(value),
        })
    };
    several(value).filter_map(of).collect()
}

/// Whether a `WorkspaceEdit` does anything: some servers send an empty one beside the command that does.
pub(super) fn is_edit(value: &Value) -> bool {
    let changes = value["documentChanges"].as_array().is_some_and(|changes| !changes.is_empty());
    changes || value["changes"].as_object().is_some_and(|changes| !changes.is_empty())
}

/// Of a `WorkspaceEdit`, with our `versions` of documents by URI where an editor gave it. The error says what is wrong with it.
pub(super) fn changes(value: &Value) -> Result<Vec<LanguageChange>, String> {
    let named = |value: &Value| {
        let uri = value.as_str().unwrap_or_default();
        path_from_uri(uri).map_err(|_| format!("it would change {uri:?}, which is no file"))
    };
    let version = |uri: &Value, of: &Value| {
        let told = of.as_i64().or_else(|| value["versions"][uri.as_str()?].as_i64());
        told.and_then(|version| i32::try_from(version).ok())
    };
    let mut found = Vec::new();
    if let Some(documents) = value["documentChanges"].as_array() {
        for change in documents {
            found.push(match change["kind"].as_str() {
                None => {
                    let document = &change["textDocument"];
                    let version = version(&document["uri"], &document["version"]);
                    LanguageChange::Edit { path: named(&document["uri"])?, version, edits: edits(&change["edits"])? }
                }
                Some("create") => LanguageChange::Create { path: named(&change["uri"])? },
                Some("rename") => {
                    LanguageChange::Move { from: named(&change["oldUri"])?, to: named(&change["newUri"])? }
                }
                Some("delete") => LanguageChange::Delete { path: named(&change["uri"])? },
                Some(other) => return Err(format!("it would do something unknown: {other:?}")),
            });
        }
        return Ok(found);
    }
    for (uri, of_file) in value["changes"].as_object().into_iter().flatten() {
        let uri = Value::String(uri.clone());
        let version = version(&uri, &Value::Null);
        found.push(LanguageChange::Edit { path: named(&uri)?, version, edits: edits(of_file)? });
    }
    Ok(found)
}

fn edits(value: &Value) -> Result<Vec<(Range<Position>, String)>, String> {
    let of = |edit: &Value| Some((range(&edit["range"])?, edit["newText"].as_str()?.to_owned()));
    let malformed = || "its edit is malformed".to_owned();
    value.as_array().ok_or_else(malformed)?.iter().map(|edit| of(edit).ok_or_else(malformed)).collect()
}

fn item(value: &Value) -> Option<LanguageSymbol> {
    symbol(value, place(&value["uri"], &value["selectionRange"])?, 0)
}

fn symbol(value: &Value, place: LanguagePlace, depth: usize) -> Option<LanguageSymbol> {
    Some(LanguageSymbol {
        name: value["name"].as_str()?.to_owned(),
        kind: kind(value["kind"].as_u64()?),
        container: value["containerName"].as_str().filter(|name| !name.is_empty()).map(str::to_owned),
        place,
        depth,
    })
}

/// LSP's `SymbolKind` in words.
fn kind(number: u64) -> &'static str {
    const KINDS: [&str; 26] = [
        "file",
        "module",
        "namespace",
        "package",
        "class",
        "method",
        "property",
        "field",
        "constructor",
        "enum",
        "interface",
        "function",
        "variable",
        "constant",
        "string",
        "number",
        "boolean",
        "array",
        "object",
        "key",
        "null",
        "enum member",
        "struct",
        "event",
        "operator",
        "type parameter",
    ];
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    index.and_then(|index| KINDS.get(index)).copied().unwrap_or("symbol")
}

fn place(uri: &Value, of: &Value) -> Option<LanguagePlace> {
    Some(LanguagePlace { path: path(uri)?, range: range(of)? })
}

fn path(uri: &Value) -> Option<AbsPath> {
    path_from_uri(uri.as_str()?).ok()
}

fn range(value: &Value) -> Option<Range<Position>> {
    let at = |end: &str| {
        let number = |key: &str| value[end][key].as_u64().and_then(|number| u32::try_from(number).ok());
        Some(Position { line: number("line")?, column: number("character")? })
    };
    Some(at("start")?..at("end")?)
}

/// Of one value or an array; null is none.
fn several(value: &Value) -> impl Iterator<Item = &Value> {
    let (many, one) = match value {
        Value::Array(many) => (many.as_slice(), None),
        Value::Null => (&[] as &[Value], None),
        one => (&[] as &[Value], Some(one)),
    };
    many.iter().chain(one)
}
