//! The settings of the sandbox: the user's, made stricter by what a project says.

use copydesk_workspace::path::AbsPath;

use super::raw::RawSandbox;
use super::rules::expand_home;
use crate::confinement::SandboxSettings;
use crate::tool::Facts;

pub(super) fn sandbox(user: &RawSandbox, project: &RawSandbox, facts: &Facts, home: &AbsPath) -> SandboxSettings {
    let places = |written: &[String]| -> Vec<AbsPath> {
        let place = |text: &String| facts.folder.join(expand_home(text, home));
        written.iter().filter(|text| !text.trim().is_empty()).map(place).collect()
    };
    SandboxSettings {
        enabled: user.enabled.unwrap_or(true) || project.enabled == Some(true),
        writable: places(&user.writable),
        readable: places(&user.readable),
        unreadable: [places(&user.unreadable), places(&project.unreadable)].concat(),
        network: user.network.unwrap_or(false) && project.network != Some(false),
        environment: user.environment.clone(),
    }
}
