//! What a command does to what a folder holds: names that come into it, repositories that go, files that Git tracks, all that stands below.

use std::collections::VecDeque;
use std::path::{Component, PathBuf};

use copydesk_workspace::disk::FileKind;
use copydesk_workspace::path::AbsPath;

use super::{Gathered, permission, quoted, visible};
use crate::escape::escaped_line;
use crate::permission::shell::{Analysis, FileAccess, FileUse, FolderUse, FoundLinks, Landing, Place, Removal};
use crate::permission::{RulesFor, Verdict, path_pattern};
use crate::runner::access::{Need, Subject};
use crate::runner::decide::{Decided, decide, is_absolute};
use crate::runner::expand::{self, Expanded};

/// Folders to which links lead that are looked through for one that is given.
const FOLLOWED: usize = 64;

/// Files that are judged one by one since they are copied with their folders, of one text.
const LANDED: usize = 10_000;

/// What is given as the last word of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// A folder, which gets what is copied.
    Folder,
    /// Nothing yet: what is copied gets its name.
    New,
}

impl Gathered<'_> {
    /// What comes into a folder has the names of what is copied, and those of what that holds.
    pub(super) async fn filled(&mut self, file: &FileUse, path: &AbsPath, analysis: &Analysis, target: Target) {
        if !file.gets_names() {
            return;
        }
        let is_beside =
            |source: &&FileUse| source.command == file.command && source.by == file.by && source.place != file.place;
        for source in analysis.files.iter().filter(is_beside) {
            if self.landed > LANDED {
                return self.overfull(file, path).await;
            }
            let sources = match &source.place {
                Place::File(source) => vec![source.clone()],
                Place::Maybe(source) => {
                    let is_there = self.deps.ports.files.stat(source.clone()).await.is_ok();
                    is_there.then(|| source.clone()).into_iter().collect()
                }
                Place::Glob { base, pattern } => match expand::glob(&self.deps.ports.files, base, pattern).await {
                    Expanded::All(paths) => paths,
                    Expanded::TooMany | Expanded::NotUnderstood => return self.overfull(file, path).await,
                },
                Place::Tracked(_) | Place::Unknown(_) => return self.overfull(file, path).await,
            };
            let counts: &[usize] = match (target, source.lands) {
                (Target::New, _) => &[0],
                (Target::Folder, Landing::Names(count)) => &[count],
                (Target::Folder, Landing::NameOrNone) => &[1, 0],
                (Target::Folder, Landing::Leaves) => &[1],
            };
            // A pattern that means nothing was looked up, too.
            self.landed += sources.len().max(1);
            for from in sources {
                if self.landed > LANDED {
                    return self.overfull(file, path).await;
                }
                let names = counts.iter().map(|count| (*count > 0, path.join(last_names(&from, *count)))).collect();
                self.landed_from(file, source, &from, names).await;
            }
        }
    }

    /// What `from` is and holds, under each of `names`; with whether the name is new to what it lands in.
    async fn landed_from(&mut self, file: &FileUse, source: &FileUse, from: &AbsPath, names: Vec<(bool, AbsPath)>) {
        let brings = source.access == FileAccess::Read && file.gets_folders();
        let held = if brings { self.brought(source, from).await } else { Some(Vec::new()) };
        self.landed += held.as_ref().map_or(LANDED, Vec::len);
        let held = held.filter(|_| self.landed <= LANDED);
        for (is_named, at) in names {
            if is_named {
                self.landed(file, &at).await;
            }
            match &held {
                Some(held) => {
                    for rest in held {
                        self.landed(file, &at.join(rest)).await;
                    }
                }
                None => self.overfull(file, &at).await,
            }
        }
    }

    /// A file or folder that gets the name `at`, whatever has it now: only that is told which is not simply allowed.
    async fn landed(&mut self, file: &FileUse, at: &AbsPath) {
        let files = &self.deps.ports.files;
        let Ok(real) = files.real_path(at.clone()).await else {
            return self.anywhere(file, &format!("{}, which cannot be looked up", quoted(&at.to_string())));
        };
        let kind = files.stat(real.clone()).await.ok().map(|stat| stat.kind);
        let known = self.needs.len();
        self.outside(file, at, &real, kind).await;
        self.discarded(file, &real).await;
        self.judge(file, at, &real);
        if self.needs[known..].iter().all(|need| decide(self.deps, need) == Decided::Allowed) {
            self.needs.truncate(known);
        }
    }

    /// `at` gets more files than are looked at: where something is there, each may be written through a link, or over what a repository keeps.
    async fn overfull(&mut self, file: &FileUse, at: &AbsPath) {
        let files = &self.deps.ports.files;
        let real = files.real_path(at.clone()).await;
        if let Ok(real) = &real
            && files.stat(real.clone()).await.is_err()
        {
            return self.too_many(file, at);
        }
        self.anywhere(file, &format!("{}, which gets more files than are looked at", quoted(&at.to_string())));
        let real = real.unwrap_or_else(|_| at.clone());
        if self.is_of_the_workspace(&real) && file.overwrites() {
            self.lose(file, &format!("what a repository may keep in {real}"));
        }
    }

    /// The paths of what the folder `from` holds. `None`: they are too many.
    async fn brought(&self, source: &FileUse, from: &AbsPath) -> Option<Vec<String>> {
        let files = &self.deps.ports.files;
        let Ok(folder) = files.real_path(from.clone()).await else { return Some(Vec::new()) };
        let is_folder = files.stat(folder.clone()).await.is_ok_and(|stat| stat.kind == FileKind::Directory);
        if is_folder { self.held_by(&folder, source.links).await } else { Some(Vec::new()) }
    }

    /// The paths from `folder` of all files that are copied with it. `None`: they are too many.
    async fn held_by(&self, folder: &AbsPath, links: FoundLinks) -> Option<Vec<String>> {
        let files = &self.deps.ports.files;
        let mut held = Vec::new();
        // With the folders that were left by links on the way, each with that in which the link stands.
        let mut folders = VecDeque::from([(String::new(), folder.clone(), Vec::<(AbsPath, AbsPath)>::new())]);
        let mut followed = 0;
        while let Some((before, folder, way)) = folders.pop_front() {
            let Expanded::All(found) = expand::below(files, &folder).await else { return None };
            for (rest, is_link) in found {
                let (link, path) = (folder.join(&rest), format!("{before}{rest}"));
                if is_link && links == FoundLinks::Followed {
                    let mut way = way.clone();
                    way.push((folder.clone(), link.parent().unwrap_or_else(|| folder.clone())));
                    let target = files.real_path(link).await.ok();
                    // One that leads up to where it stands is not copied.
                    let leads_up = |target: &AbsPath| {
                        way.iter().any(|(from, to)| target.starts_with(from) && to.starts_with(target))
                    };
                    if let Some(target) = target.filter(|target| !leads_up(target))
                        && files.stat(target.clone()).await.is_ok_and(|stat| stat.kind == FileKind::Directory)
                    {
                        followed += 1;
                        folders.push_back((format!("{path}/"), target, way));
                    }
                }
                held.push(path);
            }
            if followed > FOLLOWED || held.len() > LANDED {
                return None;
            }
        }
        Some(held)
    }

    /// Where the files that are removed are a repository, or hold one, and where what a repository keeps is written over (R5.5).
    pub(super) async fn discarded(&mut self, file: &FileUse, real: &AbsPath) {
        let is_inside = self.is_of_the_workspace(real);
        const REPOSITORIES: [&str; 4] = [".git", ".hg", ".jj", ".svn"];
        let repository = |path: &AbsPath| {
            path.as_path().components().any(|part| REPOSITORIES.iter().any(|name| part.as_os_str() == *name))
        };
        let stat = |path: &AbsPath| self.deps.ports.files.stat(path.clone());
        let lost = match file.removal().filter(|_| is_inside) {
            Some(Removal::Changes) => format!("uncommitted changes of {real}"),
            Some(Removal::File) if repository(real) || self.deps.ports.files.stat(real.join(".git")).await.is_ok() => {
                format!("the repository in {real}, with all that was not pushed")
            }
            None if is_inside && repository(real) && file.overwrites() => match stat(real).await {
                Ok(stat) if stat.kind != FileKind::Directory => format!("what the repository keeps in {real}"),
                _ => return,
            },
            Some(Removal::File) | None => return,
        };
        self.lose(file, &lost);
    }

    /// The folder or file is in the workspace, or holds it.
    fn is_of_the_workspace(&self, real: &AbsPath) -> bool {
        self.places.inside().iter().any(|folder| real.starts_with(folder) || folder.starts_with(real))
    }

    fn lose(&mut self, file: &FileUse, lost: &str) {
        let shown = quoted(self.line.text.get(file.span.clone()).unwrap_or(&self.line.text));
        let guards = self.deps.config.guards.of_loss(&self.line.text);
        if guards.is_empty() {
            return;
        }
        self.needs.push(Need {
            permission: "bash".to_owned(),
            values: vec![self.line.text.trim().to_owned()],
            aliases: Vec::new(),
            what: format!("{shown} (what would be lost: {})", escaped_line(lost)),
            subject: Subject::Unclear { guards },
            always: None,
            part: Some(self.part(&file.span)),
        });
    }

    /// Tracked files are below the folder, as long as no name of theirs is taken for several words, or for an option.
    pub(super) async fn tracked(&mut self, file: &FileUse, folder: &AbsPath, analysis: &Analysis) {
        let is_plain = |path: &str| !path.starts_with('-') && !path.contains([' ', '\t', '\n', '"', '\'', '\\']);
        let is_repository = |path: &str| path.rsplit('/').next() == Some(".git");
        match expand::below_but(&self.deps.ports.files, folder, is_repository).await {
            Expanded::All(found) if found.iter().all(|(path, _)| is_plain(path)) => {
                self.known(file, folder, analysis).await;
            }
            _ => self.anywhere(file, "the names that git prints, one of which may be taken for others"),
        }
    }

    /// What a folder holds, and what its links lead to where they are followed: only that is told which is not simply allowed.
    pub(super) async fn below(&mut self, file: &FileUse, path: &AbsPath, real: &AbsPath) {
        let is_visible = file.of_folder() == FolderUse::Visible;
        let files = &self.deps.ports.files;
        let found = match is_visible {
            true => visible::below(files, real).await,
            false => expand::below(files, real).await,
        };
        let mut linked = VecDeque::from(self.held(file, path, real, found).await);
        // A link may lead to what is hidden here.
        let mut seen = if is_visible { Vec::new() } else { vec![real.clone()] };
        while let Some((path, real)) = linked.pop_front() {
            if seen.iter().any(|folder| real.starts_with(folder)) {
                continue;
            }
            if seen.len() > FOLLOWED {
                return self.too_many(file, &path);
            }
            let found = expand::below(&self.deps.ports.files, &real).await;
            seen.push(real.clone());
            linked.extend(self.held(file, &path, &real, found).await);
        }
    }

    /// `found` below `path`. Gives the folders to which links lead that are followed.
    async fn held(
        &mut self,
        file: &FileUse,
        path: &AbsPath,
        real: &AbsPath,
        found: Expanded<(String, bool)>,
    ) -> Vec<(AbsPath, AbsPath)> {
        let Expanded::All(found) = found else {
            self.too_many(file, path);
            return Vec::new();
        };
        let rules = &self.deps.agent.rules;
        let read = RulesFor::new("read", rules);
        let has_absolute = rules.iter().any(|rule| is_absolute(&rule.pattern));
        let is_open = |path: &AbsPath| read.decide(&path_pattern(path, &self.deps.facts.worktree)).0 == Verdict::Allow;
        let is_listed = file.of_folder() == FolderUse::Listed;
        let mut linked = Vec::new();
        for (rest, is_link) in found {
            let (given, named) = (path.join(&rest), self.places.named(&real.join(&rest)));
            let is_free = is_listed || !has_absolute && is_open(&given) && is_open(&named);
            if file.access == FileAccess::Read && !is_link && is_free {
                continue;
            }
            let target = if is_link {
                self.deps.ports.files.real_path(given.clone()).await.ok()
            } else {
                Some(real.join(&rest))
            };
            let known = self.needs.len();
            if let Some(target) = target.as_ref().filter(|_| is_link && file.links == FoundLinks::Followed) {
                if let Some(outside) = self.places.outside(self.deps, &given, target).await {
                    self.all_inside = false;
                    self.push(file, outside);
                }
                let stat = self.deps.ports.files.stat(target.clone()).await;
                if stat.is_ok_and(|stat| stat.kind == FileKind::Directory) {
                    linked.push((given.clone(), target.clone()));
                }
            }
            if !is_listed {
                self.judge(file, &given, &target.unwrap_or_else(|| given.clone()));
            }
            if self.needs[known..].iter().all(|need| decide(self.deps, need) == Decided::Allowed) {
                self.needs.truncate(known);
            }
        }
        linked
    }

    fn too_many(&mut self, file: &FileUse, path: &AbsPath) {
        let what = format!("{}, with more files than are looked at", quoted(&path.to_string()));
        if file.of_folder() != FolderUse::Listed {
            self.anywhere_of(file, &what, permission(file));
        }
        if file.links == FoundLinks::Followed {
            self.all_inside = false;
            self.anywhere_of(file, &what, "external_directory");
        }
    }
}

/// So many names at the end of `path`.
fn last_names(path: &AbsPath, count: usize) -> PathBuf {
    let names: Vec<_> = path.as_path().components().filter(|part| matches!(part, Component::Normal(_))).collect();
    names[names.len().saturating_sub(count)..].iter().collect()
}
