//! Searches as a tool may make them: of the folders that its call was granted, over the editor's text, without the files that rules keep from the model.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use copydesk_workspace::disk::FileKind;
use copydesk_workspace::encoding;
use copydesk_workspace::path::{AbsPath, DocKey};
use ropey::Rope;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::overlay::Overlay;
use crate::ports::{
    BoxFuture, FileGlob, Files, Found, LineHit, LinePattern, MayOpen, Search, SearchError, SearchLimits, SearchTree,
    Skipped,
};
use crate::view::LARGEST_TEXT;

/// A model waits for the answer, and so does the user.
pub const MOST_TIME: Duration = Duration::from_secs(20);

/// Text that one call reads: some minutes of a slow disk.
const MOST_BYTES: u64 = 8 << 30;

/// Narrowed to the roots that a call was granted.
#[derive(Clone)]
pub struct GrantedSearch {
    pub(crate) port: Arc<dyn Search>,
    pub(crate) overlay: Arc<Overlay>,
    pub(crate) roots: Vec<GrantedRoot>,
    pub(crate) cancel: CancellationToken,
}

#[derive(Clone)]
pub(crate) struct GrantedRoot {
    /// As it was named.
    pub(crate) given: AbsPath,
    pub(crate) real: AbsPath,
    /// `None` where there is nothing.
    pub(crate) kind: Option<FileKind>,
    /// Whose text the model may be given unasked.
    pub(crate) may_read: MayOpen,
    /// Whose name it may be given.
    pub(crate) may_list: MayOpen,
}

impl GrantedSearch {
    /// Hits of all roots, in their order; a root below another one is searched once. Paths begin as the roots were named.
    pub async fn files(&self, glob: &FileGlob, hidden: bool, results: usize) -> Result<Found<AbsPath>, SearchError> {
        let search = |root: &GrantedRoot, limits| {
            let tree = self.tree(root, Some(glob.clone()), hidden, Arc::clone(&root.may_list), limits);
            self.port.files(tree, self.cancel.clone())
        };
        self.each(results, search, |root, path| root.renamed(&path)).await
    }

    pub async fn lines(
        &self,
        pattern: &LinePattern,
        glob: Option<&FileGlob>,
        results: usize,
    ) -> Result<Found<LineHit>, SearchError> {
        let search = |root: &GrantedRoot, limits| {
            let tree = self.tree(root, glob.cloned(), true, Arc::clone(&root.may_read), limits);
            self.port.lines(tree, pattern.clone(), self.cancel.clone())
        };
        self.each(results, search, |root, hit| LineHit { path: root.renamed(&hit.path), ..hit }).await
    }

    /// Of a file that the model may be given unasked, as the editor has it; `None` of any other.
    pub(crate) async fn text_of(&self, path: &AbsPath, files: &dyn Files) -> Option<Rope> {
        let real = files.real_path(path.clone()).await.ok()?;
        let may_read = |root: &GrantedRoot| real.starts_with(&root.real) && (root.may_read)(real.as_path());
        if !self.roots.iter().any(may_read) {
            return None;
        }
        if let Some(document) = self.overlay.get(&DocKey::from_real_path(real.clone())) {
            return Some(document.text);
        }
        files.stat(real.clone()).await.ok().filter(|stat| stat.len <= LARGEST_TEXT)?;
        let bytes = files.read_real(real).await.ok()?;
        encoding::decode(&bytes).ok().map(|(text, _)| Rope::from(text))
    }

    /// Whether it may be told that the file is there.
    pub(crate) async fn may_name(&self, path: &AbsPath, files: &dyn Files) -> bool {
        let Ok(real) = files.real_path(path.clone()).await else { return false };
        let mut within = self.roots.iter().filter(|root| real.starts_with(&root.real)).peekable();
        // What lies outside of the workspace is a library's.
        within.peek().is_none() || within.any(|root| (root.may_list)(real.as_path()))
    }

    /// The same without the files of which this holds, by their paths below a root; they count as refused.
    pub fn leaving_out(&self, is_left_out: MayOpen) -> Self {
        let narrowed = |root: &GrantedRoot| {
            let (real, may_list, is_left_out) =
                (root.real.clone(), Arc::clone(&root.may_list), Arc::clone(&is_left_out));
            let may_list = move |path: &Path| {
                // Refused first: what may not be listed is counted as that alone.
                may_list(path) && !path.strip_prefix(real.as_path()).is_ok_and(|below| is_left_out(below))
            };
            GrantedRoot { may_list: Arc::new(may_list), ..root.clone() }
        };
        Self { roots: self.roots.iter().map(narrowed).collect(), ..self.clone() }
    }

    async fn each<'a, T>(
        &'a self,
        results: usize,
        search: impl Fn(&GrantedRoot, SearchLimits) -> BoxFuture<'a, Result<Found<T>, SearchError>>,
        renamed: impl Fn(&GrantedRoot, T) -> T,
    ) -> Result<Found<T>, SearchError> {
        let start = Instant::now();
        let mut all = Found::nothing();
        for root in self.outermost() {
            // One more than is shown tells whether there is more.
            let left = results - all.hits.len().min(results);
            let limits = SearchLimits {
                results: left.max(1),
                time: MOST_TIME.saturating_sub(start.elapsed()),
                bytes: MOST_BYTES,
            };
            let Found { mut hits, mut more, stopped, skipped } = search(root, limits).await?;
            if left == 0 && !hits.is_empty() {
                hits.clear();
                more = true;
            }
            all.hits.extend(hits.into_iter().map(|hit| renamed(root, hit)));
            all.more |= more;
            all.stopped = all.stopped.or(stopped);
            all.skipped.add(if self.roots.len() > 1 { skipped.below(&root.given) } else { skipped });
        }
        Ok(all)
    }

    fn outermost(&self) -> impl Iterator<Item = &GrantedRoot> {
        let is_there = |root: &GrantedRoot| self.roots.len() == 1 || root.kind.is_some();
        self.roots.iter().enumerate().filter(move |(_, root)| is_there(root)).filter_map(|(at, root)| {
            let covers = |(other, of): (usize, &GrantedRoot)| {
                root.real.starts_with(&of.real) && (root.real != of.real || other < at) && other != at
            };
            (!self.roots.iter().enumerate().any(covers)).then_some(root)
        })
    }

    fn tree(
        &self,
        root: &GrantedRoot,
        glob: Option<FileGlob>,
        hidden: bool,
        may_open: MayOpen,
        limits: SearchLimits,
    ) -> SearchTree {
        let open: Vec<(AbsPath, Rope)> = self
            .overlay
            .all()
            .into_iter()
            .filter(|document| document.key.path().starts_with(&root.real))
            .map(|document| (document.key.path().clone(), document.text))
            .collect();
        SearchTree { root: root.real.clone(), glob, hidden, open, may_open, limits }
    }
}

impl GrantedRoot {
    fn renamed(&self, real: &AbsPath) -> AbsPath {
        match real.as_path().strip_prefix(self.real.as_path()) {
            Ok(below) if !below.as_os_str().is_empty() => self.given.join(below),
            Ok(_) => self.given.clone(),
            Err(_) => real.clone(),
        }
    }
}

impl Skipped {
    /// With names that say which root they are of.
    fn below(self, root: &AbsPath) -> Self {
        let ignored = self.ignored.iter().map(|name| format!("{}/{name}", root.to_string().trim_end_matches('/')));
        Self { ignored: ignored.collect(), ..self }
    }
}
