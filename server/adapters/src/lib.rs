//! Everything that touches the outside, a folder a port. Knows no session and no face.
#![allow(clippy::disallowed_methods, reason = "the edge: the ports are implemented here")]

pub mod checks;
pub mod first_available;
pub mod langservers;
pub mod os;
pub mod providers;
pub mod store;
pub mod web;
