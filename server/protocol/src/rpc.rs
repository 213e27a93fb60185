//! The JSON-RPC 2.0 peer that serves every connection: both framings, requests both ways, exactly one answer to each, cancel at decode, panics caught,
//! an end on end of input. It knows no method but the two spellings of cancel, and decides nothing about what a message means.
//!
//! Order and limits, which handlers may rely on:
//! - Messages are taken in arrival order on one task, which never waits: not for handlers, not for the output.
//! - A notification has been handled, and a request has been polled once, before the next message is looked at.
//! - A request that waits holds nothing but its own memory; [`MAX_PENDING`] of them may wait at once, more are answered [`RpcError::OVERLOADED`].
//! - One task owns the output. Senders wait while [`QUEUED_OUTPUT`] bytes are not written yet; what the reading task itself has to answer is put in
//!   beyond that, up to [`MAX_QUEUED_OUTPUT`], where the connection ends: a client that asks that much and reads nothing is gone.

mod connection;
mod error;
pub mod framing;
mod handler;
mod message;
mod output;
mod peer;

pub use connection::{End, MAX_PENDING, Options, serve};
pub use error::{CallError, Closed, RpcError};
pub use framing::Framing;
pub use handler::{Handler, Notification, Reply, Request};
pub use message::RequestId;
pub use output::{MAX_QUEUED_OUTPUT, QUEUED_OUTPUT};
pub use peer::{CancelDialect, Peer};
