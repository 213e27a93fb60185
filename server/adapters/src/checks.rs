//! Check commands: the problems of a single file, where no editor offers any (R17.1). Only checkers that run no code of the project are used here, and
//! none that knows more than the file: a false problem is worse than none.

mod bash;
pub mod check_command;
mod json;
mod node;
mod python;
mod rustc;
