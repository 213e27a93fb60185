//! The log of a process: to standard error, and to a file in the data folder that is opened with its first line and kept small. Keys are masked in both.
//! Standard output is the protocol's and never gets a line.

mod mask;

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use copydesk_adapters::os::environment::Variables;
use copydesk_engine::config::Config;
use copydesk_engine::ports::{Environment, ProviderSettings};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::{BoxMakeWriter, MakeWriterExt as _};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt as _;

use self::mask::mask;

/// A file that has grown beyond this is put aside: 1 MiB.
const MAX_LEN: u64 = 1 << 20;

/// So many that were put aside are kept, as `copydesk.log.1` (the youngest) and on.
const KEPT: usize = 3;

/// Variables whose values are masked, by how their names end.
const SECRET_NAMES: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];

/// Shorter values are words.
const MIN_SECRET: usize = 8;

/// The process has one subscriber, and so one of these.
static CONTROL: OnceLock<Control> = OnceLock::new();

struct Control {
    secrets: Mutex<Vec<String>>,
    set_level: Box<dyn Fn(LevelFilter) + Send + Sync>,
    /// By the environment, which the configuration does not overrule.
    is_fixed: bool,
}

pub fn path(environment: &dyn Environment) -> PathBuf {
    environment.folders().data.join("log/copydesk.log").as_path().to_owned()
}

/// By `COPYDESK_LOG` (`error`, `warn`, `info`, `debug`, `trace`); `None` where it is unset or unknown.
pub fn level_of(variables: &Variables) -> Option<LevelFilter> {
    variables.get("COPYDESK_LOG")?.to_str()?.parse().ok()
}

/// Starts the log of the process: to standard error, and to `file` where there is one. Opens nothing.
pub fn start(file: Option<PathBuf>, variables: &Variables) {
    let level = level_of(variables);
    let writer = match file {
        Some(path) => BoxMakeWriter::new(Masked(io::stderr).and(Masked(LogFile { path, open: Mutex::new(None) }))),
        None => BoxMakeWriter::new(Masked(io::stderr)),
    };
    let (filter, handle) = reload::Layer::new(level.unwrap_or(LevelFilter::WARN));
    let lines = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(false);
    let control = Control {
        secrets: Mutex::new(secrets_of(variables)),
        // Fails only without the subscriber.
        set_level: Box::new(move |level| drop(handle.reload(level))),
        is_fixed: level.is_some(),
    };
    if CONTROL.set(control).is_ok() {
        // Fails only when a subscriber is set already, in tests.
        let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
    }
}

/// Takes the level of a configuration, and the keys in it that no line may show.
pub fn follow(config: &Config) {
    let Some(control) = CONTROL.get() else { return };
    conceal(control, config.providers.values().flat_map(|provider| secrets_in(provider)));
    conceal(control, config.models.iter().flat_map(|model| secrets_in(&model.provider)));
    if let Some(level) = config.log_level.filter(|_| !control.is_fixed) {
        (control.set_level)(level.into());
    }
}

fn conceal(control: &Control, secrets: impl Iterator<Item = String>) {
    let mut known = control.secrets.lock().unwrap_or_else(PoisonError::into_inner);
    for secret in secrets.filter(|secret| secret.len() >= MIN_SECRET) {
        if !known.contains(&secret) {
            known.push(secret);
        }
    }
}

fn secrets_in(provider: &ProviderSettings) -> impl Iterator<Item = String> {
    provider.key.iter().chain(provider.headers.values()).map(|secret| secret.trim().to_owned())
}

fn secrets_of(variables: &Variables) -> Vec<String> {
    variables
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_ascii_uppercase(), value.to_str()?.trim())))
        .filter(|(name, value)| SECRET_NAMES.iter().any(|end| name.ends_with(end)) && value.len() >= MIN_SECRET)
        .map(|(_, value)| value.to_owned())
        .collect()
}

/// Hands each line on without its secrets.
struct Masked<W>(W);

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for Masked<W> {
    type Writer = MaskedLine<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        MaskedLine(self.0.make_writer())
    }
}

struct MaskedLine<W>(W);

impl<W: Write> Write for MaskedLine<W> {
    /// The subscriber writes a line at a time.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let secrets =
            CONTROL.get().map(|control| control.secrets.lock().unwrap_or_else(PoisonError::into_inner).clone());
        let masked = mask(&String::from_utf8_lossy(line), &secrets.unwrap_or_default());
        self.0.write_all(masked.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Several daemons append to one file; whoever finds it too long puts it aside.
struct LogFile {
    path: PathBuf,
    open: Mutex<Option<File>>,
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = &'a LogFile;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

impl Write for &LogFile {
    /// A line that cannot be written is lost: there is nowhere left to say so.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let current = open.take().map_or_else(|| open_private(&self.path), Ok).and_then(|file| fresh(&self.path, file));
        if let Ok(mut file) = current {
            let _ = file.write_all(line);
            *open = Some(file);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `file`, or the one that stands in its place after it grew too long, here or in another daemon.
fn fresh(path: &Path, mut file: File) -> io::Result<File> {
    loop {
        let (ours, there) = (file.metadata()?, std::fs::metadata(path));
        if there.is_ok_and(|there| there.ino() == ours.ino()) {
            if ours.len() < MAX_LEN {
                return Ok(file);
            }
            for number in (1..KEPT).rev() {
                // Fewer may be there.
                let _ = std::fs::rename(aside(path, number), aside(path, number + 1));
            }
            std::fs::rename(path, aside(path, 1))?;
        }
        file = open_private(path)?;
    }
}

fn aside(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

fn open_private(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    File::options().append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn lines(path: &Path) -> Vec<String> {
        std::fs::read_to_string(path).unwrap_or_default().lines().map(|line| line[..5].to_owned()).collect()
    }

    #[test]
    fn the_file_is_made_with_its_first_line_and_private() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("data/log/copydesk.log");
        let log = LogFile { path: path.clone(), open: Mutex::new(None) };
        assert!(!path.exists());
        (&log).write_all(b"first\n").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(lines(&path), ["first"]);
    }

    #[test]
    fn a_few_old_files_are_kept_also_where_two_daemons_write() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("copydesk.log");
        let logs = [(); 2].map(|()| LogFile { path: path.clone(), open: Mutex::new(None) });
        let filler = "x".repeat(MAX_LEN as usize);
        for number in 0..6 {
            let line = format!("n{number:04}{filler}\n");
            (&logs[number % 2]).write_all(line.as_bytes()).unwrap();
        }
        let found: Vec<_> = (1..=4).map(|number| lines(&aside(&path, number))).collect();
        assert_eq!(lines(&path), ["n0005"]);
        assert_eq!(found, [vec!["n0004"], vec!["n0003"], vec!["n0002"], vec![]]);
    }
}
