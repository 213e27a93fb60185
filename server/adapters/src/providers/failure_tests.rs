//! Statuses, codes and headers as kinds and texts.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::time::Duration;

use copydesk_engine::ports::{ModelErrorKind, ModelRequest, ModelSettings, ProviderSettings, WireProtocol};

use super::*;

fn request() -> ModelRequest {
    ModelRequest {
        model: "local/qwen3".parse().unwrap(),
        provider: Arc::new(ProviderSettings {
            id: "local".to_owned(),
            wire: WireProtocol::ChatCompletions,
            base_url: "http://localhost:1/v1".to_owned(),
            key: Some("sk-very-secret".to_owned()),
            headers: [("x-extra".to_owned(), "another-secret".to_owned())].into(),
            header_timeout: Duration::from_secs(5),
            chunk_timeout: Duration::from_secs(5),
            max_retries: 5,
        }),
        settings: ModelSettings::default(),
        system: String::new(),
        messages: Vec::new(),
        tools: Vec::new(),
    }
}

fn classified(status: u16, body: &str) -> ModelError {
    let refusal = Refusal { status, body: body.to_owned(), ..Refusal::default() };
    refused(&request(), "http://localhost:1/v1/chat/completions", &refusal)
}

#[track_caller]
fn check(status: u16, body: &str, expected: ModelErrorKind) {
    let error = classified(status, body);
    assert_eq!(error.kind, expected, "{error}");
}

const RATE_LIMITED: ModelErrorKind = ModelErrorKind::RateLimited { retry_after: None };
const OVERLOADED: ModelErrorKind = ModelErrorKind::Overloaded { retry_after: None };

#[test]
fn r10_3_by_status() {
    check(400, "", ModelErrorKind::Invalid);
    check(401, "", ModelErrorKind::Auth);
    check(402, "", ModelErrorKind::Setup);
    check(403, "", ModelErrorKind::Auth);
    check(404, "", ModelErrorKind::Setup);
    check(307, "", ModelErrorKind::Setup);
    for status in [408, 409, 429] {
        check(status, "", RATE_LIMITED);
    }
    check(413, "", ModelErrorKind::ContextOverflow);
    check(422, "", ModelErrorKind::Invalid);
    for status in [500, 502, 503, 529] {
        check(status, "", OVERLOADED);
    }
    check(504, "", ModelErrorKind::TimedOut);
}

#[test]
fn r10_3_a_400_is_an_overflow_by_its_code_alone() {
    check(
        400,
        r#"{"error":{"message":"too many tokens","code":"context_length_exceeded"}}"#,
        ModelErrorKind::ContextOverflow,
    );
    check(
        400,
        r#"{"error":{"message":"n","type":"exceed_context_size_error","code":400}}"#,
        ModelErrorKind::ContextOverflow,
    );
    let words = r#"{"error":{"message":"prompt is too long: maximum context length is 5 tokens","type":"invalid_request_error"}}"#;
    check(400, words, ModelErrorKind::Invalid);
}

#[test]
fn r10_3_a_code_says_more_than_the_status() {
    check(429, r#"{"error":{"message":"m","code":"insufficient_quota"}}"#, ModelErrorKind::Setup);
    check(400, r#"{"error":{"message":"m","code":"invalid_api_key"}}"#, ModelErrorKind::Auth);
    check(400, r#"{"error":{"message":"m","type":"rate_limit_exceeded"}}"#, RATE_LIMITED);
    check(400, r#"[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]"#, ModelErrorKind::Invalid);
}

#[test]
fn r10_3_texts_say_what_to_do_next() {
    let text = classified(404, r#"{"error":{"message":"model 'qwen3' not found"}}"#).message;
    insta::assert_snapshot!(text, @r#"local knows no model "qwen3" at http://localhost:1/v1/chat/completions. Check the model's name, and whether `provider.local.options.baseURL` is right (most end in /v1). It says (status 404): model 'qwen3' not found"#);
    let text =
        classified(503, "<html><head><title>503 Service\nUnavailable</title></head><body>long</body></html>").message;
    insta::assert_snapshot!(text, @r#"local is overloaded or out of order just now. Try again in a moment. It says (status 503): a web page, "503 Service Unavailable""#);
    let text = classified(401, "").message;
    insta::assert_snapshot!(text, @"local refuses the API key. Check where it comes from: `provider.local.options.apiKey` in the configuration, a variable, or `copydesk auth list`. (status 401)");
    let text = classified(422, r#"{"detail":[{"loc":["body","top_k"],"msg":"extra"}]}"#).message;
    insta::assert_snapshot!(text, @r#"local refuses the request for qwen3. Check the model's options in the configuration. It says (status 422): [{"loc":["body","top_k"],"msg":"extra"}]"#);
}

#[test]
fn secrets_that_a_provider_repeats_are_not_passed_on() {
    let error = classified(401, r#"{"error":{"message":"bad key sk-very-secret, x-extra another-secret"}}"#);
    assert!(error.message.contains("bad key [secret], x-extra [secret]"), "{error}");
}

#[test]
fn long_bodies_are_cut() {
    let error = classified(500, &"word ".repeat(100_000));
    assert!(error.message.len() < 1_000 && error.message.ends_with('…'), "{error}");
}

#[test]
fn retry_after_in_every_form() {
    let now = Timestamp::from_second(784_111_777).unwrap();
    let check = |headers: &[(&str, &str)], expected: Option<Duration>| {
        let header = |name: &str| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        assert_eq!(retry_after(header, now), expected, "{headers:?}");
    };
    check(&[], None);
    check(&[("retry-after", "2")], Some(Duration::from_secs(2)));
    check(&[("retry-after", "0.5")], Some(Duration::from_millis(500)));
    check(&[("retry-after", "9"), ("retry-after-ms", "1500")], Some(Duration::from_millis(1500)));
    check(&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")], Some(Duration::from_secs(10)));
    check(&[("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT")], Some(Duration::ZERO));
    check(&[("retry-after", "soon")], None);
    check(&[("retry-after", "-3")], None);
}

#[test]
fn r10_3_what_is_final_is_final_inside_of_a_stream_too() {
    let told = |code: &str| {
        let object = serde_json::json!({"error": {"type": code, "message": "m"}});
        told(&request(), "http://localhost:1/v1", &provider_error(&object).unwrap()).kind
    };
    for (kind, codes) in [
        (
            ModelErrorKind::Invalid,
            &[
                "invalid_request_error",
                "invalid_prompt",
                "unsupported_value",
                "unsupported_parameter",
                "not_supported_error",
                "content_policy_violation",
            ][..],
        ),
        (ModelErrorKind::Setup, &["billing_error", "insufficient_quota", "not_found_error", "model_not_found"]),
        (ModelErrorKind::Auth, &["authentication_error", "permission_error", "invalid_api_key", "account_deactivated"]),
        (ModelErrorKind::ContextOverflow, &["request_too_large", "context_length_exceeded"]),
    ] {
        for code in codes {
            assert_eq!(told(code), kind, "{code}");
        }
    }
    for code in ["api_error", "overloaded_error", "server_error", "unavailable_error", "news"] {
        let error = ModelError { kind: told(code), message: String::new() };
        assert!(error.retry(), "{code}");
    }
}

#[test]
fn r10_3_a_status_says_more_than_the_word_for_every_refusal() {
    let body = r#"{"error":{"message":"m","type":"invalid_request_error","code":null}}"#;
    check(401, body, ModelErrorKind::Auth);
    check(429, body, RATE_LIMITED);
    check(400, body, ModelErrorKind::Invalid);
}
