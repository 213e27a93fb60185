//! Language servers of the daemon's own, for the problems of files where no editor offers any (R17). No face knows them; they edit nothing.

mod client;
pub mod diagnostic;
mod known;
pub mod language;
mod pool;
mod process;
mod server;
mod servers;
mod table;

pub use pool::LanguageServerPool;
pub use servers::{Standing, standings};
