//! `copydesk demo`: a whole turn of the real daemon on a sample project in a temporary folder. Only the model and the person at the editor are scripted,
//! and say so.

mod client;
mod model;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use copydesk_adapters::os::environment::{OsEnvironment, Variables};
use copydesk_engine::ports::{Environment, Folders};
use copydesk_workspace::path::AbsPath;

use crate::process;
use crate::serve::{self, Farewell};
use crate::wiring::Adapters;

/// What the scripted model works on: one file of Rust with a test that fails.
const SAMPLE: &str = "\
/// A greeting for `name`.
pub fn greet(name: &str) -> String {
    format!(\"Hello {name}\")
}

#[test]
fn greets_politely() {
    assert_eq!(greet(\"Ada\"), \"Hello, Ada!\");
}
";

/// What the file must hold at the end.
const EXPECTED: &str = "\
/// A greeting for `name`.
pub fn greet(name: &str) -> String {
    format!(\"Hello, {name}!\")
}

#[test]
fn greets_politely() {
    assert_eq!(greet(\"Ada\"), \"Hello, Ada!\");
}
";

/// Fails where the turn did not do all that it shows.
pub async fn run(out: &mut (dyn Write + Send)) -> std::io::Result<ExitCode> {
    let temp = tempfile::Builder::new().prefix("copydesk-demo-").tempdir()?;
    let root = AbsPath::new(temp.path().canonicalize()?)
        .ok_or_else(|| std::io::Error::other("the temporary folder has no absolute path"))?;
    let project = root.join("project");
    std::fs::create_dir_all(project.as_path())?;
    std::fs::write(project.join("greet.rs").as_path(), SAMPLE)?;
    writeln!(
        out,
        "Copydesk demo: the daemon, its tools and its checks are real. The model is a script, and so is the user."
    )?;
    writeln!(out, "Project: {project}\n")?;

    let variables = Variables::of_process();
    let environment = Arc::new(Sandboxed { inner: OsEnvironment::new(variables.clone()), root });
    let mut adapters = Adapters::in_environment(variables, environment);
    adapters.ports.model = Arc::new(model::Scripted::new());
    let services = adapters.into_services();
    let (editor_end, daemon_end) = tokio::io::duplex(64 * 1024);
    let (daemon_reads, daemon_writes) = tokio::io::split(daemon_end);
    let daemon =
        tokio::spawn(serve::lsp(Box::new(daemon_reads), Box::new(daemon_writes), services, process::told_to_end()));
    let outcome = client::drive(editor_end, &project, SAMPLE, out).await?;
    let farewell = daemon.await.map_err(std::io::Error::other)?;

    writeln!(out, "\n--- greet.rs at the end ---\n{}---", outcome.text)?;
    if outcome.finished && outcome.text == EXPECTED && farewell == Farewell::Orderly {
        writeln!(out, "\nDone: the edit was checked, mended and tested. Set up your editor: see README.md.")?;
        Ok(ExitCode::SUCCESS)
    } else {
        writeln!(out, "\nThe demo did not end as it should; the lines above show where.")?;
        Ok(ExitCode::FAILURE)
    }
}

/// The user's environment with folders of the demo's own, so that nothing of the user's is read or written.
struct Sandboxed {
    inner: OsEnvironment,
    root: AbsPath,
}

impl Environment for Sandboxed {
    fn var(&self, name: &str) -> Option<String> {
        match name {
            "COPYDESK_CONFIG_CONTENT" => Some(model::CONFIG.to_owned()),
            name if name.starts_with("COPYDESK_") || name.starts_with("OPENCODE_") => None,
            name => self.inner.var(name),
        }
    }

    fn folders(&self) -> Folders {
        Folders {
            home: self.root.join("home"),
            config: self.root.join("config"),
            data: self.root.join("data"),
            temp: self.root.join("temp"),
        }
    }

    fn platform(&self) -> &'static str {
        self.inner.platform()
    }
}
