//! Which files a search looks at that leaves hidden and ignored ones out, as ripgrep does: rather too many than too few. Of rules of ignore files those count
//! by which a folder of a plain name is left out, and those by which anything is looked at all the same (`!name`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use copydesk_workspace::path::AbsPath;

use crate::permission::wildcard_match;
use crate::ports::Files;
use crate::runner::expand::{self, Expanded};

/// Files of ignore rules, in each folder.
const RULES: [&str; 3] = [".gitignore", ".ignore", ".rgignore"];
/// Larger ones are not read: they may name any.
const MOST_BYTES: usize = 64 * 1024;
/// So are more of them.
const MOST_FILES: usize = 64;

/// As `expand::below`, without what the search leaves out.
pub(super) async fn below(files: &Arc<dyn Files>, folder: &AbsPath) -> Expanded<(String, bool)> {
    let mut rules = Rules::default();
    let mut above = Some(folder.clone());
    let mut is_in_repository = false;
    while let Some(folder) = above {
        for name in RULES {
            // What stands above a repository says nothing of what it ignores.
            match is_in_repository {
                false => rules.read(files, folder.join(name)).await,
                true => rules.read_shown(files, folder.join(name)).await,
            }
        }
        is_in_repository |= files.stat(folder.join(".git")).await.is_ok();
        above = folder.parent();
    }
    if !is_in_repository {
        rules.ignored.clear();
    }
    let holds_another = AtomicBool::new(false);
    let is_left_out = |path: &str| {
        holds_another.fetch_or(path.ends_with("/.git"), Ordering::Relaxed);
        !rules.shows(path)
    };
    let Expanded::All(found) = expand::below_but(files, folder, is_left_out).await else {
        return Expanded::TooMany;
    };
    let name_of = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let is_again = holds_another.into_inner() || found.iter().any(|(path, _)| path.ends_with("/.git"));
    let known = rules.shown.len();
    for (path, _) in found.iter().filter(|(path, _)| path.contains('/') && RULES.contains(&name_of(path).as_str())) {
        rules.read_shown(files, folder.join(path)).await;
    }
    if is_again {
        // It does not follow the rules of the one around it.
        rules.ignored.clear();
    }
    let found = match is_again || rules.shown.len() > known {
        false => found,
        true => match expand::below_but(files, folder, |path| !rules.shows(path)).await {
            Expanded::All(found) => found,
            other => return other,
        },
    };
    Expanded::All(found.into_iter().filter(|(path, _)| rules.shows_file(path)).collect())
}

#[derive(Default)]
struct Rules {
    /// Plain names of folders, wherever they lie below.
    ignored: Vec<String>,
    /// Patterns of names, in small letters, that are looked at all the same.
    shown: Vec<String>,
    read: usize,
}

impl Rules {
    async fn read(&mut self, files: &Arc<dyn Files>, path: AbsPath) {
        let text = self.text(files, path).await;
        self.ignored.extend(text.lines().filter_map(ignored));
        self.shown.extend(text.lines().filter_map(shown));
    }

    async fn read_shown(&mut self, files: &Arc<dyn Files>, path: AbsPath) {
        let text = self.text(files, path).await;
        self.shown.extend(text.lines().filter_map(shown));
    }

    async fn text(&mut self, files: &Arc<dyn Files>, path: AbsPath) -> String {
        // Most folders have none.
        let Ok(bytes) = files.read_range(path, 0, MOST_BYTES).await else { return String::new() };
        self.read += 1;
        if bytes.len() == MOST_BYTES || self.read > MOST_FILES {
            return "!*".to_owned();
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether the folder is looked into; those above it are.
    fn shows(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_left_out = name.starts_with('.') || self.ignored.iter().any(|ignored| ignored == name);
        !is_left_out || self.is_shown(name)
    }

    /// Ignored files are judged all the same.
    fn shows_file(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        !name.starts_with('.') || self.is_shown(name)
    }

    fn is_shown(&self, name: &str) -> bool {
        self.shown.iter().any(|shown| wildcard_match(&name.to_lowercase(), shown))
    }
}

/// A rule for a plain name at any depth.
fn ignored(line: &str) -> Option<String> {
    let name = line.strip_suffix('/').unwrap_or(line);
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    (!name.is_empty() && name.chars().all(is_plain)).then(|| name.to_owned())
}

/// What the last component of `!pattern` may mean.
fn shown(line: &str) -> Option<String> {
    let pattern = line.trim().strip_prefix('!')?.trim_end_matches('/');
    let name = pattern.rsplit('/').next().unwrap_or_default();
    // Alternatives, classes of characters, and signs that are escaped.
    let is_plain = !name.contains(['{', '[', '\\']);
    Some(if is_plain { name.to_lowercase() } else { "*".to_owned() })
}
