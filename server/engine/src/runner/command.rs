//! What a command line needs, part by part: each simple command, each file that it touches, and what is not understood (R8.1–R8.3). Looks at the disk for
//! links, globs and folders; decides nothing.

mod folders;
mod links;
mod network;
mod patterns;
mod visible;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use copydesk_workspace::disk::FileKind;
use copydesk_workspace::path::AbsPath;

use super::RunnerDeps;
use super::access::{AccessError, Need, Places, Subject};
use super::expand::{self, Expanded};
use crate::escape::escaped_line;
use crate::permission::shell::{
    self, Analysis, Effect, FileAccess, FileUse, FolderUse, FoundLinks, Gap, Links, Place, SimpleCommand, Surroundings,
    Unknown,
};
use crate::permission::{Mode, Rule, Shape};
use folders::Target;

/// The permission that an answer to a whole text is kept under: it holds for this text in this folder, whatever its parts are.
const WHOLE: &str = "bash_text";

/// Characters of a part that a reason repeats.
const QUOTED: usize = 200;

/// A part of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) line: Arc<Line>,
    /// Bytes of the text.
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) folder: AbsPath,
}

/// How a simple command is judged beside the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Simple {
    /// The least free mode in which it needs no rule; `None`: always one.
    pub(super) free_in: Option<Mode>,
    /// Why its words do not tell all that runs.
    pub(super) unseen: Option<String>,
    /// What guards say of it.
    pub(super) guards: Vec<Rule>,
    /// With what arguments come: `git log`.
    pub(super) prefix: Option<String>,
    /// Its spellings with options left out.
    pub(super) without_options: Vec<String>,
    /// All that it may be, where words do not tell.
    pub(super) shapes: Vec<Shape>,
}

/// What the sandbox must leave open for what was asked or allowed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Reach {
    pub(super) network: bool,
    /// Outside of the workspace.
    pub(super) writable: Vec<AbsPath>,
}

/// Whether a command is proven to leave all files as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum MayChange {
    #[default]
    Nothing,
    Something,
}

impl Line {
    /// The name under which answers to the whole text are kept.
    pub(super) fn whole(&self) -> (&'static str, String) {
        (WHOLE, format!("{} (in {})", self.text, self.folder))
    }
}

/// `is_confined`: it would run in a sandbox.
pub(super) async fn needs(
    deps: &RunnerDeps,
    places: &Places<'_>,
    text: String,
    folder: AbsPath,
    is_confined: bool,
) -> Result<(Vec<Need>, Reach, MayChange), AccessError> {
    let home = deps.ports.environment.folders().home;
    let mut analysis = shell::analyse(&text, Surroundings { folder: &folder, home: &home });
    if let Some(beyond) = analysis.unknown.iter().find(|unknown| unknown.gap == Gap::Beyond) {
        return Err(AccessError::Beyond { reason: beyond.reason.clone() });
    }
    let line = Arc::new(Line { text, folder: folder.clone() });
    let real = deps.ports.files.real_path(folder.clone()).await?;
    let mut gathered = Gathered {
        deps,
        places,
        line,
        needs: Vec::new(),
        reach: Reach::default(),
        all_inside: true,
        linked: Vec::new(),
        landed: 0,
    };
    gathered.find_links(&analysis).await;
    let named = gathered.named_patterns(&analysis).await;
    for file in &mut analysis.files {
        if file.links == FoundLinks::FollowedWhereNamed && !named.is_empty() {
            file.links = FoundLinks::Followed;
        }
    }
    let outside = places.outside(deps, &folder, &real).await;
    if outside.is_some() {
        gathered.reach.writable.push(real);
        gathered.all_inside = false;
    }
    gathered.needs.extend(outside);
    for (at, file) in analysis.files.iter().enumerate() {
        if !gathered.is_through_a_link(at, file) {
            gathered.file(file, &analysis).await;
        }
    }
    for command in &analysis.commands {
        gathered.command(command);
    }
    for unknown in &analysis.unknown {
        gathered.unknown(unknown);
    }
    for (pattern, how) in &named {
        gathered.pattern(pattern, *how);
    }
    if is_confined {
        gathered.beside_the_network(&analysis.commands);
    }
    let Gathered { mut needs, mut reach, .. } = gathered;
    reach.network = analysis.commands.iter().any(|command| command.effect.network);
    // One sandbox for the whole text: what it opens for one part it opens for all.
    if deps.config.sandbox.network || reach != Reach::default() {
        hold_auto(&mut needs);
    }
    // In the order in which the user reads them.
    needs.sort_by_key(|need| need.part.as_ref().map_or(0, |part| part.span.start));
    Ok((needs, reach, may_change(&analysis)))
}

/// A word of the text leaves open what it does, or does more than read.
fn may_change(analysis: &Analysis) -> MayChange {
    let is_nowhere = |place: &Place| matches!(place, Place::File(path) if path.as_path() == Path::new("/dev/null"));
    let writes = |file: &FileUse| file.access == FileAccess::Write && !is_nowhere(&file.place);
    // Of some programs all files are known that they touch.
    let tells_all = |effect: &Effect| {
        effect.is_file_work && effect.runs_unseen.is_none() && !effect.network && effect.loses.is_none()
    };
    let is_proven = analysis.unknown.is_empty()
        && analysis.commands.iter().all(|command| command.effect.reads_only || tells_all(&command.effect))
        && !analysis.files.iter().any(writes);
    if is_proven { MayChange::Nothing } else { MayChange::Something }
}

struct Gathered<'a> {
    deps: &'a RunnerDeps,
    places: &'a Places<'a>,
    line: Arc<Line>,
    needs: Vec<Need>,
    reach: Reach,
    /// All files that the text names are known, and in the workspace.
    all_inside: bool,
    /// Of the links that the text itself makes, those that may be some.
    linked: Vec<Links>,
    /// Files that land in a folder with the one that holds them.
    landed: usize,
}

impl Gathered<'_> {
    fn command(&mut self, command: &SimpleCommand) {
        let SimpleCommand { span, pattern, aliases, without_options, shapes, prefix, effect } = command;
        let guards = self.deps.config.guards.of_command(&self.deps.agent.name, command);
        let shown = quoted(pattern);
        let what = match effect.loses {
            Some(lost) => format!("{shown} (what would be lost: {lost})"),
            None => shown,
        };
        let prefix = prefix.as_deref().and_then(|prefix| Some(prefix.strip_suffix(" *")?.to_owned()));
        let is_all = self.line.text.trim() == pattern;
        let always = match &prefix {
            _ if !guards.is_empty() => None,
            Some(prefix) => Some(escaped_line(&format!("{prefix} *"))),
            None if is_all => Some("this exact command".to_owned()),
            None => Some(format!("exactly `{}`", escaped_line(pattern))),
        };
        let free_in = self.free_in(command);
        self.needs.push(Need {
            permission: "bash".to_owned(),
            values: vec![pattern.clone()],
            aliases: aliases.clone(),
            subject: Subject::Command(Box::new(Simple {
                free_in,
                unseen: effect.runs_unseen.clone(),
                guards,
                prefix,
                without_options: without_options.clone(),
                shapes: shapes.clone(),
            })),
            what,
            always,
            part: Some(self.part(span)),
        });
    }

    fn free_in(&self, command: &SimpleCommand) -> Option<Mode> {
        let effect = &command.effect;
        let is_work = effect.is_file_work && effect.runs_unseen.is_none() && !command.is_destructive();
        match effect {
            effect if effect.loses.is_some() || effect.network => None,
            effect if effect.reads_only => Some(Mode::Ask),
            _ if is_work && self.all_inside => Some(Mode::Workspace),
            _ => Some(Mode::Auto),
        }
    }

    fn unknown(&mut self, unknown: &Unknown) {
        let span = &unknown.span;
        let text = self.line.text.get(span.clone()).unwrap_or(&self.line.text).trim().to_owned();
        let text = text.as_str();
        let guards = self.deps.config.guards.of_unknown(&self.deps.agent.name, text, unknown.gap);
        if unknown.gap != Gap::Part {
            for access in [FileAccess::Read, FileAccess::Write] {
                let place = Place::Unknown(text.to_owned());
                let file = FileUse::new(span.clone(), "bash", access, place);
                self.anywhere(&file, &format!("{}, which may touch any file", quoted(text)));
            }
        }
        let reason = &unknown.reason;
        let always = guards.is_empty().then(|| "this exact command".to_owned());
        self.needs.push(Need {
            permission: "bash".to_owned(),
            values: vec![self.line.text.trim().to_owned()],
            aliases: vec![text.to_owned()],
            what: format!("{}, of which not all is understood ({reason})", quoted(text)),
            subject: Subject::Unclear { guards },
            always,
            part: Some(self.part(span)),
        });
    }

    async fn file(&mut self, file: &FileUse, analysis: &Analysis) {
        let (base, pattern) = match &file.place {
            Place::File(path) if path.as_path() == Path::new("/dev/null") => return,
            Place::File(path) => return self.known(file, path, analysis).await,
            Place::Maybe(path) => {
                if self.deps.ports.files.stat(path.clone()).await.is_ok() {
                    self.known(file, path, analysis).await;
                }
                return;
            }
            Place::Tracked(folder) => return self.tracked(file, folder, analysis).await,
            Place::Unknown(word) => return self.anywhere(file, &format!("{}, which may be any file", quoted(word))),
            Place::Glob { base, pattern } => (base, pattern),
        };
        let shown = quoted(pattern);
        if changes_globs(&self.line.text) {
            return self.anywhere(file, &format!("{shown}, whose meaning the command itself changes"));
        }
        match expand::glob(&self.deps.ports.files, base, pattern).await {
            // Bash takes a pattern without a match for a name.
            Expanded::All(paths) if paths.is_empty() => self.known(file, &base.join(pattern), analysis).await,
            Expanded::All(paths) => {
                for path in paths {
                    self.known(file, &path, analysis).await;
                }
            }
            Expanded::TooMany => self.anywhere(file, &format!("{shown}, which are more files than are looked at")),
            Expanded::NotUnderstood => self.anywhere(file, &format!("{shown}, a pattern that is not understood")),
        }
    }

    async fn known(&mut self, file: &FileUse, path: &AbsPath, analysis: &Analysis) {
        let files = &self.deps.ports.files;
        let Ok(real) = files.real_path(path.clone()).await else {
            return self.anywhere(file, &format!("{}, which cannot be looked up", quoted(&path.to_string())));
        };
        let kind = files.stat(real.clone()).await.ok().map(|stat| stat.kind);
        self.outside(file, path, &real, kind).await;
        let of_folder = file.of_folder();
        if of_folder == FolderUse::Entered {
            return;
        }
        self.discarded(file, &real).await;
        self.judge(file, path, &real);
        if kind.is_none() && file.gets_folders() {
            let target = if file.makes_folder() { Target::Folder } else { Target::New };
            return self.filled(file, path, analysis, target).await;
        }
        if kind != Some(FileKind::Directory) {
            return;
        }
        match of_folder {
            FolderUse::Listed if file.links == FoundLinks::Followed => self.below(file, path, &real).await,
            FolderUse::Entered | FolderUse::Listed => {}
            FolderUse::Filled => self.filled(file, path, analysis, Target::Folder).await,
            FolderUse::FilledAndWhole => {
                self.filled(file, path, analysis, Target::Folder).await;
                self.below(file, path, &real).await;
            }
            FolderUse::Whole | FolderUse::Visible => self.below(file, path, &real).await,
        }
    }

    /// Where the file is in no folder of the workspace.
    async fn outside(&mut self, file: &FileUse, path: &AbsPath, real: &AbsPath, kind: Option<FileKind>) {
        let Some(outside) = self.places.outside(self.deps, path, real).await else { return };
        self.all_inside = false;
        if file.access == FileAccess::Write || file.of_folder() == FolderUse::Entered {
            let folder = if kind.is_none() { real.parent() } else { None };
            let open = folder.unwrap_or_else(|| real.clone());
            if !self.reach.writable.contains(&open) {
                self.reach.writable.push(open);
            }
        }
        self.push(file, outside);
    }

    fn judge(&mut self, file: &FileUse, path: &AbsPath, real: &AbsPath) {
        let mut need = self.places.file(permission(file), path, real);
        if let Subject::Edit { is_plain, .. } = need.subject {
            let is_outside = !self.places.inside().iter().any(|folder| real.starts_with(folder));
            // Into the session's own folder for such things.
            let is_temporary = real.starts_with(&self.places.real(&self.deps.facts.temp));
            need.subject = Subject::Written {
                is_plain,
                is_reserved: if is_outside {
                    file.is_redirect() && !is_temporary
                } else {
                    file.is_redirect() || !is_plain
                },
            };
        }
        self.push(file, need);
    }

    fn anywhere(&mut self, file: &FileUse, what: &str) {
        self.all_inside = false;
        if file.of_folder() != FolderUse::Entered {
            self.anywhere_of(file, what, permission(file));
        }
        self.anywhere_of(file, what, "external_directory");
    }

    fn anywhere_of(&mut self, file: &FileUse, what: &str, permission: &str) {
        let does = match permission {
            "external_directory" => "reach outside of the workspace by",
            permission => permission,
        };
        let need = Need {
            permission: permission.to_owned(),
            values: Vec::new(),
            aliases: Vec::new(),
            subject: Subject::Anywhere { is_reserved: file.access == FileAccess::Write && file.is_redirect() },
            what: format!("{does} {what}"),
            always: Some("this exact command".to_owned()),
            part: None,
        };
        self.push(file, need);
    }

    fn push(&mut self, file: &FileUse, need: Need) {
        let by = if file.is_redirect() { "a redirect".to_owned() } else { quoted(&file.by) };
        let what = format!("{} (by {by})", need.what);
        let need = Need { what, part: Some(self.part(&file.span)), ..need };
        // The last ones: what a folder holds comes in a row. The rest is told apart at the end.
        if !self.needs.iter().rev().take(64).any(|known| *known == need) {
            self.needs.push(need);
        }
    }

    fn part(&self, span: &Range<usize>) -> Part {
        Part { line: Arc::clone(&self.line), span: span.clone() }
    }
}

/// What only the closed sandbox would make free is not.
pub(super) fn hold_auto(needs: &mut [Need]) {
    for need in needs {
        if let Subject::Command(simple) = &mut need.subject
            && simple.free_in == Some(Mode::Auto)
        {
            simple.free_in = None;
        }
    }
}

fn permission(file: &FileUse) -> &'static str {
    match file.access {
        FileAccess::Read => "read",
        FileAccess::Write => "edit",
    }
}

/// Options of bash by which a pattern means more files than it seems.
fn changes_globs(text: &str) -> bool {
    ["shopt", "glob", "GLOB"].iter().any(|word| text.contains(word))
}

/// In one line; of a long text its beginning, since the ask shows all of it.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("`{} \u{2026}`", escaped_line(&text[..end])),
        None => format!("`{}`", escaped_line(text)),
    }
}

#[cfg(test)]
#[path = "command_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;

#[cfg(test)]
#[path = "evasion_tests.rs"]
mod evasion_tests;

#[cfg(test)]
#[path = "code_tests.rs"]
mod code_tests;

#[cfg(test)]
#[path = "words_tests.rs"]
mod words_tests;

#[cfg(test)]
#[path = "input_tests.rs"]
mod input_tests;

#[cfg(test)]
#[path = "git_tests.rs"]
mod git_tests;

#[cfg(test)]
#[path = "spelling_tests.rs"]
mod spelling_tests;

#[cfg(test)]
#[path = "following_tests.rs"]
mod following_tests;

#[cfg(test)]
#[path = "copies_tests.rs"]
mod copies_tests;

#[cfg(test)]
#[path = "narrow_tests.rs"]
mod narrow_tests;

#[cfg(test)]
#[path = "generated_tests.rs"]
mod generated_tests;
