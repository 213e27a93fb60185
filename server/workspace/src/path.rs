//! Absolute paths, and the one key under which a document is known. No IO: links are resolved by a `Disk`.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// An absolute path without `.` and `..`, links not resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AbsPath(PathBuf);

/// The real path of a document: links resolved, so that every spelling of a file's name leads to one key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DocKey(AbsPath);

impl AbsPath {
    /// Normalises by the words alone (`a/../b` is `b`). `None` where `path` is relative.
    pub fn new(path: impl AsRef<Path>) -> Option<Self> {
        let path = path.as_ref();
        path.is_absolute().then(|| Self(normalise(path)))
    }

    /// As `new`; what is normal already is not copied.
    pub fn of(path: PathBuf) -> Option<Self> {
        if is_normal(path.as_os_str().as_encoded_bytes()) { Some(Self(path)) } else { Self::new(path) }
    }

    /// `other` itself where it is absolute, else `other` below this folder.
    pub fn join(&self, other: impl AsRef<Path>) -> Self {
        Self(normalise(&self.0.join(other)))
    }

    pub fn as_path(&self) -> &Path {
        &self.0
    }

    pub fn parent(&self) -> Option<AbsPath> {
        self.0.parent().map(|parent| Self(parent.to_owned()))
    }

    /// The last component, lossily in UTF-8; empty for a root.
    pub fn name(&self) -> String {
        self.0.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    pub fn extension(&self) -> Option<&str> {
        self.0.extension().and_then(|extension| extension.to_str())
    }

    pub fn starts_with(&self, folder: &AbsPath) -> bool {
        self.0.starts_with(&folder.0)
    }

    /// The path below `folder`, with `/` between components; `None` outside of it.
    pub fn relative_to(&self, folder: &AbsPath) -> Option<String> {
        let rest = self.0.strip_prefix(&folder.0).ok()?;
        let parts: Vec<_> = rest.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        Some(parts.join("/"))
    }
}

impl std::fmt::Display for AbsPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.display().fmt(f)
    }
}

impl DocKey {
    /// `real` must have come from `Disk::real_path`.
    pub fn from_real_path(real: AbsPath) -> Self {
        Self(real)
    }

    pub fn path(&self) -> &AbsPath {
        &self.0
    }
}

/// Told at a glance of most paths. Without `/` in front it is none of this system's absolute paths, and not judged here.
fn is_normal(path: &[u8]) -> bool {
    path.strip_prefix(b"/")
        .is_some_and(|below| below.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b"..")))
}

fn normalise(path: &Path) -> PathBuf {
    if is_normal(path.as_os_str().as_encoded_bytes()) {
        return path.to_owned();
    }
    by_components(path)
}

fn by_components(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_normal_at_a_glance_is_what_its_components_make(path in "/?([a.]{0,2}/){0,4}[a.]{0,2}") {
            let path = Path::new(&path);
            let made = by_components(path);
            let normal = normalise(path);
            prop_assert_eq!(normal.as_os_str(), made.as_os_str());
            prop_assert_eq!(AbsPath::of(path.to_owned()), AbsPath::new(path));
            prop_assert!(!path.is_absolute() || made == Path::new("/") || is_normal(made.as_os_str().as_encoded_bytes()));
        }
    }
}
