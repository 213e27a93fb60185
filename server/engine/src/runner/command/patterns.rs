//! Patterns of file names, where a file has the name of an option: `tar cf a.tar *` beside a file named `--checkpoint-action=exec=x`.

use super::{Gathered, changes_globs};
use crate::permission::shell::{Analysis, FileAccess, FileUse, Gap, Links, Pattern, Place, Unknown};
use crate::runner::expand::{self, Expanded};

impl Gathered<'_> {
    /// Those of the patterns that may mean an option.
    pub(super) async fn named_patterns(&self, analysis: &Analysis) -> Vec<Pattern> {
        let mut named = Vec::new();
        for pattern in &analysis.patterns {
            if self.may_mean_an_option(pattern, analysis).await {
                named.push(pattern.clone());
            }
        }
        named
    }

    pub(super) fn pattern(&mut self, pattern: &Pattern) {
        let reason = "a file may have the name of an option; write ./* or -- before it".to_owned();
        self.unknown(&Unknown { span: pattern.span.clone(), reason, gap: Gap::Part });
    }

    async fn may_mean_an_option(&self, pattern: &Pattern, analysis: &Analysis) -> bool {
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
        if is_filled || analysis.files.iter().any(is_made) || changes_globs(&self.line.text) {
            return true;
        }
        match expand::glob(&self.deps.ports.files, base, pattern).await {
            Expanded::All(paths) => paths.iter().any(|path| {
                let word = path.as_path().strip_prefix(base.as_path()).unwrap_or(path.as_path());
                word.as_os_str().as_encoded_bytes().starts_with(b"-")
            }),
            Expanded::TooMany | Expanded::NotUnderstood => true,
        }
    }
}
