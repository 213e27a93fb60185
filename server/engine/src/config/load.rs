//! Finds, reads and merges the configuration of a folder (levels and substitutions: `docs/configuration.md`).

use super::Config;
use crate::ports::Ports;
use crate::tool::Facts;

/// Never fails: what cannot be read is a problem in the result. Keys of project files that run something, widen a permission or redirect a key are
/// left out and named as problems.
pub async fn load(ports: &Ports, facts: &Facts) -> Config {
    let _ = (ports, facts);
    todo!()
}
