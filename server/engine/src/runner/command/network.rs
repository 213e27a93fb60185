//! Commands beside others for which the sandbox is opened.

use super::{Gathered, quoted};
use crate::permission::shell::SimpleCommand;
use crate::runner::access::{Need, Subject};

impl Gathered<'_> {
    /// In the sandbox: one holds the whole text: what opens it for one part opens it for what other parts run. Of one repository git runs the same hooks with and
    /// without the network.
    pub(super) fn beside_the_network(&mut self, commands: &[SimpleCommand]) {
        if self.deps.config.sandbox.network {
            return;
        }
        let Some(open) = commands.iter().find(|command| command.effect.network) else { return };
        let is_git = |command: &SimpleCommand| command.program() == "git";
        let all_git = commands.iter().filter(|command| command.effect.network).all(is_git);
        for command in commands {
            let effect = &command.effect;
            let is_known = effect.network || effect.reads_only || effect.is_file_work;
            if is_known || all_git && is_git(command) {
                continue;
            }
            let (other, open) = (quoted(&command.pattern), quoted(&open.pattern));
            self.needs.push(Need {
                permission: "bash".to_owned(),
                values: vec![self.line.text.trim().to_owned()],
                aliases: Vec::new(),
                subject: Subject::Together,
                what: format!(
                    "{other} would run with the network, since {open} needs it and one sandbox holds the whole command"
                ),
                always: Some("this exact command".to_owned()),
                part: Some(self.part(&command.span)),
            });
        }
    }
}
