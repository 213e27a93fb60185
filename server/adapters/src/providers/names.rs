//! Names and ids of calls as providers take them back, whatever a model once sent.

use serde_json::{Value, json};

/// `[A-Za-z0-9_-]`, 1 to 64.
pub(super) fn function_name(name: &str) -> String {
    let name: String =
        name.chars().take(64).map(|c| if u8::try_from(c).is_ok_and(is_usual) { c } else { '_' }).collect();
    if name.is_empty() { "invalid".to_owned() } else { name }
}

/// `[A-Za-z0-9_-]`, 1 to 40; the same for the same id, in call and result.
pub(super) fn call_id(id: &str) -> String {
    if (1..=40).contains(&id.len()) && id.bytes().all(is_usual) { id.to_owned() } else { format!("call_{}", nine(id)) }
}

/// `[A-Za-z0-9]`, exactly nine: they hold 53 bits of the id's hash (FNV-1a, 64 bits), enough to keep the calls of a session apart.
pub(super) fn nine(id: &str) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut hash = id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (0..9)
        .map(|_| {
            let digit = DIGITS[(hash % 62) as usize];
            hash /= 62;
            char::from(digit)
        })
        .collect()
}

/// Providers take nothing but a JSON object.
pub(super) fn input(input: &Value) -> Value {
    match input {
        Value::Object(_) => input.clone(),
        Value::Null => json!({}),
        other => json!({"value": other}),
    }
}

fn is_usual(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}
