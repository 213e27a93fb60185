//! The program `git`, run for the store of snapshots alone: in an environment of its own, in which neither the user's configuration nor that of a repository
//! exists, so that nothing of a repository is run. It knows no command by its meaning.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use copydesk_engine::ports::SnapshotError;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

/// Of what it says when it fails, in bytes.
const MOST_WORDS: u64 = 2000;

#[derive(Debug, Clone)]
pub(super) struct Git {
    pub(super) program: PathBuf,
    /// `PATH`.
    pub(super) path: OsString,
    /// `GIT_DIR`.
    pub(super) store: PathBuf,
    pub(super) work_tree: PathBuf,
    /// Where the user's repository keeps its objects.
    pub(super) users_objects: Vec<PathBuf>,
}

/// Which objects a run sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Objects {
    /// For whatever writes: a writer that meets an object of the user's would note on its file that it is still in use.
    Own,
    /// For reading.
    AndTheUsers,
}

pub(super) struct Run<'a> {
    pub(super) index: &'a Path,
    pub(super) objects: Objects,
    pub(super) arguments: &'a [&'a str],
    pub(super) input: Vec<u8>,
    /// Of output, in bytes.
    pub(super) most: usize,
    /// The highest exit code that is no failure.
    pub(super) good: i32,
}

impl Git {
    /// Its output. Dropping the future kills it; so does the end of this process.
    pub(super) async fn run(&self, run: Run<'_>) -> Result<Vec<u8>, SnapshotError> {
        let Run { index, objects, arguments, input, most, good } = run;
        let name = arguments.first().copied().unwrap_or_default();
        let failed = |reason: &dyn std::fmt::Display| SnapshotError::Git(format!("`git {name}`: {reason}"));
        let mut command = self.command(index, objects, arguments);
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        let (mut stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let feed = async move {
            if let Some(stdin) = &mut stdin {
                // One that has ended early says why itself.
                let _ = stdin.write_all(&input).await;
            }
            Ok(())
        };
        let too_large = SnapshotError::TooLarge(most as u64);
        let output = async { read(stdout, most).await.ok_or(too_large) };
        let words = async { Ok(first_words(stderr).await) };
        let ((), output, words) = tokio::try_join!(feed, output, words)?;
        let status = child.wait().await.map_err(|error| failed(&error))?;
        if status.code().is_some_and(|code| code <= good) {
            return Ok(output);
        }
        let line = words.lines().next().filter(|line| !line.is_empty());
        Err(failed(&line.map_or_else(|| status.to_string(), str::to_owned)))
    }

    fn command(&self, index: &Path, objects: Objects, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["--no-pager", "--literal-pathspecs"])
            .args(arguments)
            .current_dir(&self.work_tree)
            .env_clear()
            .env("PATH", &self.path)
            .env("LC_ALL", "C")
            .env("GIT_DIR", &self.store)
            .env("GIT_WORK_TREE", &self.work_tree)
            .env("GIT_INDEX_FILE", index)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if objects == Objects::AndTheUsers {
            command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", joined(&self.users_objects));
        }
        #[cfg(target_os = "linux")]
        die_with_this_process(&mut command);
        command
    }
}

/// As git reads lists of folders: a name in quotes may hold a colon.
fn joined(folders: &[PathBuf]) -> OsString {
    let mut list = Vec::new();
    for folder in folders {
        if !list.is_empty() {
            list.push(b':');
        }
        list.push(b'"');
        for byte in folder.as_os_str().as_bytes() {
            match byte {
                b'"' | b'\\' => list.extend([b'\\', *byte]),
                b'\n' => list.extend(b"\\n"),
                _ => list.push(*byte),
            }
        }
        list.push(b'"');
    }
    OsString::from_vec(list)
}

/// What git is doing then is of no use to anybody. The signal belongs to the thread that started it, which is one of the runtime's and lives as long.
#[cfg(target_os = "linux")]
fn die_with_this_process(command: &mut Command) {
    use rustix::process::{Signal, set_parent_process_death_signal};
    #[expect(unsafe_code, reason = "std has no safe way to do something between fork and exec")]
    // SAFETY: one system call, which neither allocates nor takes a lock.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    }
}

/// `None` where there is more.
async fn read(pipe: Option<impl AsyncRead + Unpin>, most: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    // A pipe that cannot be read has ended.
    let _ = pipe?.take(most as u64 + 1).read_to_end(&mut bytes).await;
    (bytes.len() <= most).then_some(bytes)
}

async fn first_words(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut pipe) = pipe else { return String::new() };
    let mut bytes = Vec::new();
    let _ = (&mut pipe).take(MOST_WORDS).read_to_end(&mut bytes).await;
    // Who writes must not wait for a reader.
    let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The pieces of a list whose items end with a NUL.
pub(super) fn items(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == 0).filter(|item| !item.is_empty())
}

pub(super) fn path_of(item: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(item))
}

/// As git reads a list of paths with `-z`.
pub(super) fn list<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend(path.as_os_str().as_bytes());
        list.push(0);
    }
    list
}
