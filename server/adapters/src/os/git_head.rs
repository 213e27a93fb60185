//! The port `VersionControl` by the program `git`: files as the commit that is checked out has them. Of its commands only `ls-tree` and `cat-file` are run, which
//! run no program themselves, fetch nothing and change nothing.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use copydesk_engine::ports::{BoxFuture, Committed, VersionControl, VersionControlError};
use copydesk_engine::view::LARGEST_TEXT;
use copydesk_workspace::path::AbsPath;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

use super::environment::Variables;

/// Far more than git needs for what it has on the disk.
const PATIENCE: Duration = Duration::from_secs(10);

/// Names in one command line: the system takes about 2 MB, a path may have 4 KiB.
const NAMES: usize = 256;

/// What git gets of the environment. The user's own configuration says which folders of others are safe.
const PASSED: [&str; 3] = ["PATH", "HOME", "XDG_CONFIG_HOME"];

#[derive(Debug, Clone)]
pub struct GitHead {
    variables: Variables,
}

/// A file in the tree of a commit.
struct Entry {
    name: Vec<u8>,
    object: String,
    len: u64,
    mode: u32,
}

impl GitHead {
    pub fn new(variables: Variables) -> Self {
        Self { variables }
    }
}

impl VersionControl for GitHead {
    fn committed(
        &self,
        work_tree: AbsPath,
        names: Vec<String>,
    ) -> BoxFuture<'_, Result<Vec<Option<Committed>>, VersionControlError>> {
        Box::pin(async move {
            let program = self.variables.find_program("git").ok_or(VersionControlError::NoGit)?;
            let passed = PASSED.iter().filter_map(|name| Some((*name, self.variables.get(name)?.to_owned())));
            let tree = Tree { program, variables: passed.collect(), work_tree };
            let answer = tokio::time::timeout(PATIENCE, tree.committed(&names)).await;
            answer.unwrap_or(Err(VersionControlError::TooSlow(PATIENCE.as_secs())))
        })
    }
}

/// One work tree.
struct Tree {
    program: PathBuf,
    variables: Vec<(&'static str, OsString)>,
    work_tree: AbsPath,
}

impl Tree {
    async fn committed(&self, names: &[String]) -> Result<Vec<Option<Committed>>, VersionControlError> {
        let mut found = Vec::with_capacity(names.len());
        if !self.has_head().await? {
            found.resize_with(names.len(), || None);
            return Ok(found);
        }
        for names in names.chunks(NAMES) {
            let entries = self.list(names).await?;
            let mut wanted = Vec::with_capacity(names.len());
            for name in names {
                wanted.push(entries.iter().find(|entry| entry.name == name.as_bytes()));
            }
            found.extend(self.read(wanted).await?);
        }
        Ok(found)
    }

    /// Not before the first commit.
    async fn has_head(&self) -> Result<bool, VersionControlError> {
        let ended = self.output(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"].map(OsStr::new)).await?;
        match ended.status.code() {
            Some(0) => Ok(true),
            // What it says of a name that leads nowhere.
            Some(1) => Ok(false),
            _ => Err(self.failed(first_line(&ended.stderr))),
        }
    }

    async fn list(&self, names: &[String]) -> Result<Vec<Entry>, VersionControlError> {
        let mut arguments = ["ls-tree", "-z", "--long", "--full-tree", "HEAD", "--"].map(OsStr::new).to_vec();
        arguments.extend(names.iter().map(OsStr::new));
        let ended = self.output(&arguments).await?;
        if !ended.status.success() {
            return Err(self.failed(first_line(&ended.stderr)));
        }
        Ok(ended.stdout.split(|byte| *byte == 0).filter_map(entry).collect())
    }

    /// One by one, so that neither side waits for the other with a full pipe.
    async fn read(&self, wanted: Vec<Option<&Entry>>) -> Result<Vec<Option<Committed>>, VersionControlError> {
        let failed = |error: std::io::Error| self.failed(error.to_string());
        let mut child =
            self.command(&["cat-file", "--batch"].map(OsStr::new)).stdin(Stdio::piped()).spawn().map_err(failed)?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(self.failed("its pipes are missing".to_owned()));
        };
        let mut output = BufReader::new(output);
        let mut found = Vec::with_capacity(wanted.len());
        for entry in wanted {
            let Some(entry) = entry else {
                found.push(None);
                continue;
            };
            let bytes = if entry.len <= LARGEST_TEXT {
                input.write_all(format!("{}\n", entry.object).as_bytes()).await.map_err(failed)?;
                input.flush().await.map_err(failed)?;
                let mut head = String::new();
                output.read_line(&mut head).await.map_err(failed)?;
                let len = head.trim_end().rsplit_once(' ').and_then(|(_, len)| len.parse().ok());
                // Of an object that a partial clone has not fetched it says that it is missing.
                let len: usize = len.ok_or_else(|| self.failed(head.trim_end().to_owned()))?;
                let mut bytes = vec![0; len];
                output.read_exact(&mut bytes).await.map_err(failed)?;
                output.read_exact(&mut [0]).await.map_err(failed)?;
                Some(bytes)
            } else {
                None
            };
            found.push(Some(Committed { bytes, mode: entry.mode }));
        }
        Ok(found)
    }

    async fn output(&self, arguments: &[&OsStr]) -> Result<std::process::Output, VersionControlError> {
        self.command(arguments).stdin(Stdio::null()).output().await.map_err(|error| self.failed(error.to_string()))
    }

    fn command(&self, arguments: &[&OsStr]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["--no-pager", "--literal-pathspecs"])
            .args(arguments)
            .current_dir(self.work_tree.as_path())
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env("LC_ALL", "C")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    fn failed(&self, reason: String) -> VersionControlError {
        VersionControlError::Failed { work_tree: self.work_tree.clone(), reason }
    }
}

/// Of `ls-tree --long`: `MODE TYPE OBJECT LEN<tab>NAME`. `None` for what is no file.
fn entry(line: &[u8]) -> Option<Entry> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let (head, name) = (std::str::from_utf8(&line[..tab]).ok()?, &line[tab + 1..]);
    let mut words = head.split_ascii_whitespace();
    let (mode, kind, object, len) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let mode = u32::from_str_radix(mode, 8).ok()?;
    // A link is a blob too, of another kind of mode.
    let is_file = kind == "blob" && mode & 0o170_000 == 0o100_000;
    let name = name.to_vec();
    is_file.then(|| Some(Entry { name, object: object.to_owned(), len: len.parse().ok()?, mode: mode & 0o777 }))?
}

fn first_line(words: &[u8]) -> String {
    String::from_utf8_lossy(words).lines().next().unwrap_or("it does not say why").to_owned()
}

#[cfg(test)]
#[path = "git_head_tests.rs"]
#[expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
mod tests;
