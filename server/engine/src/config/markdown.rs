//! Agents in Markdown: `{agent,agents}/**/*.md` and `{mode,modes}/*.md` of a configuration folder. The head is the agent's configuration, the body its prompt.

use std::sync::Arc;

use copydesk_workspace::disk::FileKind;
use copydesk_workspace::path::AbsPath;

use super::node::Node;
use super::{Problem, Source, yaml};
use crate::ports::Files;

/// Folders below `agent/` that are looked into.
const MAX_DEPTH: usize = 8;
/// Files and folders that are looked at below one such folder.
const MAX_ENTRIES: usize = 2000;

pub(super) struct AgentFile {
    /// `agent` or `mode`.
    pub(super) key: &'static str,
    /// The path below that folder without its extension, e.g. `docs/writer`.
    pub(super) name: String,
    pub(super) path: AbsPath,
}

/// In the order of their paths, folder by folder. What cannot be listed has none. `within` is the project that the folder belongs to, links resolved:
/// nothing is listed outside of it, and there may be no end of what is inside.
pub(super) async fn agent_files(
    files: &dyn Files,
    folder: &AbsPath,
    within: Option<&AbsPath>,
    problems: &mut Vec<Problem>,
) -> Vec<AgentFile> {
    let mut found = Vec::new();
    for (key, name, depth) in
        [("agent", "agent", MAX_DEPTH), ("agent", "agents", MAX_DEPTH), ("mode", "mode", 0), ("mode", "modes", 0)]
    {
        let root = folder.join(name);
        let mut problem = |text: String| {
            problems.push(Problem { source: Source::File(root.clone()), line: None, key: None, text });
        };
        if let Some(project) = within
            && let Some(real) = outside(files, &root, project).await
        {
            problem(format!("left out: it is a link to {real}, outside of the project"));
            continue;
        }
        let mut looked_at = 0;
        let mut waiting = vec![(root.clone(), 0)];
        while let Some((folder, level)) = waiting.pop() {
            for entry in files.list(folder.clone()).await.unwrap_or_default() {
                looked_at += 1;
                if looked_at > MAX_ENTRIES {
                    break;
                }
                let path = folder.join(&entry.name);
                match entry.kind {
                    FileKind::Directory if level < depth && !entry.is_link => waiting.push((path, level + 1)),
                    FileKind::File if path.extension() == Some("md") => {
                        let below = path.relative_to(&root).unwrap_or_else(|| entry.name.clone());
                        let name = below.trim_end_matches(".md").to_owned();
                        found.push(AgentFile { key, name, path });
                    }
                    FileKind::Directory | FileKind::File | FileKind::Other => {}
                }
            }
            if looked_at > MAX_ENTRIES {
                problem(format!("it is left out in part: expected at most {MAX_ENTRIES} files and folders"));
                break;
            }
        }
    }
    found
}

/// Where a folder of the project leads to, when that is there and not in the project.
async fn outside(files: &dyn Files, folder: &AbsPath, project: &AbsPath) -> Option<AbsPath> {
    let real = files.real_path(folder.clone()).await.ok()?;
    let is_outside = !real.starts_with(project) && files.stat(real.clone()).await.is_ok();
    is_outside.then_some(real)
}

/// A configuration tree that holds this one agent without its prompt, and the prompt.
pub(super) fn agent_tree(file: &AgentFile, text: &str) -> Result<(Node, String), Problem> {
    let source = Arc::new(Source::File(file.path.clone()));
    let (head, body) = split(text);
    let settings = match yaml::parse(head, &source, 2) {
        Ok(settings) => settings,
        Err(error) => yaml::parse(&quote_colons(head), &source, 2).map_err(|_| error)?,
    };
    let settings = settings.unwrap_or_else(|| Node::empty_map(&source));
    let mut agents = Node::empty_map(&source);
    agents.set(&file.name, settings);
    let mut tree = Node::empty_map(&source);
    tree.set(file.key, agents);
    Ok((tree, body.trim().to_owned()))
}

/// Any Markdown file.
pub(crate) struct FrontMatter<'a> {
    /// The texts at the top level of its head.
    pub(crate) texts: Vec<(String, String)>,
    pub(crate) body: &'a str,
}

/// The error is a text for the user.
pub(crate) fn front_matter<'a>(path: &AbsPath, text: &'a str) -> Result<FrontMatter<'a>, String> {
    let source = Arc::new(Source::File(path.clone()));
    let (head, body) = split(text.strip_prefix('\u{feff}').unwrap_or(text));
    let settings = yaml::parse(head, &source, 2).or_else(|error| {
        let quoted = yaml::parse(&quote_colons(head), &source, 2);
        quoted.map_err(|_| error.to_string())
    })?;
    let entries = settings.as_ref().map(Node::entries).unwrap_or_default();
    let texts = entries.iter().filter_map(|(key, node)| Some((key.clone(), node.as_text()?.to_owned())));
    Ok(FrontMatter { texts: texts.collect(), body })
}

/// Head and body; the head is what stands between a first line `---` and the next.
fn split(text: &str) -> (&str, &str) {
    let line_end = |text: &str| text.find('\n').map_or(text.len(), |index| index + 1);
    let (first, rest) = text.split_at(line_end(text));
    if first.trim_end() != "---" {
        return ("", text);
    }
    let mut head = 0;
    while head < rest.len() {
        let end = head + line_end(&rest[head..]);
        if rest[head..end].trim_end() == "---" {
            return (&rest[..head], &rest[end..]);
        }
        head = end;
    }
    ("", text)
}

/// People write `description: Use it when: always`, which is no YAML; so values of top-level keys with a colon in them are quoted.
fn quote_colons(head: &str) -> String {
    let quoted = head.lines().map(|line| {
        let value = line.split_once(": ").filter(|(key, value)| {
            let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
            is_key && value.contains(':') && !value.trim_start().starts_with(['"', '\'', '|', '>', '{', '['])
        });
        match value {
            Some((key, value)) => format!("{key}: {}", serde_json::Value::from(value.trim())),
            None => line.to_owned(),
        }
    });
    quoted.collect::<Vec<_>>().join("\n")
}
