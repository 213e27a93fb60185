//! The temporary folder of commands: below the system's, which everybody can write to, so that its owner is looked at. Empties nothing.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

pub(super) fn make(folder: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("the temporary folder {} cannot be made: {error}", folder.display());
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    // The link itself, where it is one: another user may have put it there.
    let found = fs::symlink_metadata(folder).map_err(failed)?;
    let is_ours = found.is_dir() && found.uid() == rustix::process::getuid().as_raw();
    if !is_ours || found.permissions().mode() & 0o022 != 0 {
        return Err(format!("{} is not a folder that you alone can write to; remove it", folder.display()));
    }
    Ok(())
}
