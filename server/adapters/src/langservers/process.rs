//! The process of a language server: started with the variables of commands, its standard error drained, ended with all that it has started.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use copydesk_workspace::path::AbsPath;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::os::child_variables::{self, Asked};
use crate::os::environment::Variables;
use crate::os::process_tree::{self, MARKER, ProcessTree};

/// How long a server may take to end by itself once its input has ended.
const END: Duration = Duration::from_millis(300);
/// Kept of its standard error, for the log, in bytes.
const STDERR_KEPT: usize = 2048;

/// What is to be started.
#[derive(Debug, Clone)]
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) folder: AbsPath,
    pub(super) env: BTreeMap<String, String>,
    pub(super) hidden_vars: Vec<String>,
    pub(super) passed_vars: Vec<String>,
}

/// Both directions to a server that was started, and its process where it has one.
pub(super) struct Transport {
    pub(super) reader: Box<dyn AsyncRead + Send + Unpin>,
    pub(super) writer: Box<dyn AsyncWrite + Send + Unpin>,
    pub(super) process: Option<ServerProcess>,
}

/// Killed when dropped.
pub(super) struct ServerProcess {
    child: Child,
    tree: Option<ProcessTree>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
}

pub(super) fn start(launch: &Launch, variables: &Variables) -> io::Result<Transport> {
    let marker: String = std::iter::repeat_with(fastrand::alphanumeric).take(16).collect();
    let asked = Asked { hidden: &launch.hidden_vars, passed: &launch.passed_vars };
    let mut command = Command::new(&launch.program);
    command
        .args(&launch.arguments)
        .current_dir(launch.folder.as_path())
        .env_clear()
        .envs(child_variables::outside(variables, asked))
        .envs(&launch.env)
        .env(MARKER, &marker)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[expect(unsafe_code, reason = "std has no safe way to start a session in a child")]
    // SAFETY: `detach` makes two system calls and neither allocates nor takes a lock.
    unsafe {
        command.pre_exec(process_tree::detach);
    }
    let mut child = command.spawn()?;
    let tree = child.id().and_then(|pid| ProcessTree::of_child(pid, marker));
    let (Some(writer), Some(reader), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("the process has no pipes"));
    };
    let stderr = Arc::default();
    tokio::spawn(drain(errors, Arc::clone(&stderr)));
    let process = ServerProcess { child, tree, stderr };
    Ok(Transport { reader: Box::new(reader), writer: Box::new(writer), process: Some(process) })
}

impl ServerProcess {
    /// Its input has ended. Waits a moment for it to end by itself, then kills what is left of it and of its children.
    pub(super) async fn end(mut self) {
        if timeout(END, self.child.wait()).await.is_err() {
            tracing::debug!("a language server did not end by itself");
        }
        let Some(mut tree) = self.tree.take() else { return };
        // A panic there is logged by its thread; the runtime kills the child when it is dropped.
        let _ = spawn_blocking(move || tree.kill()).await;
        let _ = timeout(END, self.child.wait()).await;
    }

    /// The end of what it wrote to its standard error.
    pub(super) fn last_words(&self) -> String {
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&stderr.iter().copied().collect::<Vec<_>>()).into_owned()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if let Some(mut tree) = self.tree.take() {
            tree.kill();
        }
    }
}

/// To the end, so that the server never waits for us; the last bytes are kept. The task ends with the pipe.
async fn drain(mut errors: ChildStderr, kept: Arc<Mutex<VecDeque<u8>>>) {
    let mut bytes = [0; 4096];
    while let Ok(read @ 1..) = errors.read(&mut bytes).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&bytes[..read]);
        let excess = kept.len().saturating_sub(STDERR_KEPT);
        kept.drain(..excess);
    }
}
