//! The files that edits are made in: made ones, a few styles of program each with its own indentation, or real ones from folders of this machine.

use std::path::{Path, PathBuf};

use crate::dice::Dice;

/// Lines without their breaks.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) lines: Vec<String>,
    pub(crate) line_break: &'static str,
    pub(crate) ends_with_break: bool,
}

impl Source {
    pub(crate) fn text(&self, lines: &[String]) -> String {
        let end = if self.ends_with_break { self.line_break } else { "" };
        lines.join(self.line_break) + end
    }
}

/// Larger files cost time and show nothing new, bytes.
const SIZES: std::ops::Range<u64> = 400..60_000;
const LONGEST_LINE: usize = 300;
const ENDINGS: &[&str] = &[
    "rs", "py", "js", "mjs", "cjs", "ts", "tsx", "c", "h", "cc", "go", "java", "rb", "lua", "sh", "css", "html",
    "json", "toml", "yml", "yaml", "md", "sql",
];

/// The paths of all files that may be sampled, in one order whatever the file system says.
pub(crate) fn found(roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = roots.to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file()
                && is_source(&entry.path())
                && entry.metadata().is_ok_and(|meta| SIZES.contains(&meta.len()))
            {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    files
}

fn is_source(path: &Path) -> bool {
    let name = path.to_string_lossy();
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) && !name.contains(".min.")
}

/// `None` for what is no text of lines that people write.
pub(crate) fn read(path: &Path) -> Option<Source> {
    let text = std::fs::read_to_string(path).ok()?;
    if text.starts_with('\u{feff}') || text.contains('\r') && text.replace("\r\n", "").contains('\r') {
        return None;
    }
    // Of several the bench could not say which a new line should have.
    if text.contains("\r\n") && text.replace("\r\n", "").contains('\n') {
        return None;
    }
    let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let text = text.replace("\r\n", "\n");
    let is_plain = |c: char| !c.is_control() || c == '\n' || c == '\t';
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let fits = text.chars().all(is_plain) && lines.len() >= 8 && lines.iter().all(|line| line.len() <= LONGEST_LINE);
    fits.then(|| Source { name: path.display().to_string(), line_break, ends_with_break: text.ends_with('\n'), lines })
}

struct Style {
    name: &'static str,
    unit: &'static str,
    comment: &'static str,
    function: fn(&str, &str) -> String,
    open: fn(&str) -> String,
    close: &'static str,
    end: &'static str,
}

const STYLES: &[Style] = &[
    Style {
        name: "made.rs",
        unit: "    ",
        comment: "//",
        function: |name, argument| format!("pub fn {name}({argument}: &str) -> Option<usize> {{"),
        open: |condition| format!("if {condition} {{"),
        close: "}",
        end: ";",
    },
    Style {
        name: "made.py",
        unit: "    ",
        comment: "#",
        function: |name, argument| format!("def {name}({argument}, *, strict=False):"),
        open: |condition| format!("if {condition}:"),
        close: "",
        end: "",
    },
    Style {
        name: "made.go",
        unit: "\t",
        comment: "//",
        function: |name, argument| format!("func {name}({argument} string) (int, error) {{"),
        open: |condition| format!("if {condition} {{"),
        close: "}",
        end: "",
    },
    Style {
        name: "made.js",
        unit: "  ",
        comment: "//",
        function: |name, argument| format!("export function {name}({argument}) {{"),
        open: |condition| format!("if ({condition}) {{"),
        close: "}",
        end: ";",
    },
];

const WORDS: &[&str] = &[
    "order", "total", "user", "cache", "index", "buffer", "reader", "offset", "limit", "token", "parent", "child",
    "value", "state", "event", "queue", "price", "weight", "label", "branch",
];

/// A small program of a style; some of its functions have the same body, as those of people do.
pub(crate) fn made(dice: &mut Dice) -> Source {
    let style = dice.one_of(STYLES);
    let mut lines = vec![format!("{} Counts what the {} holds & tells it.", style.comment, dice.one_of(WORDS))];
    if dice.once_in(2) {
        lines.push(String::new());
    }
    let mut bodies: Vec<Vec<String>> = Vec::new();
    for _ in 0..3 + dice.below(4) {
        let (name, argument) = (format!("{}_{}", dice.one_of(WORDS), dice.one_of(WORDS)), dice.one_of(WORDS));
        lines.push((style.function)(&name, argument));
        let again = bodies.get(dice.below(bodies.len() + 3)).cloned();
        let body = again.unwrap_or_else(|| {
            let mut body = Vec::new();
            statements(style, dice, 1, &mut body);
            body
        });
        lines.extend(body.iter().cloned());
        bodies.push(body);
        if !style.close.is_empty() {
            lines.push(style.close.to_owned());
        }
        lines.push(String::new());
    }
    lines.pop();
    Source { name: style.name.to_owned(), lines, line_break: "\n", ends_with_break: !dice.once_in(5) }
}

fn statements(style: &Style, dice: &mut Dice, depth: usize, lines: &mut Vec<String>) {
    let indent = style.unit.repeat(depth);
    for _ in 0..2 + dice.below(4) {
        let (one, two, number) = (*dice.one_of(WORDS), *dice.one_of(WORDS), dice.below(900));
        let end = style.end;
        match dice.below(9) {
            0 => lines.push(format!("{indent}{} the {one} of each {two} isn't \"{number}\"", style.comment)),
            1 => lines.push(format!("{indent}{one} = {two}[{number}] + {one}{end}")),
            2 => lines.push(format!("{indent}{one}.{two}(\"{one} of {two}: <{number}>\\n\", {one}){end}")),
            3 => lines.push(format!("{indent}{one} = {two} && {one} < {number}{end}")),
            4 => lines.push(format!("{indent}{one}_{two}    = compute({one}, '{two}'){end}")),
            5 => lines.push(String::new()),
            6 | 7 if depth < 4 => {
                lines.push(format!("{indent}{}", (style.open)(&format!("{one} == {two}_{number}"))));
                statements(style, dice, depth + 1, lines);
                if !style.close.is_empty() {
                    lines.push(format!("{indent}{}", style.close));
                }
            }
            _ => lines.push(format!("{indent}return {one}{end}")),
        }
    }
}
