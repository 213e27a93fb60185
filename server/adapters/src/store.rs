//! Sessions in an SQLite file. What an entry means is the engine's.

mod owner;
mod presence;
mod schema;
pub mod sqlite;
