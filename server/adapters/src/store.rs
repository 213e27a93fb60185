//! Sessions in an SQLite file. What an entry means is the engine's.

mod changes;
mod contents;
mod eviction;
pub mod inspect;
mod opening;
mod owner;
mod presence;
mod schema;
pub mod sqlite;
