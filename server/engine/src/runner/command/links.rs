//! Files below places where the text itself may have made a link before: what stands there now says nothing of what is touched then (C62).

use copydesk_workspace::path::AbsPath;

use super::{Gathered, quoted};
use crate::permission::shell::{Analysis, FileUse, FolderUse, LinkSource, Links, Place};
use crate::runner::expand::{self, Expanded};

impl Gathered<'_> {
    /// Which of the links that the text makes may be links at all, as the disk is now.
    pub(super) async fn find_links(&mut self, analysis: &Analysis) {
        for links in &analysis.links {
            let may_be = match &links.source {
                LinkSource::Linked | LinkSource::Unseen | LinkSource::WorkTree => true,
                LinkSource::Copied(places) => self.may_hold_links(places).await,
            };
            if may_be {
                let mut links = links.clone();
                if links.source == LinkSource::WorkTree {
                    links.at = links.at.iter().map(|at| self.work_tree(at)).collect();
                }
                self.linked.push(links);
            }
        }
    }

    /// Where the folder's work tree begins at the highest.
    fn work_tree(&self, folder: &AbsPath) -> AbsPath {
        let known = &self.deps.facts.worktree;
        if folder.starts_with(known) {
            return known.clone();
        }
        let mut highest = folder.clone();
        while let Some(parent) = highest.parent().filter(|parent| parent.parent().is_some()) {
            highest = parent;
        }
        highest
    }

    async fn may_hold_links(&self, places: &[Place]) -> bool {
        let files = &self.deps.ports.files;
        for place in places {
            let paths = match place {
                Place::File(path) | Place::Maybe(path) => vec![path.clone()],
                Place::Glob { base, pattern } => match expand::glob(files, base, pattern).await {
                    Expanded::All(paths) => paths,
                    Expanded::TooMany | Expanded::NotUnderstood => return true,
                },
                Place::Tracked(_) | Place::Unknown(_) => return true,
            };
            for path in paths {
                if self.linked.iter().any(|links| links.at.iter().any(|at| path.starts_with(at))) {
                    return true;
                }
                let Ok(real) = files.real_path(path.clone()).await else { return true };
                let folder = match path.parent() {
                    Some(folder) => files.real_path(folder).await.ok(),
                    None => None,
                };
                let named = folder.zip(path.as_path().file_name()).map(|(folder, name)| folder.join(name));
                if named.is_some_and(|named| named != real) {
                    return true;
                }
                match expand::below(files, &real).await {
                    Expanded::All(found) if found.iter().all(|(_, is_link)| !is_link) => {}
                    _ => return true,
                }
            }
        }
        false
    }

    /// Asks for a file below a place where the text itself may have made a link before.
    pub(super) fn is_through_a_link(&mut self, at: usize, file: &FileUse) -> bool {
        if file.unlinks() || file.of_folder() == FolderUse::Entered {
            return false;
        }
        let path = match &file.place {
            Place::File(path) | Place::Maybe(path) | Place::Tracked(path) | Place::Glob { base: path, .. } => path,
            Place::Unknown(_) => return false,
        };
        let leads = |links: &Links| {
            let is_later = at >= links.own.end || links.is_repeated && !links.own.contains(&at);
            let is_glob = matches!(file.place, Place::Glob { .. });
            let is_at = |place: &AbsPath| {
                path.starts_with(place) && (is_glob || links.source != LinkSource::Linked || path != place)
                    || is_glob && place.starts_with(path)
            };
            is_later && links.at.iter().any(is_at)
        };
        let is_linked = self.linked.iter().any(leads);
        if is_linked {
            let word = self.line.text.get(file.span.clone()).unwrap_or(&self.line.text);
            let shown = quoted(word);
            self.anywhere(file, &format!("{shown}, where the command itself may have made a link"));
        }
        is_linked
    }
}
