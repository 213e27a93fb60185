//! Patterns of file names, where a file has the name of an option: `tar cf a.tar *` beside a file named `--checkpoint-action=exec=x`.

use copydesk_workspace::path::AbsPath;

use super::{Gathered, changes_globs};
use crate::permission::shell::{Analysis, FileAccess, FileUse, Gap, Links, Pattern, Place, Unknown};
use crate::runner::expand::{self, Expanded};

impl Gathered<'_> {
    /// Those of the patterns that mean an option, or may.
    pub(super) async fn named_patterns(&self, analysis: &Analysis) -> Vec<(Pattern, Named)> {
        let mut named = Vec::new();
        for pattern in &analysis.patterns {
            if let Some(how) = self.means_an_option(pattern, analysis).await {
                named.push((pattern.clone(), how));
            }
        }
        named
    }

    pub(super) fn pattern(&mut self, pattern: &Pattern, how: Named) {
        let (reason, gap) = match how {
            // Options run commands and delete files, of which nothing stands in the text.
            Named::There => ("a file has the name of an option", Gap::Unread),
            Named::Perhaps => ("a file may have the name of an option", Gap::Part),
        };
        let reason = format!("{reason}; write ./* or -- before it");
        self.unknown(&Unknown { span: pattern.span.clone(), reason, gap });
    }

    async fn means_an_option(&self, pattern: &Pattern, analysis: &Analysis) -> Option<Named> {
        let Pattern { span, base, pattern } = pattern;
        // What the command itself puts there is not on the disk yet.
        let is_made = |used: &FileUse| match &used.place {
            Place::File(path) if used.access == FileAccess::Write => {
                path.as_path().file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"-"))
            }
            _ => false,
        };
        let is_before = |links: &&Links| links.is_repeated || links.span.start <= span.start;
        let is_filled = self
            .linked
            .iter()
            .filter(is_before)
            .any(|links| links.source.is_unseen() && links.at.iter().any(|at| base.starts_with(at)));
        if analysis.files.iter().any(is_made) {
            return Some(Named::There);
        }
        if is_filled || changes_globs(&self.line.text) {
            return Some(Named::Perhaps);
        }
        let files = &self.deps.ports.files;
        match expand::glob(files, base, pattern).await {
            Expanded::All(paths) => {
                let is_named = |path: &AbsPath| {
                    let word = path.as_path().strip_prefix(base.as_path()).unwrap_or(path.as_path());
                    word.as_os_str().as_encoded_bytes().starts_with(b"-")
                };
                paths.iter().any(is_named).then_some(Named::There)
            }
            // Each word that it makes begins with a name of this folder.
            Expanded::TooMany => match files.list(base.clone()).await {
                Ok(entries) => entries.iter().any(|entry| entry.name.starts_with('-')).then_some(Named::There),
                Err(_) => Some(Named::Perhaps),
            },
            Expanded::NotUnderstood => Some(Named::Perhaps),
        }
    }
}

/// Whether a pattern means a file with the name of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    There,
    /// It cannot be told.
    Perhaps,
}
