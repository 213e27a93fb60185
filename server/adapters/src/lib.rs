//! Everything that touches the outside, a folder a port. Knows no session and no face.

pub mod checks;
pub mod os;
pub mod providers;
pub mod store;
