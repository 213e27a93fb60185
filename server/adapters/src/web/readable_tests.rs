use std::time::Duration;

use super::*;

async fn readable(page: String, form: Readable) -> String {
    super::readable(page, form, Desk::default()).await
}

#[tokio::test]
async fn no_more_pages_are_worked_on_at_once_than_there_are_places() {
    let desk = Desk::default();
    let taken = Arc::clone(&desk.0).acquire_many_owned(u32::try_from(MOST_THREADS).unwrap_or_default()).await;
    let mut waiting = Box::pin(super::readable("<h1>x</h1>".to_owned(), Readable::Markdown, desk));
    assert!(tokio::time::timeout(Duration::from_millis(300), &mut waiting).await.is_err());
    drop(taken);
    assert_eq!(waiting.await, "# x");
}

#[tokio::test]
async fn what_was_begun_for_somebody_who_does_not_wait_any_more_is_counted_too() {
    let desk = Desk::default();
    let page = "<p>word <b>bold</b></p>".repeat(20_000);
    let mut begun = Box::pin(super::readable(page, Readable::Markdown, Desk(Arc::clone(&desk.0))));
    assert!(futures::poll!(&mut begun).is_pending());
    drop(begun);
    assert_eq!(desk.0.available_permits(), MOST_THREADS - 1);
    // And given back at the end of the work.
    let all = desk.0.acquire_many(u32::try_from(MOST_THREADS).unwrap_or_default());
    assert!(tokio::time::timeout(Duration::from_secs(60), all).await.is_ok());
}

async fn check(page: &str, form: Readable, expected: &str) {
    assert_eq!(readable(page.to_owned(), form).await, expected);
}

#[tokio::test]
async fn pages_become_markdown() {
    let page = r#"<!doctype html><html><head><title>A  page</title><style>p { color: red }</style></head><body>
        <h1>Head</h1><script>alert("x")</script>
        <p>Some <b>bold</b> and <em>slanted</em> words,<br>a <a href="/docs?a=1">link</a>.</p>
        <ul><li>one</li><li>two</li></ul><ol><li>first</li></ol><hr>
        <pre><code class="language-rust">fn main() {}
</code></pre><noscript>Turn it on</noscript><img alt="dot" src="data:image/png;base64,AAAA"><img alt="pic" src="/p.png">
        <table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1</td></tr></table></body></html>"#;
    insta::assert_snapshot!(readable(page.to_owned(), Readable::Markdown).await, @r"
    A page

    # Head

    Some **bold** and *slanted* words,  
    a [link](/docs?a=1).

    - one
    - two

    1. first

    - - -

    ```rust
    fn main() {}
    ```

    dot![pic](/p.png)

    | k | v |
    | - | - |
    | a | 1 |
    ");
}

#[tokio::test]
async fn pages_become_text() {
    let page = "<title>T</title><h1>Head</h1><script>no</script><p>Some <b>bold</b>&nbsp;&amp; <i>sl</i>anted.<p>Next<br>line<table><tr><td>a<td>1</table><pre>x\n  y</pre><style>no</style><noscript>no</noscript>end";
    check(page, Readable::Text, "T\nHead\nSome bold & slanted.\nNext\nline\na 1\nx\n  y\nend").await;
    check("just words", Readable::Text, "just words").await;
    check("<script>never ends", Readable::Text, "").await;
    check("", Readable::Markdown, "").await;
}

/// Each made to cost more than its size: deep elements, hidden deep ones, elements that are repeated by repair, and unfinished markup.
#[tokio::test]
async fn r19_2_hostile_pages_cost_neither_the_daemon_nor_much_time() {
    let formatting: String = (0..20_000).map(|id| format!("<b id={id}><p>")).collect();
    let pages = [
        "<div>".repeat(200_000),
        "<table><tr><td>".repeat(60_000),
        format!("<table>{}", "<div>".repeat(200_000)),
        "<ul><li>".repeat(100_000),
        "<svg><a/>".repeat(100_000),
        "<template>".repeat(100_000),
        "<blockquote>".repeat(380),
        "<table><tr><td>".repeat(120),
        formatting,
        "<".repeat(1_000_000),
        "<a href='".repeat(100_000),
        "&".repeat(500_000),
    ];
    let made = futures::future::join_all(pages.map(|page| readable(format!("{page}words</b>"), Readable::Markdown)));
    assert!(tokio::time::timeout(Duration::from_secs(120), made).await.is_ok());
    let deep = format!("{}words that stay", "<div>".repeat(200_000));
    assert!(markdown(&deep).is_none(), "out of bounds");
    check(&deep, Readable::Markdown, "words that stay").await;
    assert!(markdown(&"<div>".repeat(300)).is_some(), "within bounds");
}

/// A tree is not gone over anew with each piece of a page.
#[test]
fn r10_1_all_looks_at_a_tree_cost_what_the_tree_costs() {
    for per_piece in [1, 100, 3_000] {
        let (mut last, mut seen) = (Look::default(), 0);
        let nodes = (1..=MAX_NODES / per_piece).map(|pieces| pieces * per_piece);
        for made in nodes.take(640) {
            if last.is_due(made) {
                last = Look { nodes: made, made };
                seen += made;
            }
            // What is on the way out of bounds is not overlooked.
            assert!(last.is_due(made + MAX_NODES));
        }
        let whole = 640.min(MAX_NODES / per_piece) * per_piece;
        assert!(seen <= 2 * whole, "{seen} for {whole}");
    }
}

#[test]
fn r10_1_a_page_of_many_pieces_is_gone_over_a_few_times() {
    let page = "<p>one <b>two</b>\n".repeat(60_000);
    let (mut looks, mut seen, mut whole) = (0, 0, 0);
    let dom = tree(&page, |root| {
        let nodes = bounded_nodes(root)?;
        (looks, seen, whole) = (looks + 1, seen + nodes, nodes);
        Some(nodes)
    });
    assert!(dom.is_some() && whole > 200_000 && page.len() / PIECE > 100, "{whole}");
    assert!((3..20).contains(&looks) && seen <= 3 * whole, "{looks} looks at {seen} of {whole}");
}

/// What stands in the tree is counted when it is made.
#[test]
fn r19_2_no_node_is_made_that_is_not_counted() {
    let formatting: String = (0..200).map(|id| format!("<b id={id}><p>x")).collect();
    let pages = [
        "<!doctype html><!-- a --><p>one<br>two<p>three".to_owned(),
        "<table>foster<tr>parents<td>x</table>".to_owned(),
        "<template><p>x</p></template><?pi x><svg><a/></svg>".to_owned(),
        "<select><button><selectedcontent></selectedcontent></button><option selected><b>x</b><i>y</i></option></select>".to_owned(),
        formatting,
    ];
    for page in pages {
        let mut parser = parse_document(Counted::default(), ParseOpts::default());
        parser.process(StrTendril::from(page.as_str()));
        let tree = &parser.tokenizer.sink.sink;
        let nodes = bounded_nodes(tree.document()).unwrap_or_default();
        // But for the document.
        assert!(nodes > 2 && nodes - 1 <= tree.made(), "{nodes} of {} made: {page:.60}", tree.made());
    }
}

/// Markdown writes a quotation's mark before each line, and pads a table's cells to the widest: pages whose Markdown is a thousand times their size.
#[tokio::test]
async fn r19_2_r10_1_a_page_does_not_grow() {
    let lines = "words\n".repeat(20_000);
    let wide = format!("<table><tr><th>{}</th></tr>{}", "w".repeat(100_000), "<tr><td>words</td></tr>".repeat(1000));
    let many = format!("<table><tr>{}</tr>{}", "<th>w".repeat(10_000), "<tr><td>words</td></tr>".repeat(1000));
    let image = format!("<table><tr><th><img src='{}'></th></tr>{}", "w".repeat(100_000), "<tr><td>words".repeat(1000));
    let pages = [
        format!("{}<pre>{lines}</pre>", "<blockquote>".repeat(380)),
        format!("{}<pre>{lines}</pre>", "<ul><li>".repeat(190)),
        format!("{}<pre>{lines}</pre>", "<ol><li>".repeat(190)),
        format!("{}{}", "<blockquote>".repeat(380), "words<br>".repeat(20_000)),
        format!("{}{}", "<blockquote>".repeat(380), "<p>words".repeat(20_000)),
        format!("<table><caption>{wide}"),
        wide,
        many,
        image,
    ];
    for page in pages {
        let written = readable(page.clone(), Readable::Markdown).await;
        assert!(written.len() < 40 << 20, "{} bytes of {}: {}", written.len(), page.len(), &page[..40]);
        assert!(written.contains("words"), "{}", &page[..40]);
    }
    let usual =
        format!("<table><tr><th>Name</th><th>Text</th></tr>{}", "<tr><td>a</td><td>some words</td></tr>".repeat(2000));
    assert!(markdown(&usual).is_some_and(|text| text.contains("| a    | some words |")), "a long table stays one");
    let layout = format!("<table><tr><td>{}</td></tr>{}", "<b>w</b> ".repeat(20_000), "<tr><td>x".repeat(1000));
    assert!(markdown(&layout).is_some_and(|text| text.starts_with("**w** **w**")), "a table for the looks is none");
}
