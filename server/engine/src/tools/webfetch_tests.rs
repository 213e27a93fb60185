use std::time::Duration;

use serde_json::json;

use crate::image::Image;
use crate::media::Media;
use crate::message::ToolStatus;
use crate::permission::Verdict;
use crate::ports::{HttpAnswer, HttpError, HttpLimits, OptionKind, Preview, Reach};
use crate::testing::png_bytes;
use crate::web::HostPattern;
use crate::workbench::Bench;

const HTML: &[(&str, &str)] = &[("content-type", "text/html; charset=utf-8")];

/// Every address is allowed by a rule of the user's.
fn bench() -> Bench {
    Bench::new().rule("webfetch", "*", Verdict::Allow)
}

#[tokio::test]
async fn a_page_comes_in_the_form_that_was_asked_for() {
    let bench = bench();
    bench.http.answer("https://docs.example/a?b=1", 200, HTML, "<h1>x</h1>");
    let call = async |format: &str| {
        bench.done("webfetch", json!({"url": "https://docs.example/a?b=1#part", "format": format})).await
    };
    assert_eq!(call("markdown").await, "Markdown: <h1>x</h1>");
    assert_eq!(call("text").await, "Text: <h1>x</h1>");
    assert_eq!(call("html").await, "<h1>x</h1>");
    let asked = bench.http.asked();
    let accept = |at: usize| asked[at].headers.iter().find(|(name, _)| *name == "accept").unwrap().1.clone();
    assert!(accept(0).starts_with("text/markdown,") && accept(2).starts_with("text/html,"));
    assert_eq!(asked[0].reach, Reach::Public);
    assert_eq!(asked[0].limits.total.as_secs(), 30);
}

#[tokio::test]
async fn other_text_comes_as_it_is_and_what_is_binary_is_described() {
    let bench = bench();
    let check = async |kind: &str, body: &[u8], expected: &str| {
        bench.http.answer("https://x.example/", 200, &[("content-type", kind)], body);
        assert_eq!(bench.done("webfetch", json!({"url": "https://x.example"})).await, expected);
    };
    check("application/json", b"{\"a\": 1}", "{\"a\": 1}").await;
    check("text/plain; charset=iso-8859-1", b"caf\xe9", "caf\u{e9}").await;
    check("application/pdf", b"%PDF", "Binary content (application/pdf, 4 bytes). It is not shown.").await;
}

/// By its bytes, whatever the server calls it; once it is fetched it is like one that was read.
#[tokio::test]
async fn an_image_is_shown_to_the_model() {
    for kind in ["image/png", "text/html", "application/octet-stream"] {
        let bench = bench();
        bench.http.answer("https://x.example/", 200, &[("content-type", kind)], png_bytes(640, 480));
        let outcome = bench.call("webfetch", json!({"url": "https://x.example"})).await;
        let image: Media = Image::new(png_bytes(640, 480)).unwrap().into();
        assert_eq!((outcome.view.media, outcome.result.media), (vec![image.clone()], vec![image.part()]), "{kind}");
        assert_eq!(outcome.result.text, "An image (image/png, 640 × 480 pixels, 57 bytes).");
    }
}

#[tokio::test]
async fn an_image_that_no_model_takes_says_why_it_is_not_shown() {
    let mut bench = bench();
    bench.config.max_image_base64_bytes = 70;
    let check = async |kind: &str, body: Vec<u8>, is_cut: bool| {
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        let answer = HttpAnswer { status: 200, headers, body, is_cut };
        bench.http.will("https://x.example/", Ok(answer));
        let outcome = bench.call("webfetch", json!({"url": "https://x.example"})).await;
        assert!(outcome.view.media.is_empty() && outcome.result.media.is_empty(), "{kind}");
        outcome.result.text
    };
    assert!(check("image/png", png_bytes(2, 2), true).await.ends_with("It is not shown: its end was not read."));
    assert!(check("image/png", png_bytes(2, 2), false).await.contains("It is not shown: "), "76 bytes of base64");
    assert!(check("image/bmp", b"BM".to_vec(), false).await.contains("(image/bmp, 2 bytes). It is not shown: "));
}

/// C66: a binary is described, whatever it is called.
#[tokio::test]
async fn c66_a_png_is_described_not_dumped() {
    let bench = bench();
    bench.http.answer("https://x.example/page.html", 200, HTML, png_bytes(1, 1));
    let text = bench.done("webfetch", json!({"url": "https://x.example/page.html"})).await;
    assert!(text.starts_with("An image (image/png, 1 × 1 pixels"), "{text}");
}

#[tokio::test]
async fn r10_1_a_long_page_is_capped_and_kept_and_one_that_was_cut_says_so() {
    let bench = bench();
    let body = "line\n".repeat(20_000);
    let answer = HttpAnswer {
        status: 200,
        headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
        body: body.into_bytes(),
        is_cut: true,
    };
    bench.http.will("https://x.example/", Ok(answer));
    let text = bench.done("webfetch", json!({"url": "https://x.example"})).await;
    assert!(text.starts_with("(It goes on: only its first 100000 bytes were read.)\n\nline\n"), "{}", &text[..200]);
    assert!(text.len() < 60_000 && text.contains("/data/tool-output/"), "{}", &text[text.len() - 300..]);
}

/// R19.2: the numbers themselves, on each hop and on the second try of a challenge; what holds them is the port's.
#[tokio::test]
async fn r19_2_c66_five_mebibytes_fifteen_seconds_of_silence_and_two_minutes_are_the_most() {
    let limits = |seconds: f64| HttpLimits {
        bytes: 5 * 1024 * 1024,
        total: Duration::from_secs_f64(seconds),
        idle: Duration::from_secs(15),
    };
    for (timeout, seconds) in [
        (json!(null), 30.0),
        (json!(0.5), 0.5),
        (json!(120), 120.0),
        (json!(121), 120.0),
        (json!(86_400), 120.0),
        (json!(1e300), 120.0),
    ] {
        let bench = bench();
        bench.http.answer("https://x.example/", 302, &[("location", "https://y.example/")], "");
        bench.http.answer("https://y.example/", 403, &[("cf-mitigated", "challenge")], "");
        bench.failed("webfetch", json!({"url": "https://x.example", "timeout": timeout})).await;
        let held: Vec<_> = bench.http.asked().iter().map(|asked| asked.limits).collect();
        assert_eq!(held, [limits(seconds); 3], "{timeout}");
    }
    for timeout in [json!(-1), json!(0), json!(-1e300)] {
        let bench = bench();
        let text = bench.failed("webfetch", json!({"url": "https://x.example", "timeout": timeout})).await;
        assert!(text.contains("`timeout` must be"), "{text}");
        assert!(bench.http.asked().is_empty());
    }
}

#[tokio::test]
async fn r19_2_only_http_and_no_addresses_inside() {
    let bench = bench();
    let check = async |url: &str, expected: &str| {
        let text = bench.failed("webfetch", json!({"url": url})).await;
        assert!(text.contains(expected), "{url}: {text}");
    };
    check("file:///etc/hostname", "`url`: an address begins with http:// or https://").await;
    check("ftp://x/", "`url`: an address begins with").await;
    check("https://user:word@x.example/", "a user's name or password").await;
    check("http://0:0:0:0:0:0:0:1/", "`url`: this is no valid address").await;
    for host in ["127.0.0.1", "2130706433", "[::1]", "[::ffff:169.254.169.254]", "10.0.0.1", "0.0.0.0"] {
        check(&format!("http://{host}/"), "an address inside of a network").await;
    }
    assert_eq!(bench.http.addresses(), Vec::<String>::new());
}

/// C66: each hop is judged like the first, and a redirect may lead anywhere.
#[tokio::test]
async fn c66_redirects_to_inside_and_to_files_are_refused() {
    let check = async |location: &str, expected: &str| {
        let bench = bench();
        bench.http.answer("https://x.example/", 302, &[("location", location)], "");
        let text = bench.failed("webfetch", json!({"url": "https://x.example"})).await;
        assert!(text.contains(expected), "{location}: {text}");
        assert_eq!(bench.http.addresses(), ["https://x.example/"]);
    };
    check("http://127.0.0.1:9/", "an address inside of a network").await;
    check("http://[::ffff:169.254.169.254]/", "an address inside of a network").await;
    check("http://0:0:0:0:0:0:0:1/", "which is not followed: this is no valid address").await;
    check("file:///etc/hostname", "which is not followed: an address begins with http").await;

    // A name is told by the port, which connects to what it means.
    let bench = bench();
    bench.http.answer("https://x.example/", 302, &[("location", "https://inside.example/")], "");
    let inside = HttpError::Inside { host: "inside.example".to_owned(), address: "10.0.0.1".parse().unwrap() };
    bench.http.will("https://inside.example/", Err(inside));
    let text = bench.failed("webfetch", json!({"url": "https://x.example"})).await;
    assert!(text.contains("inside.example is 10.0.0.1"), "{text}");
}

#[tokio::test]
async fn r19_2_hosts_that_the_user_lists_may_lie_inside() {
    let mut bench = bench();
    bench.config.web.private_hosts = vec![HostPattern::parse("localhost:3000").unwrap()];
    bench.http.answer("http://localhost:3000/", 200, HTML, "in");
    assert_eq!(bench.done("webfetch", json!({"url": "http://localhost:3000"})).await, "Markdown: in");
    assert_eq!(bench.http.asked()[0].reach, Reach::Anywhere);
    let _ = bench.call("webfetch", json!({"url": "http://localhost:3001"})).await;
    assert_eq!(bench.http.asked()[1].reach, Reach::Public);
}

#[tokio::test]
async fn without_a_rule_an_address_is_asked_and_an_answer_holds_for_the_host() {
    let bench = Bench::new();
    bench.http.answer("https://x.example/a", 200, HTML, "a");
    bench.http.answer("https://x.example/b", 200, HTML, "b");
    let answer = async {
        let ask = bench.client.next_ask().await;
        assert_eq!(ask.ask.preview, Preview::Access("https://x.example/a".to_owned()));
        assert!(
            ask.ask.reason.contains("addresses are asked unless a rule of yours allows them"),
            "{}",
            ask.ask.reason
        );
        let option = ask.ask.options.iter().find(|option| option.kind == OptionKind::AllowAlways).unwrap();
        assert!(option.label.contains("every address at https://x.example (agent build)"), "{}", option.label);
        ask.select(OptionKind::AllowAlways, None);
    };
    let (text, ()) = tokio::join!(bench.done("webfetch", json!({"url": "https://x.example/a"})), answer);
    assert_eq!(text, "Markdown: a");
    assert_eq!(bench.done("webfetch", json!({"url": "https://x.example/b"})).await, "Markdown: b");
}

/// R19.2: each new host is asked, another address of a host that was allowed is not; what comes after the consent is not fetched twice.
#[tokio::test]
async fn r19_2_redirects_ask_for_each_new_host() {
    let bench = Bench::new();
    bench.http.answer("http://x.example/", 301, &[("location", "https://x.example/")], "");
    bench.http.answer("https://x.example/", 302, &[("location", "/next")], "");
    bench.http.answer("https://x.example/next", 307, &[("location", "https://y.example/")], "");
    bench.http.answer("https://y.example/", 200, HTML, "there");
    let answers = async {
        let mut shown = Vec::new();
        for _ in 0..2 {
            let ask = bench.client.next_ask().await;
            shown.push(ask.ask.preview.clone());
            ask.select(OptionKind::AllowOnce, None);
        }
        shown
    };
    let (outcome, shown) = tokio::join!(bench.call("webfetch", json!({"url": "http://x.example"})), answers);
    // R9.4: what allowed each of its steps.
    let allowed_by = outcome.result.allowed_by.join("\n");
    assert!(allowed_by.contains("x.example") && allowed_by.contains("y.example"), "{allowed_by}");
    assert_eq!(outcome.result.text, "(http://x.example/ redirects to https://y.example/.)\n\nMarkdown: there");
    let access = |text: &str| Preview::Access(text.to_owned());
    let onward = "https://y.example/\n(redirected from http://x.example/)";
    assert_eq!(shown, [access("http://x.example/"), access(onward)]);
    let fetched = ["http://x.example/", "https://x.example/", "https://x.example/next", "https://y.example/"];
    assert_eq!(bench.http.addresses(), fetched);
}

#[tokio::test]
async fn r19_2_a_rejected_host_is_not_fetched_and_a_denied_one_not_asked() {
    let bench = Bench::new().rule("webfetch", "https://x.example/*", Verdict::Allow);
    bench.http.answer("https://x.example/", 302, &[("location", "https://y.example/")], "");
    let reject = async { bench.client.next_ask().await.select(OptionKind::RejectOnce, None) };
    let (outcome, ()) = tokio::join!(bench.call("webfetch", json!({"url": "https://x.example"})), reject);
    assert_eq!(outcome.result.status, ToolStatus::Failed);
    assert_eq!(bench.http.addresses(), ["https://x.example/"]);

    let bench = bench_denying();
    bench.http.answer("https://x.example/", 302, &[("location", "/%70rivate/a")], "");
    let text = bench.failed("webfetch", json!({"url": "https://x.example"})).await;
    assert!(text.contains("denied by rule webfetch \"https://x.example/private/*\""), "{text}");
}

fn bench_denying() -> Bench {
    bench().rule("webfetch", "https://x.example/private/*", Verdict::Deny)
}

#[tokio::test]
async fn r19_2_redirects_that_go_round_end() {
    let bench = bench();
    bench.http.answer("https://x.example/", 302, &[("location", "/")], "");
    let text = bench.failed("webfetch", json!({"url": "https://x.example"})).await;
    assert!(text.starts_with("It leads on for more than 10 steps"), "{text}");
    assert_eq!(bench.http.addresses().len(), 11);
}

#[tokio::test]
async fn failures_say_what_happened() {
    let bench = bench();
    bench.http.answer("https://x.example/gone", 404, &[], "");
    let text = bench.failed("webfetch", json!({"url": "https://x.example/gone"})).await;
    assert_eq!(text, "https://x.example/gone answered with status 404; nothing was fetched");
    let refused = HttpError::Refused { host: "x.example".to_owned() };
    bench.http.will("https://x.example/", Err(refused));
    let text = bench.failed("webfetch", json!({"url": "https://x.example/"})).await;
    assert!(text.contains("nothing listens there") && text.ends_with("It may work a little later."), "{text}");
    let text = bench.failed("webfetch", json!({"url": "https://x.example/", "timeout": 0})).await;
    assert!(text.contains("`timeout` must be"), "{text}");
    bench.http.answer("https://x.example/cf", 403, &[("cf-mitigated", "challenge")], "");
    bench.failed("webfetch", json!({"url": "https://x.example/cf"})).await;
    let asked = bench.http.asked();
    let agents = |at: usize| asked[at].headers[0].1.clone();
    assert!(agents(asked.len() - 2).starts_with("Mozilla/5.0 (compatible; copydesk/"));
    assert!(agents(asked.len() - 1).starts_with("copydesk/"));
}

/// How a call for this address ends before anything is sent: `allowed`, `asked` or `denied`.
async fn judged(bench: &Bench, url: &str) -> &'static str {
    let before = bench.http.asked().len();
    let call = bench.call("webfetch", json!({ "url": url }));
    tokio::pin!(call);
    tokio::select! {
        biased;
        ask = bench.client.next_ask() => {
            ask.select(OptionKind::RejectOnce, None);
            call.await;
            assert_eq!(bench.http.asked().len(), before, "{url}");
            "asked"
        }
        outcome = &mut call => if bench.http.asked().len() > before {
            "allowed"
        } else {
            assert!(outcome.result.text.contains("denied by rule"), "{url}: {}", outcome.result.text);
            "denied"
        }
    }
}

/// A `*` for a part of the host is no word about what stands behind another host: there anybody can write anything.
#[tokio::test]
async fn r19_2_an_allowing_rule_for_hosts_is_met_by_the_host_alone() {
    for pattern in ["https://*.corp.example/*", "*://*.corp.example/*", "*.corp.example/*", "*//docs.corp.example/*"] {
        let bench = Bench::new().rule("webfetch", pattern, Verdict::Allow);
        for evil in [
            "https://evil.example/.corp.example/stolen",
            "https://evil.example/docs.corp.example/",
            "https://evil.example/?to=https://docs.corp.example/",
            "https://evil.example/https://docs.corp.example/x",
            "https://evil.example/https:/docs.corp.example//docs.corp.example/x",
        ] {
            assert_eq!(judged(&bench, evil).await, "asked", "{pattern} {evil}");
        }
        assert_eq!(judged(&bench, "https://docs.corp.example/x/y?z=/").await, "allowed", "{pattern}");
    }
    // What says nothing of a host is met by every one.
    let bench = Bench::new().rule("webfetch", "*/docs/*", Verdict::Allow);
    assert_eq!(judged(&bench, "https://any.example/a/docs/b").await, "allowed");
    let bench = Bench::new().rule("webfetch", "https://*", Verdict::Allow);
    assert_eq!(judged(&bench, "https://any.example/a").await, "allowed");
    assert_eq!(judged(&bench, "http://any.example/a").await, "asked");
}

/// One host has many spellings, in rules as in addresses.
#[tokio::test]
async fn r19_2_a_denied_place_is_denied_in_every_spelling() {
    let check = async |pattern: &str, urls: &[&str]| {
        let bench = bench().rule("webfetch", pattern, Verdict::Deny);
        for url in urls {
            assert_eq!(judged(&bench, url).await, "denied", "{pattern} {url}");
        }
        assert_eq!(judged(&bench, "https://other.example/").await, "allowed", "{pattern}");
    };
    let spelled = ["https://x.example/", "https://x.example./a", "https://X.EXAMPLE/", "https://x.example:443/"];
    for pattern in ["https://x.example/*", "https://X.Example/*", "https://x.example:443/*", "https://x.example./*"] {
        check(pattern, &spelled).await;
    }
    let umlaut = ["https://b\u{fc}cher.example/", "https://xn--bcher-kva.example/a"];
    check("https://b\u{fc}cher.example/*", &umlaut).await;
    check("https://*.B\u{fc}cher.example/*", &["https://a.b\u{fc}cher.example/"]).await;
    check("http://127.1/*", &["http://127.0.0.1/", "http://0x7f.1/x"]).await;
    check(
        "https://x.example/private/*",
        &[
            "https://x.example/%70rivate/a",
            "https://x.example/public/..%2fprivate/a",
            "https://x.example/public/%2e%2e/private/a",
            "https://x.example//private/a",
            "https://x.example/public//../../private/a",
            "https://x.example\\private\\a",
        ],
    )
    .await;
}

#[tokio::test]
async fn r19_2_a_place_that_is_to_be_asked_is_asked_in_every_spelling() {
    let bench = bench().rule("webfetch", "https://x.example/private/*", Verdict::Ask);
    assert_eq!(judged(&bench, "https://x.example/public/a").await, "allowed");
    for url in ["https://x.example/private/a", "https://x.example/%70rivate/a", "https://x.example./private/a"] {
        assert_eq!(judged(&bench, url).await, "asked", "{url}");
    }
    // What is asked of every address but one is not asked of that one.
    let but_one =
        Bench::new().rule("webfetch", "*", Verdict::Ask).rule("webfetch", "https://x.example/a%20b", Verdict::Allow);
    assert_eq!(judged(&but_one, "https://x.example/a%20b").await, "allowed");
    // By a redirect too.
    bench.http.answer("https://x.example/", 302, &[("location", "/%70rivate/a")], "");
    let reject = async { bench.client.next_ask().await.select(OptionKind::RejectOnce, None) };
    let (outcome, ()) = tokio::join!(bench.call("webfetch", json!({"url": "https://x.example/"})), reject);
    assert_eq!(outcome.result.status, ToolStatus::Failed);
    assert!(!bench.http.addresses().contains(&"https://x.example/%70rivate/a".to_owned()));
}

/// A server may compress in a way that it was not asked for: what is left of that is no text.
#[tokio::test]
async fn what_is_compressed_in_an_unknown_way_is_told_and_not_shown() {
    let bench = bench();
    for (encoding, is_shown) in [
        ("br", false),
        ("zstd", false),
        ("gzip, br", false),
        ("identity", true),
        ("utf-8", true),
        ("aws-chunked", true),
        ("", true),
    ] {
        let headers = [("content-type", "text/plain"), ("content-encoding", encoding)];
        bench.http.answer("https://x.example/", 200, &headers, "words");
        let outcome = bench.call("webfetch", json!({"url": "https://x.example"})).await;
        let text = outcome.result.text;
        assert_eq!(text == "words", is_shown, "{encoding}: {text}");
        assert!(is_shown || text.contains(&format!("compressed as {encoding}")), "{text}");
    }
}
