//! Pages as Markdown or as plain text. A page may be hostile: elements nested a million deep, repairs that make each tag a thousand elements, or tables
//! that fill the memory once they are written out. So a tree is made only within bounds, on a thread of its own with a stack that is enough for them; beyond them the page's text is taken, which needs no tree.

mod counted;
mod growth;
mod text;

use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use copydesk_engine::ports::Readable;
use htmd::element_handler::Handlers;
use htmd::options::{BrStyle, BulletListMarker, HrStyle, Options};
use htmd::{Element, HtmlToMarkdown};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Node, NodeData, RcDom};
use tokio::sync::{Semaphore, oneshot};

use counted::Counted;
use growth::written_bytes;
use text::text_of;

/// Real pages stay far below.
const MAX_DEPTH: usize = 400;
const MAX_NODES: usize = 500_000;
/// Bytes of Markdown, several times those of the largest page that is fetched: what grows beyond them was made to.
const MAX_WRITTEN: usize = 32 << 20;
/// For the tree; the rest is bounded by its size.
const PATIENCE: Duration = Duration::from_secs(2);
/// For the whole.
const LIMIT: Duration = Duration::from_secs(15);
/// Bytes that are parsed between two looks at the tree.
const PIECE: usize = 8 * 1024;
/// Pages that are made readable at once; the others wait.
const MOST_THREADS: usize = 4;
/// What a level takes of the stack was measured as 3 KiB without optimisation.
const STACK: usize = 16 << 20;

/// What nobody reads.
const SKIPPED: [&str; 12] =
    ["script", "style", "meta", "link", "noscript", "template", "iframe", "object", "embed", "svg", "canvas", "head"];

/// Places on threads with a large stack.
#[derive(Clone)]
pub(super) struct Desk(Arc<Semaphore>);

impl Default for Desk {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST_THREADS)))
    }
}

pub(super) async fn readable(page: String, form: Readable, desk: Desk) -> String {
    let page: Arc<str> = page.into();
    if form == Readable::Markdown
        && let Some(markdown) = on_own_thread(Arc::clone(&page), desk).await
    {
        return markdown;
    }
    let taken = Arc::clone(&page);
    let text = tokio::task::spawn_blocking(move || text_of(&taken)).await;
    text.unwrap_or_else(|_| page.to_string())
}

/// `None` where the page is out of bounds or the thread failed.
async fn on_own_thread(page: Arc<str>, Desk(places): Desk) -> Option<String> {
    let done = async {
        let place = places.acquire_owned().await.ok()?;
        let (send, receive) = oneshot::channel();
        let work = move || {
            // Nobody waits any more where the call was cancelled.
            let _ = send.send(markdown(&page));
            // Not before: whoever stops waiting does not stop the thread.
            drop(place);
        };
        let started = thread::Builder::new().name("readable".to_owned()).stack_size(STACK).spawn(work);
        started.ok()?;
        receive.await.ok()?
    };
    tokio::time::timeout(LIMIT, done).await.ok()?
}

fn markdown(page: &str) -> Option<String> {
    let dom = tree(page, bounded_nodes)?;
    if written_bytes(&dom.document) > MAX_WRITTEN {
        return None;
    }
    let options = Options {
        hr_style: HrStyle::Dashes,
        br_style: BrStyle::TwoSpaces,
        bullet_list_marker: BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..Options::default()
    };
    let converter =
        HtmlToMarkdown::builder().options(options).skip_tags(SKIPPED.to_vec()).add_handler(vec!["img"], image).build();
    let body = converter.tree_to_markdown(&dom.document);
    Some(match title(&dom) {
        Some(title) if !body.contains(&title) => format!("{title}\n\n{body}"),
        _ => body,
    })
}

/// An image that is written out in its address says nothing to a reader of text.
fn image(handlers: &dyn Handlers, element: Element<'_>) -> Option<htmd::element_handler::HandlerResult> {
    let attribute = |name: &str| element.attrs.iter().find(|attribute| &*attribute.name.local == name);
    let is_inline = attribute("src").is_some_and(|src| src.value.trim_start().starts_with("data:"));
    if is_inline {
        return attribute("alt").map(|alt| alt.value.to_string().into());
    }
    handlers.fallback(element)
}

/// `look` goes over the whole tree, and says how many nodes there are; `None` where they are out of bounds.
fn tree(page: &str, mut look: impl FnMut(&Rc<Node>) -> Option<usize>) -> Option<RcDom> {
    let until = Instant::now() + PATIENCE;
    let mut parser = parse_document(Counted::default(), ParseOpts::default());
    let mut last = Look::default();
    let mut rest = page;
    while !rest.is_empty() {
        let mut end = PIECE.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, behind) = rest.split_at(end);
        parser.process(StrTendril::from(piece));
        rest = behind;
        if Instant::now() > until {
            return None;
        }
        let tree = &parser.tokenizer.sink.sink;
        if last.is_due(tree.made()) {
            last = Look { nodes: look(tree.document())?, made: tree.made() };
        }
    }
    let dom = parser.finish();
    look(&dom.document)?;
    Some(dom)
}

/// Of the tree while it grows. A look goes over the whole of it.
#[derive(Debug, Clone, Copy, Default)]
struct Look {
    nodes: usize,
    /// That were made until then, for the tree or for what is put into it.
    made: usize,
}

impl Look {
    /// Where the tree may be out of bounds, or twice as large: so that all looks together cost what the tree costs.
    fn is_due(self, made: usize) -> bool {
        let more = made - self.made;
        more >= self.nodes || self.nodes + more > MAX_NODES
    }
}

/// How many there are; `None` where they are out of bounds.
fn bounded_nodes(root: &Rc<Node>) -> Option<usize> {
    let mut nodes = 0;
    let mut waiting = vec![(Rc::clone(root), 0)];
    while let Some((node, depth)) = waiting.pop() {
        nodes += 1;
        if depth > MAX_DEPTH || nodes > MAX_NODES {
            return None;
        }
        waiting.extend(node.children.borrow().iter().map(|child| (Rc::clone(child), depth + 1)));
        if let NodeData::Element { template_contents, .. } = &node.data {
            waiting.extend(template_contents.borrow().iter().map(|child| (Rc::clone(child), depth + 1)));
        }
    }
    Some(nodes)
}

/// Of the first `title`, its text.
fn title(dom: &RcDom) -> Option<String> {
    let mut waiting = vec![Rc::clone(&dom.document)];
    while let Some(node) = waiting.pop() {
        match &node.data {
            NodeData::Element { name, .. } if &*name.local == "body" => {}
            NodeData::Element { name, .. } if &*name.local == "title" => {
                let text: String = node
                    .children
                    .borrow()
                    .iter()
                    .filter_map(|child| match &child.data {
                        NodeData::Text { contents } => Some(contents.borrow().to_string()),
                        _ => None,
                    })
                    .collect();
                let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
                return (!line.is_empty()).then_some(line);
            }
            _ => waiting.extend(node.children.borrow().iter().rev().cloned()),
        }
    }
    None
}

#[cfg(test)]
#[path = "readable_tests.rs"]
mod tests;
