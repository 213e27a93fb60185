//! Our words on the wire, and the one JSON-RPC peer. Nothing here knows what a session, a tool or a document is for.
#![deny(clippy::disallowed_methods)]

pub mod additions;
pub mod methods;
pub mod rpc;
pub mod schema;
