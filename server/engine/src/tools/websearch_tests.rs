use serde_json::{Value, json};

use crate::message::ToolStatus;
use crate::permission::Verdict;
use crate::ports::{OptionKind, Preview};
use crate::web::{SearchKind, SearchService, WebAddress};
use crate::workbench::Bench;

fn bench(kind: SearchKind, address: &str, key: Option<&str>) -> Bench {
    let mut bench = Bench::new();
    let service = SearchService { kind, address: WebAddress::parse(address).unwrap(), key: key.map(str::to_owned) };
    bench.config.web.search = Some(service.clone());
    bench.config.web.code_search = Some(service);
    bench
}

fn reply(text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": " "}, {"type": "text", "text": text}]}})
}

fn body(bench: &Bench) -> Value {
    serde_json::from_str(bench.http.asked().last().unwrap().body.as_deref().unwrap()).unwrap()
}

#[tokio::test]
async fn exa_is_asked_by_a_call_of_its_tool() {
    let bench = bench(SearchKind::Exa, "https://exa.example/mcp", Some("k 1"));
    let address = "https://exa.example/mcp?exaApiKey=k+1";
    bench.http.answer(address, 200, &[], reply("Title: A").to_string());
    let outcome = bench.call("websearch", json!({"query": " rust async ", "numResults": 500, "type": "deep"})).await;
    assert_eq!(
        (outcome.result.text.as_str(), outcome.result.title.as_str()),
        ("Title: A", "Search the web: rust async")
    );
    assert_eq!(outcome.result.metadata, json!({"provider": "exa"}));
    let arguments = json!({"query": "rust async", "type": "deep", "numResults": 20, "livecrawl": "fallback"});
    assert_eq!(body(&bench)["params"], json!({"name": "web_search_exa", "arguments": arguments}));
}

/// A user who wants to be asked sees what leaves the machine, and where it goes.
#[tokio::test]
async fn a_search_that_is_asked_about_shows_its_words_and_its_service() {
    for (tool, to) in
        [("websearch", "Parallel (https://search.example)"), ("codesearch", "Parallel (https://search.example)")]
    {
        let bench = bench(SearchKind::Parallel, "https://search.example/mcp", None).rule(tool, "*", Verdict::Ask);
        let (outcome, ()) = tokio::join!(bench.call(tool, json!({"query": "my\u{202e} words"})), async {
            let ask = bench.client.next_ask().await;
            let expected = format!("my\\u{{202e}} words to {to}");
            assert!(matches!(&ask.ask.preview, Preview::Access(shown) if *shown == expected), "{:?}", ask.ask.preview);
            ask.select(OptionKind::RejectOnce, None);
        });
        assert_eq!(outcome.result.status, ToolStatus::Failed);
        assert!(bench.http.asked().is_empty(), "{tool}");
    }
}

#[tokio::test]
async fn answers_come_as_events_too_and_faults_are_told() {
    let bench = bench(SearchKind::Exa, "https://exa.example/mcp", None);
    let check = async |status: u16, answer: &str, expected: &str| {
        bench.http.answer("https://exa.example/mcp", status, &[], answer);
        let text = bench.call("websearch", json!({"query": "x"})).await.result.text;
        assert!(text.starts_with(expected), "{answer}: {text}");
    };
    check(200, &format!("event: message\r\ndata: {}\r\n\r\n", reply("found")), "found").await;
    check(200, &format!(": note\n\ndata: {{\"method\": \"x\"}}\n\ndata:{}\n\n", reply("found")), "found").await;
    check(200, r#"{"result": {"content": []}}"#, "No results.").await;
    check(200, r#"{"error": {"code": -1, "message": "bad key"}}"#, "Exa: bad key").await;
    check(200, r#"{"result": {"content": [{"text": "no credits"}], "isError": true}}"#, "Exa: no credits").await;
    check(200, "<html>", "Exa: the answer is not what its protocol says").await;
    check(429, "", "Exa answered with status 429: too many searches for now").await;
}

#[tokio::test]
async fn parallel_is_asked_with_its_key_in_a_header() {
    let bench = bench(SearchKind::Parallel, "https://parallel.example/mcp", Some("secret"));
    bench.http.answer("https://parallel.example/mcp", 200, &[], reply("found").to_string());
    assert_eq!(bench.done("websearch", json!({"query": "x"})).await, "found");
    let arguments = json!({"objective": "x", "search_queries": ["x"], "session_id": "ses_1"});
    assert_eq!(body(&bench)["params"], json!({"name": "web_search", "arguments": arguments}));
    let headers = bench.http.asked()[0].headers.clone();
    assert!(headers.contains(&("authorization", "Bearer secret".to_owned())), "{headers:?}");
}

#[tokio::test]
async fn searxng_is_asked_for_json() {
    let bench = bench(SearchKind::Searxng, "http://127.0.0.1:8888/searx/", None);
    let address = "http://127.0.0.1:8888/searx/search?q=a+b&format=json";
    let hit = |n: u32| json!({"url": format!("https://{n}.example/"), "title": format!("T{n}"), "content": "words"});
    let page = json!({"results": [hit(1), {"url": "https://2.example/", "title": null, "content": null, "publishedDate": "2026-01-01"}, hit(3)]});
    bench.http.answer(address, 200, &[], page.to_string());
    insta::assert_snapshot!(bench.done("websearch", json!({"query": "a b", "numResults": 2})).await, @"
    Title: T1
    URL: https://1.example/
    Text: words

    Title: 
    URL: https://2.example/
    Published: 2026-01-01
    ");
    bench.http.answer(address, 403, &[], "");
    let text = bench.failed("websearch", json!({"query": "a b"})).await;
    assert!(text.contains("must allow `json`"), "{text}");
}

#[tokio::test]
async fn codesearch_asks_exa_for_code() {
    let bench = bench(SearchKind::Exa, "https://exa.example/mcp", None);
    bench.http.answer("https://exa.example/mcp", 200, &[], reply("code").to_string());
    assert_eq!(bench.done("codesearch", json!({"query": "tokio select"})).await, "code");
    let arguments = json!({"query": "tokio select", "tokensNum": 5000});
    assert_eq!(body(&bench)["params"], json!({"name": "get_code_context_exa", "arguments": arguments}));
    let text = bench.failed("codesearch", json!({"query": "x", "tokensNum": 10})).await;
    assert!(text.contains("tokensNum"), "{text}");
}

#[tokio::test]
async fn without_a_service_nothing_is_asked() {
    let bench = Bench::new();
    for tool in ["websearch", "codesearch"] {
        let text = bench.failed(tool, json!({"query": "x"})).await;
        assert!(text.contains("no search service is set up"), "{text}");
    }
    assert!(bench.http.asked().is_empty());
}

#[tokio::test]
async fn rules_are_held_against_the_query() {
    let mut bench = bench(SearchKind::Exa, "https://exa.example/mcp", None);
    bench = bench.rule("websearch", "*secret*", Verdict::Deny);
    let text = bench.failed("websearch", json!({"query": "the secret name"})).await;
    assert!(text.contains("denied by rule websearch"), "{text}");
    assert!(bench.http.asked().is_empty());
}

/// One odd hit costs itself alone, and what is no answer is not taken for one without results.
#[tokio::test]
async fn odd_answers_of_services_cost_what_is_odd_and_are_not_taken_for_nothing() {
    let check = async |kind: SearchKind, answer: &str, expected: &str| {
        let bench = bench(kind, "https://search.example/mcp", None);
        bench.http.answer("https://search.example/mcp", 200, &[], answer);
        bench.http.answer("https://search.example/mcp/search?q=x&format=json", 200, &[], answer);
        let text = bench.call("websearch", json!({"query": "x"})).await.result.text;
        assert!(text.starts_with(expected), "{kind:?}: {answer}: {text}");
    };
    let found = reply("found").to_string();
    for (answer, expected) in [
        (format!("\u{feff}{found}"), "found"),
        (format!("[{found}]"), "found"),
        (format!("data: [DONE]\n\ndata: {found}\n\n"), "found"),
        (json!({"result": {"content": [{"text": 1}, null, {"text": "found"}], "isError": null}}).to_string(), "found"),
        (json!({"result": {"content": null}}).to_string(), "No results."),
        (json!({"result": {}}).to_string(), "No results."),
        (json!({"result": {"content": "x", "isError": true}}).to_string(), "Exa: the search failed"),
        (json!({"error": "bad\nkey"}).to_string(), "Exa: bad\\nkey"),
        (json!({"error": {"code": 5}}).to_string(), "Exa: {\"code\":5}"),
        (json!({"error": null, "result": {"content": [{"text": "found"}]}}).to_string(), "found"),
        (json!({"message": "Forbidden"}).to_string(), "Exa: the answer is not what its protocol says"),
        (json!({"result": null}).to_string(), "Exa: the answer is not what its protocol says"),
        ("[]".to_owned(), "Exa: the answer is not what its protocol says"),
        (String::new(), "Exa: the answer is not what its protocol says"),
    ] {
        check(SearchKind::Exa, &answer, expected).await;
    }
    let hits = json!([
        {"url": null, "title": "an answer without a place"},
        "text",
        {"url": "https://1.example/", "title": 5, "content": ["x"], "publishedDate": 1700000000},
    ]);
    for (answer, expected) in [
        (json!({"results": hits}).to_string(), "Title: \nURL: https://1.example/"),
        (format!("\u{feff}{}", json!({"results": hits})), "Title: \nURL: https://1.example/"),
        (json!({"results": []}).to_string(), "No results."),
        (json!({"results": null}).to_string(), "SearXNG: the answer is no list of results"),
        (json!({"error": "x"}).to_string(), "SearXNG: the answer is no list of results"),
        ("[]".to_owned(), "SearXNG: the answer is no list of results"),
    ] {
        check(SearchKind::Searxng, &answer, expected).await;
    }
}
