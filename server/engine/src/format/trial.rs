//! One run of a formatter over a copy of a text. However it ends, and whoever still waits for it, it leaves nothing of its own behind.

use std::sync::Arc;

use copydesk_workspace::disk::Expected;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use tokio_util::sync::CancellationToken;

use crate::ports::{CommandEnd, Files, OutputSink, Shell, ShellCommand, ShellOutcome};

pub(super) struct Trial {
    pub(super) files: Arc<dyn Files>,
    pub(super) shell: Arc<dyn Shell>,
    pub(super) input: AbsPath,
    pub(super) output: AbsPath,
    /// The folder that the command makes beside the file, and removes where it comes to its end.
    pub(super) copy: Option<AbsPath>,
    pub(super) given: Vec<u8>,
    pub(super) command: ShellCommand,
}

impl Trial {
    /// How the command ended, and what it wrote. Dropping this cancels the command; what it has left is removed all the same.
    pub(super) async fn run(self, cancel: CancellationToken) -> Result<(ShellOutcome, Option<Vec<u8>>), String> {
        let _end = cancel.clone().drop_guard();
        let run = tokio::spawn(self.end_to_end(cancel));
        run.await.map_err(|_| "its run failed by a fault inside Copydesk, which is in its log".to_owned())?
    }

    async fn end_to_end(self, cancel: CancellationToken) -> Result<(ShellOutcome, Option<Vec<u8>>), String> {
        let kept = self.files.write(self.input.clone(), self.given.clone(), Expected::Absent).await;
        kept.map_err(|error| error.to_string())?;
        let outcome = self.shell.run(self.command.clone(), OutputSink::nowhere(), cancel).await;
        let made = self.files.read(self.output.clone()).await.ok();
        if let Some(made) = &made {
            self.forget(&self.output, made).await;
        }
        let was_cut_short = !matches!(&outcome, Ok(ShellOutcome { end: CommandEnd::Exited(_), .. }));
        if let Some(copy) = self.copy.as_ref().filter(|_| was_cut_short) {
            self.remove(copy).await;
        }
        self.forget(&self.input, &self.given).await;
        Ok((outcome.map_err(|error| error.to_string())?, made))
    }

    async fn forget(&self, path: &AbsPath, bytes: &[u8]) {
        if let Err(error) = self.files.remove(path.clone(), ContentHash::of(bytes)).await {
            tracing::debug!(%error, "a file of a formatter stays");
        }
    }

    /// Nobody's cancel ends this: it is no work, but the end of it.
    async fn remove(&self, copy: &AbsPath) {
        if self.files.stat(copy.clone()).await.is_err() {
            return;
        }
        let text = super::command::removal(copy);
        let command = ShellCommand { command: text, ..self.command.clone() };
        if let Err(error) = self.shell.run(command, OutputSink::nowhere(), CancellationToken::new()).await {
            tracing::warn!(%error, folder = %copy, "the copy of a formatter stays");
        }
    }
}
