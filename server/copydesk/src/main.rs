//! The `copydesk` program: nothing but the entry point.
fn main() {}
