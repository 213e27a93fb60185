//! The first index of a store: the user's own, so that files which version control knows need not be read. Entries stay whose contents are those of the file
//! byte for byte; what was converted on its way, or is not what it says, goes and is read like any other file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copydesk_engine::ports::SnapshotError;

use super::blocking;
use super::git::{Objects, Run, items, list, path_of};
use super::look::{Look, Looker};
use super::shadow::{MOST_LISTED, Recent, Shadow, unusual};
use super::store::{Locked, io_error};

/// Entries of submodules.
const MODULE: &str = "160000";

struct Entry {
    /// `H` for one as they mostly are.
    tag: u8,
    mode: String,
    object: String,
    stage: u8,
    path: PathBuf,
}

/// What an index does not know of the files that it begins with.
#[derive(Debug, Default)]
pub(super) struct Seeded {
    /// Permission bits, where they are unusual.
    pub(super) modes: BTreeMap<PathBuf, u32>,
    /// Files that the user's version control knows, which are to be read.
    pub(super) unread: Vec<PathBuf>,
    pub(super) recent: Recent,
}

pub(super) async fn plant(shadow: &Shadow, locked: &Arc<Locked>) -> Result<Seeded, SnapshotError> {
    let (users, seeds) = (shadow.repository.index(), Arc::clone(locked));
    let Some(seed) = blocking(move || Ok(seeds.copy_seed(&users))).await? else { return Ok(Seeded::default()) };
    let (dropped, seeded) = match examine(shadow, locked, &seed).await {
        Ok(examined) => examined,
        // It is split, or of a form that this git does not know: all files are read instead.
        Err(SnapshotError::Git(reason)) => {
            tracing::info!(reason, "the user's index is of no use for snapshots");
            return Ok(Seeded::default());
        }
        Err(error) => return Err(error),
    };
    if !dropped.is_empty() {
        shadow.update(&seed, &["update-index", "--force-remove", "-z", "--stdin"], &dropped, 0).await?;
    }
    locked.plant(&seed).and_then(|()| locked.set_modes(&seeded.modes)).map_err(io_error)?;
    Ok(seeded)
}

async fn examine(shadow: &Shadow, locked: &Arc<Locked>, seed: &Path) -> Result<(Vec<PathBuf>, Seeded), SnapshotError> {
    let run = |arguments, input| Run {
        index: seed,
        objects: Objects::AndTheUsers,
        arguments,
        input,
        most: MOST_LISTED,
        good: 0,
    };
    let entries = shadow.git.run(run(&["ls-files", "-v", "-s", "-z"], Vec::new())).await?;
    let entries: Vec<Entry> = items(&entries)
        .map(Entry::parse)
        .collect::<Option<_>>()
        .ok_or_else(|| SnapshotError::Git("`git ls-files` gave a list of another form".to_owned()))?;
    let objects: Vec<u8> = entries.iter().flat_map(|entry| entry.object.bytes().chain([b'\n'])).collect();
    let sizes = shadow.git.run(run(&["cat-file", "--batch-check=%(objectsize)", "--buffer"], objects)).await?;
    let sizes: Vec<Option<u64>> = String::from_utf8_lossy(&sizes).lines().map(|line| line.parse().ok()).collect();
    let converted = converted(shadow, locked, seed, &entries).await?;
    let looker = shadow.looker.clone();
    blocking(move || Ok(sifted(&looker, &entries, &sizes, &converted))).await
}

/// Files whose contents are converted without a word about their length.
async fn converted(
    shadow: &Shadow,
    locked: &Locked,
    seed: &Path,
    entries: &[Entry],
) -> Result<BTreeSet<PathBuf>, SnapshotError> {
    let users = shadow.repository.attributes();
    if users.is_none() && !entries.iter().any(|entry| entry.path.ends_with(".gitattributes")) {
        return Ok(BTreeSet::new());
    }
    locked.unseal(users.as_deref()).map_err(io_error)?;
    let input = list(entries.iter().map(|entry| entry.path.as_path()));
    let arguments = &["check-attr", "-z", "--stdin", "filter", "working-tree-encoding"];
    let run = Run { index: seed, objects: Objects::AndTheUsers, arguments, input, most: MOST_LISTED, good: 0 };
    let answer = shadow.git.run(run).await;
    locked.seal().map_err(io_error)?;
    let answer = answer?;
    let mut words = items(&answer);
    let mut converted = BTreeSet::new();
    while let (Some(path), Some(_), Some(value)) = (words.next(), words.next(), words.next()) {
        if value != b"unspecified" && value != b"unset" {
            converted.insert(path_of(path).to_owned());
        }
    }
    Ok(converted)
}

fn sifted(
    looker: &Looker,
    entries: &[Entry],
    sizes: &[Option<u64>],
    converted: &BTreeSet<PathBuf>,
) -> (Vec<PathBuf>, Seeded) {
    let mut dropped = Vec::new();
    let mut seeded = Seeded::default();
    for (at, entry) in entries.iter().enumerate() {
        let look = looker.look(&entry.path);
        let size = sizes.get(at).copied().flatten();
        let is_same_size = match look {
            Look::File(stat) | Look::Link(stat) => Some(stat.len) == size,
            Look::Absent => size.is_some(),
            Look::Folder | Look::Other => false,
        };
        // Others are unmerged, or not to be compared with their files by the user's word.
        let is_plain = entry.tag == b'H' && entry.stage == b'0' && entry.mode != MODULE;
        if !is_plain || !is_same_size || converted.contains(&entry.path) {
            dropped.push(entry.path.clone());
            if matches!(look, Look::File(_) | Look::Link(_)) {
                seeded.unread.push(entry.path.clone());
            }
        } else if let Look::File(stat) = look {
            seeded.recent.insert(entry.path.clone(), stat);
            seeded.modes.extend(unusual(stat).map(|mode| (entry.path.clone(), mode)));
        }
    }
    (dropped, seeded)
}

impl Entry {
    /// `H 100644 OBJECT 0<tab>path`.
    fn parse(entry: &[u8]) -> Option<Self> {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        let (about, path) = entry.split_at(tab);
        let mut words = std::str::from_utf8(about).ok()?.split(' ');
        Some(Self {
            tag: *words.next()?.as_bytes().first()?,
            mode: words.next()?.to_owned(),
            object: words.next()?.to_owned(),
            stage: *words.next()?.as_bytes().first()?,
            path: path_of(path.get(1..)?).to_owned(),
        })
    }
}
