#![expect(clippy::unwrap_used, reason = "tests")]
//! Shapes of single messages that the tests of the connection do not reach.

use serde_json::json;

use super::*;

fn check(body: &str, expected: Incoming) {
    assert_eq!(parse(body.as_bytes()), expected, "{body}");
}

#[test]
fn r22_7_answers_are_taken_as_peers_write_them() {
    let response = |id, outcome| Incoming::Response { id, outcome };
    check(r#"{"id":3,"result":null}"#, response(Some(3), Ok(Value::Null)));
    check(r#"{"id":3.0,"result":{"a":1}}"#, response(Some(3), Ok(json!({"a": 1}))));
    check(r#"{"id":3,"result":1,"error":null}"#, response(Some(3), Ok(json!(1))));
    check(r#"{"id":3,"error":null}"#, response(Some(3), Ok(Value::Null)));
    check(r#"{"id":"3","result":1}"#, response(None, Ok(json!(1))));
    check(r#"{"id":-3,"result":1}"#, response(None, Ok(json!(1))));
    let error = RpcError::new(-32601, "no").with_data(json!([1]));
    check(r#"{"id":3,"result":null,"error":{"code":-32601,"message":"no","data":[1]}}"#, response(Some(3), Err(error)));
    let shapeless = RpcError::internal("the answer is an error without a code and a message").with_data(json!("boom"));
    check(r#"{"id":3,"error":"boom"}"#, response(Some(3), Err(shapeless)));
}

#[test]
fn r22_7_an_answer_always_has_a_result() {
    let text = |body: Vec<u8>| String::from_utf8(body).unwrap();
    assert_eq!(text(answer(&RequestId::from(1), Ok(Value::Null))), r#"{"jsonrpc":"2.0","id":1,"result":null}"#);
    assert_eq!(
        text(answer(&RequestId::String("é".into()), Err(RpcError::cancelled()))),
        r#"{"jsonrpc":"2.0","id":"é","error":{"code":-32800,"message":"the request was cancelled"}}"#
    );
    assert_eq!(text(call(Some(1), "m", Value::Null)), r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#);
    assert_eq!(text(call(None, "m", json!([]))), r#"{"jsonrpc":"2.0","method":"m","params":[]}"#);
}

#[test]
fn r22_7_a_cancel_names_its_request_by_value() {
    for raw in ["null", "7", "-7", "1.5", "\"a\"", "\"\\u0061\""] {
        let value: Value = serde_json::from_str(raw).unwrap();
        assert_eq!(RequestId::from_value(&value), RequestId::parse(raw), "{raw}");
    }
    assert_eq!(RequestId::from_value(&json!({})), None);
    assert_eq!(RequestId::from_value(&json!(true)), None);
}
