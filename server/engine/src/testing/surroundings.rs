//! The ports that have no will of their own, in memory: files, shell, editor, diagnostics, environment, clock, ids.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use copydesk_workspace::disk::{DirEntry, Disk, DiskError, Expected, Stat};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use tokio_util::sync::CancellationToken;

use super::{Boundaries, lock};
use crate::ids::Millis;
use crate::ports::{
    ApplyRequest, BoxFuture, CapturedOutput, Clock, CommandEnd, Diagnostics, DiagnosticsReport, DiagnosticsTarget,
    Editor, EditorError, Environment, FileChange, Files, Folders, FreeEdits, Ids, Keyboard, OutputSink, ReloadReport,
    SandboxSupport, Secrets, Shell, ShellCommand, ShellError, ShellOutcome, Unsaved, WorkspaceTrust,
};

/// `Files` straight on a disk, e.g. one in memory; nothing blocks there.
pub struct DiskFiles<D> {
    disk: Arc<D>,
    boundaries: Boundaries,
    writes: AtomicUsize,
    lookups: AtomicUsize,
    meanwhile: Mutex<Option<Meanwhile>>,
}

/// What is done once between two looks at files.
struct Meanwhile {
    /// That come before.
    looks: usize,
    act: Box<dyn FnOnce() + Send>,
}

impl<D: Disk> DiskFiles<D> {
    pub fn new(disk: Arc<D>) -> Arc<Self> {
        Self::ticking(disk, Boundaries::default())
    }

    pub fn ticking(disk: Arc<D>, boundaries: Boundaries) -> Arc<Self> {
        Arc::new(Self {
            disk,
            boundaries,
            writes: AtomicUsize::new(0),
            lookups: AtomicUsize::new(0),
            meanwhile: Mutex::default(),
        })
    }

    /// Writes and removals so far, refused ones too.
    pub fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    /// Real paths, states and folders that were asked for so far.
    pub fn lookups(&self) -> usize {
        self.lookups.load(Ordering::SeqCst)
    }

    /// Does it once, behind the next look at a real path, a file's state or its bytes that comes after `looks` others.
    pub fn behind_looks(&self, looks: usize, act: impl FnOnce() + Send + 'static) {
        *lock(&self.meanwhile) = Some(Meanwhile { looks, act: Box::new(act) });
    }

    fn was_looked_at(&self) {
        let mut meanwhile = lock(&self.meanwhile);
        let due = match &mut *meanwhile {
            Some(Meanwhile { looks: 0, .. }) => meanwhile.take(),
            Some(Meanwhile { looks, .. }) => {
                *looks -= 1;
                None
            }
            None => None,
        };
        drop(meanwhile);
        if let Some(Meanwhile { act, .. }) = due {
            act();
        }
    }
}

impl<D: Disk> Files for DiskFiles<D> {
    fn read(&self, path: AbsPath) -> BoxFuture<'_, Result<Vec<u8>, DiskError>> {
        Box::pin(async move { self.disk.read(&path) })
    }

    fn read_range(&self, path: AbsPath, offset: u64, len: usize) -> BoxFuture<'_, Result<Vec<u8>, DiskError>> {
        Box::pin(async move { self.disk.read_range(&path, offset, len) })
    }

    fn stat(&self, path: AbsPath) -> BoxFuture<'_, Result<Stat, DiskError>> {
        Box::pin(async move {
            self.lookups.fetch_add(1, Ordering::SeqCst);
            let stat = self.disk.stat(&path);
            self.was_looked_at();
            stat
        })
    }

    fn list(&self, folder: AbsPath) -> BoxFuture<'_, Result<Vec<DirEntry>, DiskError>> {
        Box::pin(async move {
            self.lookups.fetch_add(1, Ordering::SeqCst);
            self.disk.list(&folder)
        })
    }

    fn read_real(&self, real: AbsPath) -> BoxFuture<'_, Result<Vec<u8>, DiskError>> {
        Box::pin(async move {
            let bytes = self.disk.read_real(&real);
            self.was_looked_at();
            bytes
        })
    }

    fn hash_real(&self, real: AbsPath) -> BoxFuture<'_, Result<ContentHash, DiskError>> {
        Box::pin(async move {
            let hash = self.disk.hash_real(&real);
            self.was_looked_at();
            hash
        })
    }

    fn holds_real(&self, real: AbsPath, bytes: Bytes) -> BoxFuture<'_, Result<bool, DiskError>> {
        Box::pin(async move {
            let is_so = self.disk.holds_real(&real, &bytes);
            self.was_looked_at();
            is_so
        })
    }

    fn read_range_real(&self, real: AbsPath, offset: u64, len: usize) -> BoxFuture<'_, Result<Vec<u8>, DiskError>> {
        Box::pin(async move { self.disk.read_range_real(&real, offset, len) })
    }

    fn list_real(&self, real: AbsPath) -> BoxFuture<'_, Result<Vec<DirEntry>, DiskError>> {
        Box::pin(async move { self.disk.list_real(&real) })
    }

    fn real_path(&self, path: AbsPath) -> BoxFuture<'_, Result<AbsPath, DiskError>> {
        Box::pin(async move {
            self.lookups.fetch_add(1, Ordering::SeqCst);
            let real = self.disk.real_path(&path);
            self.was_looked_at();
            real
        })
    }

    fn write(&self, path: AbsPath, bytes: Vec<u8>, expected: Expected) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            self.writes.fetch_add(1, Ordering::SeqCst);
            let result = self.disk.write(&path, &bytes, expected);
            self.boundaries.tick();
            result
        })
    }

    fn write_real(&self, real: AbsPath, bytes: Bytes, expected: Expected) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            self.writes.fetch_add(1, Ordering::SeqCst);
            let result = self.disk.write_real(&real, &bytes, expected);
            self.boundaries.tick();
            result
        })
    }

    fn create_real(&self, real: AbsPath, bytes: Vec<u8>, mode: u32) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            self.writes.fetch_add(1, Ordering::SeqCst);
            let result = self.disk.create_real(&real, &bytes, mode);
            self.boundaries.tick();
            result
        })
    }

    fn set_mode_real(&self, real: AbsPath, mode: u32) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            self.writes.fetch_add(1, Ordering::SeqCst);
            self.disk.set_mode_real(&real, mode)
        })
    }

    fn remove_folder_real(&self, real: AbsPath) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move { self.disk.remove_folder_real(&real) })
    }

    fn remove(&self, path: AbsPath, expected: ContentHash) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            self.writes.fetch_add(1, Ordering::SeqCst);
            self.disk.remove(&path, expected)
        })
    }

    fn remove_real(&self, real: AbsPath, expected: ContentHash) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            self.writes.fetch_add(1, Ordering::SeqCst);
            self.disk.remove_real(&real, expected)
        })
    }

    fn rename_real(&self, from: AbsPath, to: AbsPath, expected: ContentHash) -> BoxFuture<'_, Result<(), DiskError>> {
        Box::pin(async move {
            self.writes.fetch_add(1, Ordering::SeqCst);
            self.disk.rename_real(&from, &to, expected)
        })
    }
}

/// Records the commands. A command runs until the turn is cancelled where its text is `hang`; any other prints itself and exits with 0.
#[derive(Default)]
pub struct FakeShell {
    commands: Mutex<Vec<ShellCommand>>,
    boundaries: Boundaries,
}

impl FakeShell {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub fn ticking(boundaries: Boundaries) -> Arc<Self> {
        Arc::new(Self { boundaries, ..Self::default() })
    }

    pub fn commands(&self) -> Vec<ShellCommand> {
        lock(&self.commands).clone()
    }
}

impl Shell for FakeShell {
    fn run(
        &self,
        command: ShellCommand,
        output: OutputSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ShellOutcome, ShellError>> {
        Box::pin(async move {
            let text = command.command.clone();
            lock(&self.commands).push(command);
            self.boundaries.tick();
            output.take(&text);
            let end = if text == "hang" {
                cancel.cancelled().await;
                CommandEnd::Cancelled
            } else {
                CommandEnd::Exited(0)
            };
            let output = CapturedOutput { head: format!("{text}\n"), ..CapturedOutput::default() };
            Ok(ShellOutcome { end, output, survivors: 0, left_out: Vec::new() })
        })
    }

    fn run_at_terminal(
        &self,
        command: ShellCommand,
        output: OutputSink,
        _keyboard: Arc<dyn Keyboard>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ShellOutcome, ShellError>> {
        self.run(command, output, cancel)
    }

    fn sandbox(&self) -> SandboxSupport {
        SandboxSupport::Missing { reason: "commands of this test are not run".to_owned() }
    }
}

/// An editor without open documents: it saves everything, reloads everything and edits nothing.
#[derive(Default)]
pub struct FakeEditor {
    told: Mutex<Vec<FileChange>>,
    trust: Mutex<WorkspaceTrust>,
    free: Mutex<FreeEdits>,
}

impl FakeEditor {
    /// The changes of files that it was told of.
    pub fn told(&self) -> Vec<FileChange> {
        lock(&self.told).clone()
    }

    /// Which edits need no ask from now on.
    pub fn free(&self, edits: FreeEdits) {
        *lock(&self.free) = edits;
    }

    /// What it says of the workspace from now on.
    pub fn say_trust(&self, trust: WorkspaceTrust) {
        *lock(&self.trust) = trust;
    }
}

impl Editor for FakeEditor {
    fn apply(&self, _request: ApplyRequest) -> BoxFuture<'_, Result<(), EditorError>> {
        Box::pin(async { Err(EditorError::Unsupported) })
    }

    fn save(&self, _uris: Vec<String>) -> BoxFuture<'_, Vec<Unsaved>> {
        Box::pin(async { Vec::new() })
    }

    fn files_changed(&self, changes: Vec<FileChange>) -> BoxFuture<'_, ReloadReport> {
        lock(&self.told).extend(changes);
        Box::pin(async { ReloadReport::default() })
    }

    fn workspace_trust(&self) -> WorkspaceTrust {
        *lock(&self.trust)
    }

    fn free_edits(&self) -> FreeEdits {
        *lock(&self.free)
    }
}

/// Gives the reports of its list in turn, then says that nobody checks.
#[derive(Default)]
pub struct FakeDiagnostics {
    reports: Mutex<std::collections::VecDeque<DiagnosticsReport>>,
}

impl FakeDiagnostics {
    pub fn new(reports: Vec<DiagnosticsReport>) -> Arc<Self> {
        Arc::new(Self { reports: Mutex::new(reports.into()) })
    }
}

impl Diagnostics for FakeDiagnostics {
    fn of(&self, _target: DiagnosticsTarget, _wait: Duration) -> BoxFuture<'_, DiagnosticsReport> {
        let report = lock(&self.reports).pop_front().unwrap_or(DiagnosticsReport::Unavailable);
        Box::pin(async { report })
    }
}

/// A user `/home/user` on Linux, with the variables that the test sets.
#[derive(Default)]
pub struct FakeEnvironment {
    vars: BTreeMap<String, String>,
}

impl FakeEnvironment {
    pub fn new<const N: usize>(vars: [(&str, &str); N]) -> Arc<Self> {
        Arc::new(Self { vars: vars.map(|(name, value)| (name.to_owned(), value.to_owned())).into() })
    }
}

impl Environment for FakeEnvironment {
    fn var(&self, name: &str) -> Option<String> {
        self.vars.get(name).cloned()
    }

    fn folders(&self) -> Folders {
        let path = |text: &str| match AbsPath::new(text) {
            Some(path) => path,
            None => panic!("{text} is not absolute"),
        };
        Folders {
            home: path("/home/user"),
            config: path("/home/user/.config"),
            data: path("/home/user/.local/share/copydesk"),
            temp: path("/tmp/copydesk"),
        }
    }

    fn platform(&self) -> &'static str {
        "linux"
    }
}

/// Keys from a list, by provider.
#[derive(Default)]
pub struct FakeSecrets(pub BTreeMap<String, String>);

impl Secrets for FakeSecrets {
    fn key(&self, provider: &str, _names: &[String]) -> Option<String> {
        self.0.get(provider).cloned()
    }
}

/// Moves on by one millisecond at each look.
#[derive(Default)]
pub struct FakeClock(AtomicI64);

impl Clock for FakeClock {
    fn now(&self) -> Millis {
        Millis(1_796_000_000_000 + self.0.fetch_add(1, Ordering::SeqCst))
    }

    fn today(&self) -> String {
        "Mon Nov 30 2026".to_owned()
    }
}

/// `prefix_` and a number with 26 digits.
#[derive(Default)]
pub struct FakeIds(AtomicU64);

impl FakeIds {
    /// For a second engine on the same store.
    pub fn after(count: u64) -> Self {
        Self(AtomicU64::new(count))
    }
}

impl Ids for FakeIds {
    fn next(&self, prefix: &str) -> String {
        format!("{prefix}_{:026}", self.0.fetch_add(1, Ordering::SeqCst))
    }
}
