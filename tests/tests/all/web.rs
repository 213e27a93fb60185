//! The web on the built program: `webfetch`, `websearch` and skills, against servers of the test's own. Needs the program: `cargo build -p copydesk`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use copydesk_tests::daemon::Home;
use copydesk_tests::scripted_model::{Reply, Script, ScriptedModel};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Answers every request with this, whatever it asks for; keeps the heads.
async fn serve(kind: &'static str, body: &'static str) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads = Arc::<Mutex<Vec<String>>>::default();
    let kept = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = Vec::new();
            while !bytes.windows(4).any(|end| end == b"\r\n\r\n") && stream.read_buf(&mut bytes).await.unwrap_or(0) > 0
            {
            }
            kept.lock().unwrap().push(String::from_utf8_lossy(&bytes).into_owned());
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (port, heads)
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
