//! The disk, asynchronously: `workspace`'s `Disk` on a pool that may block. It does not know the open documents; `view` puts them over it.

use bytes::Bytes;
use copydesk_workspace::disk::{DirEntry, DiskError, Expected, Stat};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;

use super::BoxFuture;

/// Each means what `Disk` says of the same name.
pub trait Files: Send + Sync {
    fn read(&self, path: AbsPath) -> BoxFuture<'_, Result<Vec<u8>, DiskError>>;
    fn read_range(&self, path: AbsPath, offset: u64, len: usize) -> BoxFuture<'_, Result<Vec<u8>, DiskError>>;
    fn stat(&self, path: AbsPath) -> BoxFuture<'_, Result<Stat, DiskError>>;
    fn list(&self, folder: AbsPath) -> BoxFuture<'_, Result<Vec<DirEntry>, DiskError>>;
    fn read_real(&self, real: AbsPath) -> BoxFuture<'_, Result<Vec<u8>, DiskError>>;
    fn hash_real(&self, real: AbsPath) -> BoxFuture<'_, Result<ContentHash, DiskError>>;
    fn holds_real(&self, real: AbsPath, bytes: Bytes) -> BoxFuture<'_, Result<bool, DiskError>>;
    fn read_range_real(&self, real: AbsPath, offset: u64, len: usize) -> BoxFuture<'_, Result<Vec<u8>, DiskError>>;
    fn list_real(&self, real: AbsPath) -> BoxFuture<'_, Result<Vec<DirEntry>, DiskError>>;
    fn real_path(&self, path: AbsPath) -> BoxFuture<'_, Result<AbsPath, DiskError>>;
    fn write(&self, path: AbsPath, bytes: Vec<u8>, expected: Expected) -> BoxFuture<'_, Result<(), DiskError>>;

    fn write_real(&self, real: AbsPath, bytes: Bytes, expected: Expected) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            if self.real_path(real.clone()).await? != real {
                return Err(DiskError::Changed(real));
            }
            self.write(real, bytes.into(), expected).await
        })
    }

    fn create_real(&self, real: AbsPath, bytes: Vec<u8>, mode: u32) -> BoxFuture<'_, Result<(), DiskError>>;
    fn set_mode_real(&self, real: AbsPath, mode: u32) -> BoxFuture<'_, Result<(), DiskError>>;
    fn remove_folder_real(&self, real: AbsPath) -> BoxFuture<'_, Result<(), DiskError>>;
    fn remove(&self, path: AbsPath, expected: ContentHash) -> BoxFuture<'_, Result<(), DiskError>>;
    fn remove_real(&self, real: AbsPath, expected: ContentHash) -> BoxFuture<'_, Result<(), DiskError>>;
    fn rename_real(&self, from: AbsPath, to: AbsPath, expected: ContentHash) -> BoxFuture<'_, Result<(), DiskError>>;
}
