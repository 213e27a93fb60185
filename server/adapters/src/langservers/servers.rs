//! The well-known language servers, and which of them looks at which file. A table: facts of the servers. Nothing is started here.
//!
//! Only servers that run no code of the project are well known: rust-analyzer runs build scripts, for example, and so must be configured by the user.

use std::collections::BTreeMap;

use copydesk_engine::ports::{LanguageServer, LanguageServers};
use serde_json::Value;

struct WellKnown {
    name: &'static str,
    command: &'static [&'static str],
    extensions: &'static [&'static str],
    /// Files that stand in the folder of a project.
    markers: &'static [&'static str],
    /// Whether it knows nothing true of a file without one of its markers.
    needs_marker: bool,
}

/// Of several for one file the first whose program is found.
const WELL_KNOWN: &[WellKnown] = &[
    WellKnown {
        name: "ty",
        command: &["ty", "server"],
        extensions: PYTHON,
        markers: &["ty.toml", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"],
        needs_marker: false,
    },
    WellKnown {
        name: "ruff",
        command: &["ruff", "server"],
        extensions: PYTHON,
        markers: &["ruff.toml", ".ruff.toml", "pyproject.toml"],
        needs_marker: false,
    },
    WellKnown {
        name: "clangd",
        command: &["clangd"],
        extensions: &["c", "h", "cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "m", "mm"],
        markers: &["compile_commands.json", "build/compile_commands.json", "compile_flags.txt", ".clangd"],
        needs_marker: true,
    },
    // TypeScript's native server, from version 7 on; the program of older versions ends at once.
    WellKnown {
        name: "typescript",
        command: &["tsc", "--lsp", "--stdio"],
        extensions: &["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"],
        markers: &["tsconfig.json", "jsconfig.json", "package.json"],
        needs_marker: false,
    },
];

const PYTHON: &[&str] = &["py", "pyi"];

/// How to start a server, and for which files.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Server {
    pub(super) name: String,
    /// Never empty.
    pub(super) command: Vec<String>,
    extensions: Vec<String>,
    pub(super) markers: Vec<String>,
    pub(super) needs_marker: bool,
    pub(super) env: BTreeMap<String, String>,
    pub(super) initialization: Value,
}

impl Server {
    pub(super) fn looks_at(&self, extension: &str) -> bool {
        self.extensions.iter().any(|known| known == extension)
    }
}

/// In the order in which they are tried: the user's own, then the well-known ones.
pub(super) fn servers(configured: &LanguageServers) -> Vec<Server> {
    let LanguageServers::On(configured) = configured else { return Vec::new() };
    let is_known = |name: &str| WELL_KNOWN.iter().any(|known| known.name == name);
    let own = configured.iter().filter(|(name, _)| !is_known(name)).filter_map(|(name, server)| own(name, server));
    own.chain(WELL_KNOWN.iter().filter_map(|known| merged(known, configured.get(known.name)))).collect()
}

/// `None` where it is disabled, or has no command.
fn own(name: &str, server: &LanguageServer) -> Option<Server> {
    let command = server.command.clone().filter(|_| !server.disabled)?;
    Some(Server {
        name: name.to_owned(),
        command,
        extensions: extensions(server.extensions.as_deref().unwrap_or_default()),
        markers: Vec::new(),
        needs_marker: false,
        env: server.env.clone(),
        initialization: server.initialization.clone(),
    })
}

fn merged(known: &WellKnown, configured: Option<&LanguageServer>) -> Option<Server> {
    let configured = configured.cloned().unwrap_or_default();
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    (!configured.disabled).then(|| Server {
        name: known.name.to_owned(),
        command: configured.command.unwrap_or_else(|| owned(known.command)),
        extensions: configured.extensions.map_or_else(|| owned(known.extensions), |own| extensions(&own)),
        markers: owned(known.markers),
        needs_marker: known.needs_marker,
        env: configured.env,
        initialization: configured.initialization,
    })
}

fn extensions(written: &[String]) -> Vec<String> {
    written.iter().map(|extension| extension.trim_start_matches('.').to_owned()).collect()
}

/// LSP's identifier of a language; the extension itself where it is as good.
pub(super) fn language(extension: &str) -> &str {
    match extension {
        "py" | "pyi" => "python",
        "h" => "c",
        "cc" | "cxx" | "c++" | "hh" | "hpp" | "hxx" => "cpp",
        "m" => "objective-c",
        "mm" => "objective-cpp",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "typescriptreact",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "javascriptreact",
        "rs" => "rust",
        "sh" | "bash" => "shellscript",
        "rb" => "ruby",
        "md" => "markdown",
        "yml" => "yaml",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(configured: &LanguageServers, extension: &str) -> Vec<String> {
        let fits = servers(configured).into_iter().filter(|server| server.looks_at(extension));
        fits.map(|server| format!("{}: {}", server.name, server.command.join(" "))).collect()
    }

    #[test]
    fn the_user_adds_changes_and_disables_servers() {
        assert_eq!(names(&LanguageServers::default(), "py"), ["ty: ty server", "ruff: ruff server"]);
        assert_eq!(names(&LanguageServers::Off, "py"), [""; 0]);
        let own = LanguageServer {
            command: Some(vec!["own-ls".to_owned()]),
            extensions: Some(vec![".py".to_owned(), "own".to_owned()]),
            ..LanguageServer::default()
        };
        let configured = LanguageServers::On(
            [
                ("own".to_owned(), own),
                ("ruff".to_owned(), LanguageServer { disabled: true, ..LanguageServer::default() }),
                (
                    "ty".to_owned(),
                    LanguageServer { command: Some(vec!["/opt/ty".to_owned()]), ..LanguageServer::default() },
                ),
            ]
            .into(),
        );
        assert_eq!(names(&configured, "py"), ["own: own-ls", "ty: /opt/ty"]);
        assert_eq!(names(&configured, "own"), ["own: own-ls"]);
        assert_eq!(names(&configured, "rs"), [""; 0]);
    }
}
