//! The engine's `Files` over any `Disk`, on the pool that may block.

use std::sync::Arc;

use bytes::Bytes;
use copydesk_engine::ports::{BoxFuture, Files};
use copydesk_workspace::disk::{DirEntry, Disk, DiskError, Expected, Stat};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;

/// Needs a tokio runtime where its futures are polled.
#[derive(Clone)]
pub struct DiskFiles {
    disk: Arc<dyn Disk>,
}

impl DiskFiles {
    pub fn new(disk: Arc<dyn Disk>) -> Self {
        Self { disk }
    }

    fn blocking<T: Send + 'static>(
        &self,
        path: AbsPath,
        work: impl FnOnce(&dyn Disk, &AbsPath) -> Result<T, DiskError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, DiskError>> {
        let disk = Arc::clone(&self.disk);
        Box::pin(async move {
            let name = path.clone();
            match tokio::task::spawn_blocking(move || work(&*disk, &path)).await {
                Ok(result) => result,
                // A panic, or the end of the runtime: it costs this one request, and nobody knows how far it came.
                Err(error) => Err(DiskError::Torn { path: name, reason: error.to_string() }),
            }
        })
    }
}

impl Files for DiskFiles {
    fn read(&self, path: AbsPath) -> BoxFuture<'_, Result<Vec<u8>, DiskError>> {
        self.blocking(path, |disk, path| disk.read(path))
    }

    fn read_range(&self, path: AbsPath, offset: u64, len: usize) -> BoxFuture<'_, Result<Vec<u8>, DiskError>> {
        self.blocking(path, move |disk, path| disk.read_range(path, offset, len))
    }

    fn stat(&self, path: AbsPath) -> BoxFuture<'_, Result<Stat, DiskError>> {
        self.blocking(path, |disk, path| disk.stat(path))
    }

    fn list(&self, folder: AbsPath) -> BoxFuture<'_, Result<Vec<DirEntry>, DiskError>> {
        self.blocking(folder, |disk, folder| disk.list(folder))
    }

    fn read_real(&self, real: AbsPath) -> BoxFuture<'_, Result<Vec<u8>, DiskError>> {
        self.blocking(real, |disk, real| disk.read_real(real))
    }

    fn hash_real(&self, real: AbsPath) -> BoxFuture<'_, Result<ContentHash, DiskError>> {
        self.blocking(real, |disk, real| disk.hash_real(real))
    }

    fn holds_real(&self, real: AbsPath, bytes: Bytes) -> BoxFuture<'_, Result<bool, DiskError>> {
        self.blocking(real, move |disk, real| disk.holds_real(real, &bytes))
    }

    fn read_range_real(&self, real: AbsPath, offset: u64, len: usize) -> BoxFuture<'_, Result<Vec<u8>, DiskError>> {
        self.blocking(real, move |disk, real| disk.read_range_real(real, offset, len))
    }

    fn list_real(&self, real: AbsPath) -> BoxFuture<'_, Result<Vec<DirEntry>, DiskError>> {
        self.blocking(real, |disk, real| disk.list_real(real))
    }

    fn real_path(&self, path: AbsPath) -> BoxFuture<'_, Result<AbsPath, DiskError>> {
        self.blocking(path, |disk, path| disk.real_path(path))
    }

    fn write(&self, path: AbsPath, bytes: Vec<u8>, expected: Expected) -> BoxFuture<'_, Result<(), DiskError>> {
        self.blocking(path, move |disk, path| disk.write(path, &bytes, expected))
    }

    fn write_real(&self, real: AbsPath, bytes: Bytes, expected: Expected) -> BoxFuture<'_, Result<(), DiskError>> {
        self.blocking(real, move |disk, real| disk.write_real(real, &bytes, expected))
    }

    fn create_real(&self, real: AbsPath, bytes: Vec<u8>, mode: u32) -> BoxFuture<'_, Result<(), DiskError>> {
        self.blocking(real, move |disk, real| disk.create_real(real, &bytes, mode))
    }

    fn set_mode_real(&self, real: AbsPath, mode: u32) -> BoxFuture<'_, Result<(), DiskError>> {
        self.blocking(real, move |disk, real| disk.set_mode_real(real, mode))
    }

    fn remove_folder_real(&self, real: AbsPath) -> BoxFuture<'_, Result<(), DiskError>> {
        self.blocking(real, |disk, real| disk.remove_folder_real(real))
    }

    fn remove(&self, path: AbsPath, expected: ContentHash) -> BoxFuture<'_, Result<(), DiskError>> {
        self.blocking(path, move |disk, path| disk.remove(path, expected))
    }

    fn remove_real(&self, real: AbsPath, expected: ContentHash) -> BoxFuture<'_, Result<(), DiskError>> {
        self.blocking(real, move |disk, real| disk.remove_real(real, expected))
    }

    fn rename_real(&self, from: AbsPath, to: AbsPath, expected: ContentHash) -> BoxFuture<'_, Result<(), DiskError>> {
        self.blocking(from, move |disk, from| disk.rename_real(from, &to, expected))
    }
}
