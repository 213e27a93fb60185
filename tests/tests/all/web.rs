//! The web on the built program: `webfetch`, `websearch` and skills, against servers of the test's own. Needs the program: `cargo build -p copydesk`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use copydesk_tests::daemon::Home;
use copydesk_tests::scripted_model::{Reply, Script, ScriptedModel};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Answers every request with this, whatever it asks for; keeps the requests, heads and bodies.
async fn serve(kind: &'static str, body: &'static str) -> (u16, Arc<Mutex<Vec<String>>>) {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n", body.len());
    serve_by(move |_| (format!("{head}Connection: close\r\n\r\n{body}").into_bytes(), Vec::new())).await
}

/// Answers each request, given its path, with the first bytes and then with the second ones until nobody reads them.
async fn serve_by<A>(answer: A) -> (u16, Arc<Mutex<Vec<String>>>)
where
    A: Fn(&str) -> (Vec<u8>, Vec<u8>) + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = Arc::<Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = Vec::new();
            while !is_whole(&bytes) && stream.read_buf(&mut bytes).await.unwrap_or(0) > 0 {}
            let request = String::from_utf8_lossy(&bytes).into_owned();
            let (first, for_ever) = answer(request.split(' ').nth(1).unwrap_or_default());
            kept.lock().unwrap().push(request);
            let mut goes_on = stream.write_all(&first).await.is_ok() && !for_ever.is_empty();
            while goes_on {
                goes_on = stream.write_all(&for_ever).await.is_ok();
            }
        }
    });
    (port, requests)
}

/// Whether the head has come, and as much behind it as it says.
fn is_whole(request: &[u8]) -> bool {
    let Some(end) = request.windows(4).position(|end| end == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    request.len() >= end + 4 + length.unwrap_or(0usize)
}

/// Makes the calls one after another, each in a request of its own.
async fn model(calls: Vec<(&'static str, Value)>) -> ScriptedModel {
    let replies: Vec<Reply> =
        calls.into_iter().map(|(tool, input)| Reply::call(tool, input)).chain([Reply::text("Done.")]).collect();
    ScriptedModel::start(Script::from(replies)).await
}

/// The results that the model got.
async fn run(home: &Home, model: ScriptedModel) -> Vec<String> {
    let child = home.command(&["run", "go"]).spawn().unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), child.wait_with_output()).await.unwrap().unwrap();
    assert!(ended.status.success(), "{}", home.log());
    let requests = model.requests();
    let results = requests.last().unwrap().results().into_iter().map(str::to_owned).collect();
    model.finish();
    results
}

#[tokio::test]
async fn r19_2_c66_a_listed_host_is_read_and_others_inside_are_refused() {
    let (listed, _) = serve("text/html", "<title>T</title><h1>Head</h1><script>no</script><p>A <b>page</b>").await;
    let (other, reached) = serve("text/html", "secret").await;
    let call = |url: String| ("webfetch", json!({ "url": url }));
    let model = model(vec![
        call(format!("http://127.0.0.1:{listed}/")),
        call(format!("http://127.0.0.1:{other}/")),
        call(format!("http://localhost:{other}/")),
    ])
    .await;
    let home = Home::new();
    let keys = json!({
        "permission": { "webfetch": "allow" },
        "web": { "private_hosts": [format!("127.0.0.1:{listed}")] },
    });
    home.use_model_with(&model.base_url(), json!({}), keys);
    let results = run(&home, model).await;
    assert_eq!(results[0], "T\n\n# Head\n\nA **page**");
    for refused in &results[1..] {
        assert!(refused.contains("an address inside of a network"), "{refused}");
    }
    assert!(reached.lock().unwrap().is_empty());
}

/// Each hop is judged anew, by servers that are really there.
#[tokio::test]
async fn r19_2_c66_redirects_to_inside_reach_nothing() {
    let (other, reached) = serve("text/html", "secret").await;
    let inside = "an address inside of a network";
    let hops = [
        (format!("http://127.0.0.1:{other}/"), inside),
        (format!("//127.0.0.1:{other}/"), inside),
        (format!("http://127.1:{other}/"), inside),
        (format!("http://2130706433:{other}/"), inside),
        (format!("http://[::ffff:127.0.0.1]:{other}/"), inside),
        (format!("http://localhost:{other}/"), inside),
        ("http://[::ffff:169.254.169.254]/".to_owned(), inside),
        ("http://10.0.0.1/".to_owned(), inside),
        ("http://0:0:0:0:0:0:0:1/".to_owned(), "which is not followed: this is no valid address"),
        ("file:///etc/hostname".to_owned(), "which is not followed: an address begins with http"),
    ];
    let locations = hops.clone().map(|(location, _)| location);
    // The first hop stays on the server, the second leads away.
    let (stub, asked) = serve_by(move |path| {
        let location = match path.strip_prefix("/second/") {
            Some(number) => locations[number.parse::<usize>().unwrap()].clone(),
            None => format!("/second{path}"),
        };
        let head =
            format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        (head.into_bytes(), Vec::new())
    })
    .await;
    let calls =
        (0..hops.len()).map(|number| ("webfetch", json!({ "url": format!("http://127.0.0.1:{stub}/{number}") })));
    let model = model(calls.collect()).await;
    let home = Home::new();
    let keys = json!({
        "permission": { "webfetch": "allow" },
        "web": { "private_hosts": [format!("127.0.0.1:{stub}")] },
    });
    home.use_model_with(&model.base_url(), json!({}), keys);
    let results = run(&home, model).await;
    assert_eq!(results.len(), hops.len());
    for (result, (location, expected)) in results.iter().zip(&hops) {
        assert!(result.contains(expected), "{location}: {result}");
    }
    assert_eq!(asked.lock().unwrap().len(), 2 * hops.len());
    assert_eq!(*reached.lock().unwrap(), [] as [String; 0]);
}

#[tokio::test]
async fn r19_2_c66_what_never_ends_and_what_is_large_stop_at_five_mebibytes_and_an_image_is_described() {
    let piece = format!("10000\r\n{}\r\n", "line of it\n".repeat(0x10000 / 11 + 1).split_at(0x10000).0);
    let (port, _) = serve_by(move |path| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
        match path {
            "/endless" => {
                (format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes(), piece.clone().into_bytes())
            }
            "/large" => {
                let text = "word\n".repeat(10 << 20);
                (format!("{head}Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes(), Vec::new())
            }
            _ => {
                let image = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x06\0\0\0\0\0\0\0".as_slice();
                let length = format!("Content-Length: {}\r\nConnection: close\r\n\r\n", image.len());
                ([head.as_bytes(), length.as_bytes(), image].concat(), Vec::new())
            }
        }
    })
    .await;
    let call = |path: &str| ("webfetch", json!({ "url": format!("http://127.0.0.1:{port}{path}") }));
    let model = model(vec![call("/endless"), call("/large"), call("/image")]).await;
    let home = Home::new();
    let keys = json!({
        "permission": { "webfetch": "allow" },
        "web": { "private_hosts": [format!("127.0.0.1:{port}")] },
    });
    home.use_model_with(&model.base_url(), json!({}), keys);
    let results = run(&home, model).await;
    for (result, begins) in results.iter().zip(["line of it\n", "word\n"]) {
        let begins = format!("(It goes on: only its first {} bytes were read.)\n\n{begins}", 5 << 20);
        assert!(result.starts_with(&begins) && result.len() < 60_000, "{}", result.split_at(200).0);
    }
    assert!(results[2].contains("image/png") && !results[2].contains("IHDR"), "{}", results[2]);
}

/// The proxy is asked for what it alone can look up; numbers inside do not even get there.
#[tokio::test]
async fn r19_2_the_proxy_of_the_environment_is_used_and_guarded() {
    let (proxy, heads) = serve("text/plain", "by the proxy").await;
    let call = |url: &str| ("webfetch", json!({ "url": url }));
    let model = model(vec![call("http://docs.invalid/page"), call("http://10.0.0.1/"), call("http://wiki/")]).await;
    let mut home = Home::new();
    home.set_variable("HTTP_PROXY", &format!("http://127.0.0.1:{proxy}"));
    home.use_model_with(&model.base_url(), json!({}), json!({ "permission": { "webfetch": "allow" } }));
    let results = run(&home, model).await;
    assert_eq!(results[0], "by the proxy");
    assert!(
        results[1].contains("10.0.0.1 is 10.0.0.1") && results[2].contains("a name inside of a network"),
        "{results:?}"
    );
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 1);
    assert!(heads[0].starts_with("GET http://docs.invalid/page HTTP/1.1\r\n"), "{heads:?}");
}

#[tokio::test]
async fn searches_go_to_the_service_of_the_users_configuration_and_a_project_has_no_say() {
    let (own, asked) =
        serve("application/json", r#"{"results": [{"title": "T", "url": "https://x.example/", "content": "c"}]}"#)
            .await;
    let (evil, reached) = serve("application/json", r#"{"results": []}"#).await;
    let model = model(vec![("websearch", json!({ "query": "two words" }))]).await;
    let home = Home::new();
    home.write("opencode.json", json!({ "websearch": { "url": format!("http://127.0.0.1:{evil}") } }).to_string());
    let keys = json!({ "websearch": { "provider": "searxng", "url": format!("http://127.0.0.1:{own}") } });
    home.use_model_with(&model.base_url(), json!({}), keys);
    let results = run(&home, model).await;
    assert_eq!(results, ["Title: T\nURL: https://x.example/\nText: c"]);
    assert!(asked.lock().unwrap()[0].starts_with("GET /search?q=two+words&format=json HTTP/1.1\r\n"));
    assert!(reached.lock().unwrap().is_empty());
}

/// Exa and Parallel by a call in the body of a POST, and an answer that may be a stream of events.
#[tokio::test]
async fn searches_are_posted_and_their_events_are_read() {
    const REPLY: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Title: T"}]}}"#;
    let events = concat!(
        ": wait\r\n\r\nevent: message\r\n",
        r#"data: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Title: T"}]}}"#,
        "\r\n\r\n"
    );
    for (provider, key, target) in
        [("exa", "EXA_API_KEY", "/mcp?exaApiKey=sk+search%2F1"), ("parallel", "PARALLEL_API_KEY", "/mcp")]
    {
        for (kind, body) in [("text/event-stream", events), ("application/json", REPLY)] {
            let (port, asked) = serve(kind, body).await;
            let model = model(vec![("websearch", json!({ "query": "two \u{fc} \"words\"" }))]).await;
            let mut home = Home::new();
            home.set_variable(key, "sk search/1");
            let url = format!("http://127.0.0.1:{port}/mcp");
            home.use_model_with(
                &model.base_url(),
                json!({}),
                json!({ "websearch": { "provider": provider, "url": url } }),
            );
            assert_eq!(run(&home, model).await, ["Title: T"], "{provider} {kind}");

            let asked = asked.lock().unwrap();
            let [request] = &asked[..] else { panic!("{asked:?}") };
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with(&format!("POST {target} HTTP/1.1\r\n")), "{head}");
            let header = |name: &str| {
                let mut values = head.lines().filter_map(|line| line.split_once(": "));
                values.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
            };
            assert_eq!(header("content-type"), Some("application/json"));
            assert_eq!(header("accept"), Some("application/json, text/event-stream"));
            let authorization = (provider == "parallel").then_some("Bearer sk search/1");
            assert_eq!(header("authorization"), authorization);
            let body: Value = serde_json::from_str(body).unwrap();
            assert_eq!((&body["jsonrpc"], &body["method"]), (&json!("2.0"), &json!("tools/call")));
            let query = match provider {
                "exa" => &body["params"]["arguments"]["query"],
                _ => &body["params"]["arguments"]["objective"],
            };
            assert_eq!(query, "two \u{fc} \"words\"");
        }
    }
}

#[tokio::test]
async fn a_skill_of_the_project_is_told_and_loaded() {
    let model = model(vec![("skill", json!({ "name": "release" }))]).await;
    let home = Home::new();
    home.write(".claude/skills/release/SKILL.md", "---\nname: release\ndescription: How to release\n---\nTag it.\n");
    home.write(".claude/skills/release/steps.md", "1.");
    home.use_model(&model.base_url());
    let child = home.command(&["run", "go"]).spawn().unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), child.wait_with_output()).await.unwrap().unwrap();
    assert!(ended.status.success(), "{}", home.log());
    let requests = model.requests();
    assert!(requests[0].system().contains("<description>How to release</description>"), "{}", requests[0].system());
    let result = requests[1].results()[0].to_owned();
    assert!(result.contains("Tag it.") && result.contains("/.claude/skills/release/steps.md</file>"), "{result}");
    model.finish();
}
