//! Writing a file through an editor that takes whole texts (ACP's `fs/write_text_file`), so that its buffer follows. What it says of it is not believed: the
//! file and its buffer are looked at afterwards.

use copydesk_workspace::disk::DiskError;
use copydesk_workspace::encoding;
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use ropey::Rope;

use super::View;
use super::apply::DiskEdit;
use super::held::{Held, MARK, plain};

/// How the bytes of an edit get into their file.
#[derive(Debug, Clone)]
pub(super) enum Route {
    /// An atomic write of ours.
    Disk,
    /// One for an editor that was to write them and did not: it may do so yet.
    DiskBeforeEditor,
    Editor(Through),
}

#[derive(Debug, Clone)]
pub(super) struct Through {
    /// As the editor knows the file.
    path: AbsPath,
    /// The editor loads texts with `\n` alone, and puts the file's line endings back when it saves.
    has_plain_lines: bool,
    has_mark: bool,
}

impl Through {
    /// In the words in which the editor told the file's text.
    pub(super) fn like(held: Held, base: &Rope) -> Self {
        let has_lines = |text: &str| text.contains('\n') && !text.contains('\r');
        Self {
            has_plain_lines: has_lines(&held.text) && base.chars().any(|c| c == '\r'),
            has_mark: held.text.starts_with(MARK),
            path: held.path,
        }
    }

    pub(super) fn plainly(path: AbsPath) -> Self {
        Self { path, has_plain_lines: false, has_mark: false }
    }

    fn words(&self, text: &Rope) -> String {
        let text = text.to_string();
        let text = if self.has_plain_lines { plain(&text).into_owned() } else { text };
        if self.has_mark { format!("{MARK}{text}") } else { text }
    }
}

impl View {
    /// Where the editor may write it yet, the error is `Torn`. The text of the file afterwards: more than the edit where the user typed meanwhile, or the editor formats what it saves.
    pub(super) async fn write_through(&self, edit: &DiskEdit, through: &Through) -> Result<Rope, DiskError> {
        let said = self.editor.write_text(&self.session, &through.path, through.words(&edit.after)).await;
        let path = edit.path.clone();
        let ours = edit.after.to_string();
        let is_ours = |now: &str| plain(now) == plain(&ours);
        let on_disk = self.text_on_disk(edit).await;
        if let Some(now) = on_disk.as_deref().filter(|now| is_ours(now)) {
            self.overlay.texts.agreed(&edit.key, now);
            return Ok(Rope::from(now));
        }
        let reads = self.editor.texts().reads;
        let held = if reads { self.held(&edit.path, &edit.key).await.ok().flatten() } else { None };
        let held = held.map(|held| held.text);
        let now = held.filter(|held| is_ours(held) || said.is_ok()).or(on_disk.filter(|_| said.is_ok()));
        let is_before =
            |now: &str| edit.before.as_ref().is_some_and(|before| plain(now) == plain(&before.text.to_string()));
        match (now, said) {
            (Some(now), _) if !is_before(&now) => Ok(Rope::from(now.strip_prefix(MARK).unwrap_or(&now))),
            (_, Err(error)) if error.may_come() => {
                Err(DiskError::Torn { path, reason: format!("it is not changed yet: {error}") })
            }
            (_, Err(error)) => Err(DiskError::Other { path, reason: format!("it was not changed: {error}") }),
            (_, Ok(())) => {
                let reason = "the editor reported the change as done, but the text is what it was before";
                Err(DiskError::Torn { path, reason: reason.to_owned() })
            }
        }
    }

    /// Takes back what `write_through` did, where nobody has changed it since.
    pub(super) async fn revert_through(&self, edit: &DiskEdit, through: &Through) -> Result<(), String> {
        let now = self.text_on_disk(edit).await.ok_or("it cannot be read")?;
        if plain(&now) != plain(&edit.after.to_string()) {
            return Err("it has changed since".to_owned());
        }
        match &edit.before {
            Some(before) => {
                let text = through.words(&before.text);
                let back = self.editor.write_text(&self.session, &through.path, text).await;
                back.map_err(|error| error.to_string())
            }
            None => {
                let path = edit.key.path().clone();
                let bytes = self.files.read(path.clone()).await.map_err(|error| error.to_string())?;
                self.files.remove(path, ContentHash::of(&bytes)).await.map_err(|error| error.to_string())
            }
        }
    }

    async fn text_on_disk(&self, edit: &DiskEdit) -> Option<String> {
        let bytes = self.files.read_real(edit.key.path().clone()).await.ok()?;
        encoding::decode(&bytes).ok().map(|(text, _)| text.into_owned())
    }
}
