//! How long the Markdown of a tree may become, before it is written: marks of quotations and lists stand before each of their lines, and the cells of a
//! table are as wide as the widest of their column. Estimated by the ways of `htmd`, rather too much than too little; it recurses as deep as the tree, which
//! is bounded.

use markup5ever_rcdom::{Node, NodeData};

/// The longest that stands before a line for one list or quotation around it, and around one element.
const MARK: usize = 8;
/// A character may be escaped.
const PER_BYTE: usize = 2;
/// Attributes that are written.
const WRITTEN: [&str; 4] = ["href", "src", "alt", "title"];

pub(super) fn written_bytes(root: &Node) -> usize {
    node_bytes(root, Place::default())
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// Bytes before each line.
    before: usize,
    /// Tables in cells of others are none.
    in_cell: bool,
}

fn node_bytes(node: &Node, place: Place) -> usize {
    let inner = match &node.data {
        NodeData::Text { contents } => {
            let text = contents.borrow();
            let lines = text.bytes().filter(|byte| *byte == b'\n').count();
            return (text.len() * PER_BYTE).saturating_add(lines.saturating_mul(place.before));
        }
        NodeData::Element { attrs, .. } => {
            let attributes = attrs.borrow();
            let written = attributes.iter().filter(|attribute| WRITTEN.contains(&&*attribute.name.local));
            let attributes = written.filter(|attribute| !attribute.value.starts_with("data:"));
            let attributes: usize = attributes.map(|attribute| attribute.value.len() * PER_BYTE).sum();
            // Its own line, and an empty one.
            let lines = place.before.saturating_add(MARK).saturating_mul(2);
            attributes.saturating_add(lines)
        }
        _ => 0,
    };
    let name = name(node);
    let is_marked = matches!(name, Some("blockquote" | "li"));
    let is_cell = matches!(name, Some("td" | "th"));
    let below = Place { before: place.before + if is_marked { MARK } else { 0 }, in_cell: place.in_cell || is_cell };
    let children = sum(node.children.borrow().iter().map(|child| node_bytes(child, below)));
    let padding = if name == Some("table") && !place.in_cell && has_head(node) { table_bytes(node, place) } else { 0 };
    inner.saturating_add(children).saturating_add(padding)
}

/// Each row with each column at its widest, and a line that parts the head from the rest.
fn table_bytes(table: &Node, place: Place) -> usize {
    let (mut heads, mut cells, mut rows) = (Vec::new(), Vec::new(), 1_usize);
    let mut add = |row: &Node| {
        rows += 1;
        // Columns are counted by kind: the second `td` is of the second column, whatever stands before it.
        widen(&mut heads, row, "th", place);
        widen(&mut cells, row, "td", place);
    };
    for child in table.children.borrow().iter() {
        match name(child) {
            Some("tr") => add(child),
            Some("thead" | "tbody" | "tfoot") => {
                add(child);
                child.children.borrow().iter().filter(|row| name(row) == Some("tr")).for_each(|row| add(row));
            }
            _ => {}
        }
    }
    let row = sum(heads.into_iter().chain(cells).map(|width| width.saturating_add(MARK)));
    rows.saturating_mul(row.saturating_add(place.before))
}

/// Without one it is there for the looks, and not written as a table.
fn has_head(node: &Node) -> bool {
    node.children.borrow().iter().any(|child| match name(child) {
        Some("table") => false,
        Some("th" | "thead") => true,
        _ => has_head(child),
    })
}

fn widen(columns: &mut Vec<usize>, row: &Node, kind: &str, place: Place) {
    let place = Place { in_cell: true, ..place };
    for (column, cell) in row.children.borrow().iter().filter(|cell| name(cell) == Some(kind)).enumerate() {
        let width = node_bytes(cell, place);
        match columns.get_mut(column) {
            Some(widest) => *widest = width.max(*widest),
            None => columns.push(width),
        }
    }
}

fn name(node: &Node) -> Option<&str> {
    match &node.data {
        NodeData::Element { name, .. } => Some(&name.local),
        _ => None,
    }
}

fn sum(parts: impl Iterator<Item = usize>) -> usize {
    parts.fold(0, usize::saturating_add)
}
