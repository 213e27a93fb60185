//! The known formatters, as facts of each: for which files, when, and how a text goes through it. A table; nothing runs here.

use copydesk_workspace::path::AbsPath;

use super::has_extension;

pub(super) struct Known {
    pub(super) name: &'static str,
    /// Endings of names, without the first dot.
    pub(super) extensions: &'static [&'static str],
    pub(super) condition: Condition,
    pub(super) program: &'static str,
    /// `{path}` is the path of the file, `{edition}` Rust's edition; `$FILE` asks for a copy, where the program takes no text on its standard input.
    pub(super) arguments: &'static [&'static str],
    /// Where projects bring the program along.
    pub(super) local: Option<&'static str>,
    pub(super) is_only_local: bool,
    pub(super) safety: Safety,
    /// A command that fails where the program is not the one that is meant, or too old.
    pub(super) probe: Option<&'static str>,
    /// Codes of success besides 0: some tell by their code of what they could not mend.
    pub(super) also_fine: &'static [i32],
    pub(super) declines: Declines,
    pub(super) place: Place,
}

/// How it says, besides giving the text back, that a file is not one of its own: of another kind, or switched off in its configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declines {
    Never,
    /// It succeeds, and answers nothing.
    Silently,
    /// It gives the text back, and ends with this code.
    WithCode(i32),
}

/// Where it runs: many look for their configuration there and above, not beside the path that they are told.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Session,
    /// The folder of the file.
    Own,
    /// The nearest folder beside or above the file that holds this; the session's where none does.
    With(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Condition {
    /// The program is there.
    None,
    /// One of these stands beside or above the file.
    Beside(&'static [&'static str]),
    /// A `package.json` beside or above the file depends on it.
    Depends(&'static str),
    /// A file of this name holds this text.
    Mentions(&'static [(&'static str, &'static str)]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Safety {
    Reads,
    /// It loads configuration or plugins of the project that are programs.
    RunsProject,
}

impl Known {
    pub(super) fn is_for(&self, path: &AbsPath) -> bool {
        has_extension(path, self.extensions.iter().copied())
    }

    pub(super) fn words(&self, program: String, path: &AbsPath, edition: Option<String>) -> Vec<String> {
        let (path, edition) = (path.to_string(), edition.unwrap_or_default());
        let filled = |word: &&str| match *word {
            "{edition}" => edition.clone(),
            word => word.replace("{path}", &path),
        };
        std::iter::once(program).chain(self.arguments.iter().map(filled)).collect()
    }
}

/// Programs that repositories bring along: the formatter, and its place.
pub(crate) fn repository_programs() -> impl Iterator<Item = (&'static str, String)> {
    KNOWN.iter().filter_map(|known| Some((known.name, format!("{}/{}", known.local?, known.program))))
}

const fn pipe(
    name: &'static str,
    extensions: &'static [&'static str],
    program: &'static str,
    arguments: &'static [&'static str],
) -> Known {
    Known {
        name,
        extensions,
        condition: Condition::None,
        program,
        arguments,
        local: None,
        is_only_local: false,
        safety: Safety::Reads,
        probe: None,
        also_fine: &[],
        declines: Declines::Never,
        place: Place::Session,
    }
}

const RUBY: &[&str] = &["rb", "rake", "gemspec", "ru"];
const PYTHON: &[&str] = &["py", "pyi"];
const NODE: Option<&str> = Some("node_modules/.bin");
const WEB: &[&str] = &[
    "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "html", "htm", "css", "scss", "sass", "less", "vue",
    "svelte", "json", "jsonc", "yaml", "yml", "toml", "xml", "md", "mdx", "graphql", "gql",
];

/// In the order in which they run.
pub(super) const KNOWN: &[Known] = &[
    pipe("gofmt", &["go"], "gofmt", &[]),
    Known {
        safety: Safety::RunsProject,
        place: Place::With(".formatter.exs"),
        ..pipe(
            "mix",
            &["ex", "exs", "eex", "heex", "leex", "neex", "sface"],
            "mix",
            &["format", "--stdin-filename", "{path}", "-"],
        )
    },
    pipe("zig", &["zig"], "zig", &["fmt", "--stdin"]),
    pipe("zig", &["zon"], "zig", &["fmt", "--stdin", "--zon"]),
    // Its log goes where the text goes.
    Known {
        also_fine: &[1],
        place: Place::Own,
        ..pipe("ktlint", &["kt", "kts"], "ktlint", &["-F", "--stdin", "--log-level=none"])
    },
    pipe("dart", &["dart"], "dart", &["format"]),
    pipe("terraform", &["tf", "tfvars"], "terraform", &["fmt", "-"]),
    pipe("gleam", &["gleam"], "gleam", &["format", "--stdin"]),
    pipe("shfmt", &["sh", "bash"], "shfmt", &["--filename", "{path}"]),
    pipe("nixfmt", &["nix"], "nixfmt", &[]),
    Known {
        place: Place::Own,
        ..pipe("rustfmt", &["rs"], "rustfmt", &["--quiet", "--emit", "stdout", "--edition", "{edition}"])
    },
    pipe("htmlbeautifier", &["erb"], "htmlbeautifier", &[]),
    pipe("latexindent", &["tex"], "latexindent", &["-g", "/dev/null", "-"]),
    pipe("ormolu", &["hs"], "ormolu", &["--stdin-input-file", "{path}"]),
    pipe("cljfmt", &["clj", "cljs", "cljc", "edn"], "cljfmt", &["fix", "--quiet", "-"]),
    Known { place: Place::Own, ..pipe("dfmt", &["d"], "dfmt", &[]) },
    Known {
        safety: Safety::RunsProject,
        also_fine: &[1],
        ..pipe("rubocop", RUBY, "rubocop", &["--autocorrect", "--stderr", "--stdin", "{path}"])
    },
    Known {
        safety: Safety::RunsProject,
        also_fine: &[1],
        ..pipe("standardrb", RUBY, "standardrb", &["--fix", "--stderr", "--stdin", "{path}"])
    },
    Known {
        condition: Condition::Depends("prettier"),
        local: NODE,
        safety: Safety::RunsProject,
        declines: Declines::Silently,
        ..pipe("prettier", WEB, "prettier", &["--ignore-unknown", "--stdin-filepath", "{path}"])
    },
    Known {
        condition: Condition::Depends("oxfmt"),
        local: NODE,
        safety: Safety::RunsProject,
        ..pipe(
            "oxfmt",
            &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"],
            "oxfmt",
            &["--stdin-filepath", "{path}"],
        )
    },
    Known {
        condition: Condition::Beside(&["biome.json", "biome.jsonc"]),
        local: NODE,
        declines: Declines::WithCode(1),
        place: Place::Own,
        ..pipe("biome", WEB, "biome", &["format", "--files-ignore-unknown=true", "--stdin-file-path={path}"])
    },
    Known {
        condition: Condition::Beside(&[".clang-format", "_clang-format"]),
        ..pipe(
            "clang-format",
            &["c", "cc", "cpp", "cxx", "c++", "h", "hh", "hpp", "hxx", "h++", "ino", "C", "H"],
            "clang-format",
            &["--assume-filename={path}"],
        )
    },
    Known {
        condition: Condition::Beside(&["ruff.toml", ".ruff.toml"]),
        ..pipe("ruff", PYTHON, "ruff", &["format", "--stdin-filename", "{path}", "-"])
    },
    Known {
        condition: Condition::Mentions(&[
            ("pyproject.toml", "ruff"),
            ("requirements.txt", "ruff"),
            ("Pipfile", "ruff"),
        ]),
        ..pipe("ruff", PYTHON, "ruff", &["format", "--stdin-filename", "{path}", "-"])
    },
    // It fetches ruff where it has not done so before, which takes a network.
    Known {
        probe: Some("uv --offline format -- -"),
        ..pipe("uv", PYTHON, "uv", &["--offline", "format", "--", "--stdin-filename", "{path}", "-"])
    },
    // There is another program of this name.
    Known {
        probe: Some("air --help | grep -q 'R '"),
        ..pipe("air", &["R"], "air", &["format", "--stdin-file-path", "{path}"])
    },
    Known {
        condition: Condition::Beside(&[".ocamlformat"]),
        ..pipe("ocamlformat", &["ml", "mli"], "ocamlformat", &["--name={path}", "-"])
    },
    Known {
        condition: Condition::Mentions(&[("composer.json", "laravel/pint")]),
        local: Some("vendor/bin"),
        is_only_local: true,
        safety: Safety::RunsProject,
        ..pipe("pint", &["php"], "pint", &["--quiet", "$FILE"])
    },
];
