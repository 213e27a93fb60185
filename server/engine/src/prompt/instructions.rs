//! Instruction files: which ones there are, and what they say, capped. Addresses in `instructions` are named as a problem, not fetched.

use copydesk_workspace::disk::{DiskError, FileKind};
use copydesk_workspace::encoding;
use copydesk_workspace::path::AbsPath;

use super::glob;
use crate::config::Config;
use crate::permission::{Rule, Verdict, base_rules, decide, path_pattern};
use crate::ports::{Files, Ports};
use crate::tool::Facts;

/// Of these names the first that stands anywhere between folder and worktree wins, with all its occurrences.
pub(super) const PROJECT_NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "CONTEXT.md"];

/// Bytes of one file that the model is given: about 8,000 tokens.
const FILE_LIMIT: usize = 32 * 1024;

/// Bytes of all of them.
const TOTAL_LIMIT: usize = 96 * 1024;

/// What was found, outermost first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Instructions {
    pub files: Vec<InstructionFile>,
    /// For the user: what was not taken, and why.
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    pub path: AbsPath,
    pub text: String,
}

/// Global, then project, then what the configuration names; each file once.
pub async fn read_instructions(ports: &Ports, facts: &Facts, config: &Config) -> Instructions {
    let rules =
        config.agents.get(&config.default_agent).map_or_else(|| base_rules(Some(facts)), |agent| agent.rules.clone());
    let mut reader = Reader::new(&*ports.files, &rules, &facts.worktree, TOTAL_LIMIT);
    let folders = ports.environment.folders();
    let global = [
        folders.config.join("copydesk/AGENTS.md"),
        folders.config.join("opencode/AGENTS.md"),
        folders.home.join(".claude/CLAUDE.md"),
    ];
    for path in global {
        if reader.is_file(&path).await {
            reader.take(path, Origin::User).await;
            break;
        }
    }
    let upwards = upwards(&facts.folder, &facts.worktree);
    for name in PROJECT_NAMES {
        let mut exists = false;
        for folder in upwards.iter().rev() {
            let path = folder.join(name);
            if reader.is_file(&path).await {
                reader.take(path, Origin::Project).await;
                exists = true;
            }
        }
        if exists {
            break;
        }
    }
    for entry in &config.instructions {
        reader.take_configured(entry, &folders.home, &upwards).await;
    }
    reader.found
}

/// The folder and its ancestors up to `top`, innermost first; the folder alone where `top` is not above it.
fn upwards(folder: &AbsPath, top: &AbsPath) -> Vec<AbsPath> {
    let mut folders = vec![folder.clone()];
    if !folder.starts_with(top) {
        return folders;
    }
    let mut at = folder.clone();
    while at != *top
        && let Some(parent) = at.parent()
    {
        folders.push(parent.clone());
        at = parent;
    }
    folders
}

/// Who decided that a file is to be read. What a repository names must lie in it, links resolved, and be readable without an ask: no one was asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    User,
    Project,
}

pub(super) struct Reader<'a> {
    files: &'a dyn Files,
    rules: &'a [Rule],
    /// What files of the project must not lead out of.
    base: &'a AbsPath,
    pub(super) found: Instructions,
    total: usize,
    bytes_left: usize,
}

impl<'a> Reader<'a> {
    /// Gives `total` bytes at most.
    pub(super) fn new(files: &'a dyn Files, rules: &'a [Rule], base: &'a AbsPath, total: usize) -> Self {
        Self { files, rules, base, found: Instructions::default(), total, bytes_left: total }
    }

    pub(super) async fn is_file(&self, path: &AbsPath) -> bool {
        matches!(self.files.stat(path.clone()).await, Ok(stat) if stat.kind == FileKind::File)
    }

    async fn take_configured(&mut self, entry: &str, home: &AbsPath, upwards: &[AbsPath]) {
        if entry.starts_with("http://") || entry.starts_with("https://") {
            self.problem(format!(
                "instructions: {entry} is an address, which is not fetched; save it as a file and name that"
            ));
            return;
        }
        let absolute = match entry.strip_prefix("~/") {
            Some(rest) => Some(home.join(rest)),
            None => AbsPath::new(entry),
        };
        let rooted = absolute.and_then(|path| {
            let root = AbsPath::new(path.as_path().ancestors().last()?)?;
            Some((path.relative_to(&root)?, root))
        });
        // Absolute entries are the user's: those of a project's configuration were left out when it was read.
        let (pattern, bases, origin) = match rooted {
            Some((pattern, root)) => (pattern, vec![root], Origin::User),
            None => (entry.to_owned(), upwards.to_vec(), Origin::Project),
        };
        let mut exists = false;
        for base in bases.iter().rev() {
            let literal = base.join(&pattern);
            let paths = if self.is_file(&literal).await {
                vec![literal]
            } else if glob::is_pattern(&pattern) {
                match glob::expand(self.files, base, &pattern).await {
                    Ok(paths) => paths,
                    Err(error) => return self.problem(format!("instructions: {entry} is no valid pattern: {error}")),
                }
            } else {
                Vec::new()
            };
            for path in paths {
                exists = true;
                self.take(path, origin).await;
            }
        }
        if !exists {
            self.problem(format!("instructions: no file matches {entry}"));
        }
    }

    pub(super) async fn take(&mut self, path: AbsPath, origin: Origin) {
        if self.found.files.iter().any(|file| file.path == path) {
            return;
        }
        let real = match origin {
            Origin::Project => self.check_project_file(&path).await,
            Origin::User => self.files.real_path(path.clone()).await.map_err(|error| error.to_string()),
        };
        let real = match real {
            Ok(real) => real,
            Err(problem) => return self.problem(format!("instructions: {problem}")),
        };
        match self.read(&path, real).await {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => {
                self.bytes_left -= text.len().min(self.bytes_left);
                self.found.files.push(InstructionFile { path, text });
            }
            Err(problem) => self.problem(format!("instructions: {problem}")),
        }
    }

    /// The file's real path, where it may be read unasked.
    async fn check_project_file(&self, path: &AbsPath) -> Result<AbsPath, String> {
        let told = |error: DiskError| error.to_string();
        let real = self.files.real_path(path.clone()).await.map_err(told)?;
        let base = self.files.real_path(self.base.clone()).await.map_err(told)?;
        if !real.starts_with(&base) {
            return Err(format!("{path} leads out of the project, to {real}; name that in your own configuration"));
        }
        let patterns = [path_pattern(path, self.base), path_pattern(&real, &base)];
        let decision = decide("read", &patterns, self.rules, &[]);
        match decision.rule {
            // A rule that asks for all files is no word about instructions.
            Some(rule) if rule.verdict == Verdict::Deny || rule.verdict == Verdict::Ask && rule.pattern != "*" => {
                Err(format!("{path} is not read unasked: rule {rule}"))
            }
            Some(_) | None => Ok(real),
        }
    }

    /// Reads no more than it may give.
    async fn read(&self, path: &AbsPath, real: AbsPath) -> Result<String, String> {
        let limit = FILE_LIMIT.min(self.bytes_left);
        if limit == 0 {
            return Err(format!(
                "{path} was left out: the other instruction files fill {} KiB already",
                self.total / 1024
            ));
        }
        let told = |error: DiskError| error.to_string();
        let len = self.files.stat(real.clone()).await.map_err(told)?.len;
        if usize::try_from(len).is_ok_and(|len| len <= limit) {
            let bytes = self.files.read_real(real).await.map_err(told)?;
            return match encoding::decode(&bytes) {
                Ok((text, _)) => Ok(text.into_owned()),
                Err(error) => Err(format!("{path}: {error}")),
            };
        }
        let bytes = self.files.read_range_real(real, 0, limit).await.map_err(told)?;
        let text = whole_lines(&bytes);
        Ok(format!("{text}\n(The file goes on: {} of {len} bytes are shown. Read it for the rest.)", text.len()))
    }

    fn problem(&mut self, text: String) {
        self.found.problems.push(text);
    }
}

/// The beginning of a text that was cut anywhere, without the cut line where there is another.
fn whole_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.rfind('\n') {
        Some(end) => text[..end].to_owned(),
        None => text.trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned(),
    }
}
