//! The well-known language servers: how each is started, for which files, and what marks the root of a project. Facts of the servers; nothing is looked
//! for here, and nothing is ever downloaded.

/// One server.
pub(super) struct WellKnown {
    pub(super) name: &'static str,
    pub(super) role: Role,
    /// Of several the first that is found.
    pub(super) programs: &'static [Program],
    /// Extensions of files, or whole names.
    pub(super) files: &'static [&'static str],
    /// The first that is found; without one it is the folder of the workspace.
    pub(super) roots: &'static [Root],
    /// Whether it has nothing to say without one of its roots.
    pub(super) needs_root: bool,
    /// Markers beside or above the file that say that another server is meant.
    pub(super) unless: &'static [&'static str],
    /// Its `initializationOptions` and settings as JSON; empty for none.
    pub(super) settings: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Knows the language: of several for one file one is enough.
    Language,
    /// Speaks beside the others.
    Linter,
}

pub(super) struct Program {
    pub(super) command: &'static [&'static str],
    pub(super) safety: Safety,
    /// Whether projects bring it along, in `node_modules/.bin`.
    pub(super) is_local: bool,
    /// A folder or file above the file, without which it ends at once.
    pub(super) needs: Option<&'static str>,
}

/// Facts, as far as their documentation tells; in doubt the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Safety {
    /// Reads the project.
    Reads,
    /// Runs what the project says: build scripts, plugins, configuration that is a program.
    RunsProject,
}

/// Markers are names of files, or `*` with an ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    /// The nearest folder with one of them.
    Nearest(&'static [&'static str]),
    /// The folder with one of them that is furthest up: modules of one build.
    Topmost(&'static [&'static str]),
    /// The nearest folder in which this file holds this text.
    Holding(&'static str, &'static str),
}

const fn reads(command: &'static [&'static str]) -> Program {
    Program { command, safety: Safety::Reads, is_local: false, needs: None }
}

const fn runs(command: &'static [&'static str]) -> Program {
    Program { command, safety: Safety::RunsProject, is_local: false, needs: None }
}

const fn local(program: Program) -> Program {
    Program { is_local: true, ..program }
}

const fn language(
    name: &'static str,
    programs: &'static [Program],
    files: &'static [&'static str],
    roots: &'static [Root],
) -> WellKnown {
    WellKnown { name, role: Role::Language, programs, files, roots, needs_root: false, unless: &[], settings: "" }
}

const fn linter(
    name: &'static str,
    programs: &'static [Program],
    files: &'static [&'static str],
    roots: &'static [Root],
) -> WellKnown {
    WellKnown { name, role: Role::Linter, programs, files, roots, needs_root: true, unless: &[], settings: "" }
}

/// A name that is renamed where it is used is to be another one everywhere, and no alias there. First as typescript-language-server wants it, then as `tsc` does.
const TYPESCRIPT_SETTINGS: &str = r#"{
    "preferences": { "providePrefixAndSuffixTextForRename": false },
    "typescript": { "preferences": { "useAliasesForRenames": false } },
    "javascript": { "preferences": { "useAliasesForRenames": false } }
}"#;

const SCRIPTS: &[&str] = &["ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts"];
const DENO: &[&str] = &["deno.json", "deno.jsonc"];
const LOCKS: &[&str] = &["package-lock.json", "bun.lockb", "bun.lock", "pnpm-lock.yaml", "yarn.lock"];
const LOCKED: &[Root] = &[Root::Nearest(LOCKS), Root::Nearest(&["package.json"])];
const PYTHON: &[&str] = &["py", "pyi"];
const PYTHON_MARKERS: &[&str] =
    &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "pyrightconfig.json"];
const PYTHON_ROOTS: &[Root] = &[Root::Nearest(PYTHON_MARKERS)];
const ESLINT_SETTINGS: &str = r#"{"validate":"on","run":"onType","nodePath":null,"experimental":{},"problems":{"shortenToSingleLine":false},"rulesCustomizations":[],"quiet":false,"onIgnoredFiles":"off","workingDirectory":{"mode":"location"},"codeAction":{"disableRuleComment":{"enable":true,"location":"separateLine"},"showDocumentation":{"enable":false}},"codeActionOnSave":{"enable":false,"mode":"all"},"format":false}"#;

/// Of several for the language of a file the first that is found.
pub(super) const WELL_KNOWN: &[WellKnown] = &[
    WellKnown {
        needs_root: true,
        ..language("deno", &[reads(&["deno", "lsp"])], &["ts", "tsx", "js", "jsx", "mjs"], &[Root::Nearest(DENO)])
    },
    // TypeScript's own server, from version 7 on, runs nothing of the project; the older one loads the project's compiler and its plugins.
    WellKnown {
        unless: DENO,
        settings: TYPESCRIPT_SETTINGS,
        ..language(
            "typescript",
            &[local(reads(&["tsc", "--lsp", "--stdio"])), local(runs(&["typescript-language-server", "--stdio"]))],
            SCRIPTS,
            &[Root::Nearest(LOCKS), Root::Nearest(&["tsconfig.json", "jsconfig.json", "package.json"])],
        )
    },
    language("vue", &[local(runs(&["vue-language-server", "--stdio"]))], &["vue"], LOCKED),
    language("svelte", &[local(runs(&["svelteserver", "--stdio"]))], &["svelte"], LOCKED),
    language("astro", &[local(runs(&["astro-ls", "--stdio"]))], &["astro"], LOCKED),
    WellKnown {
        settings: ESLINT_SETTINGS,
        ..linter(
            "eslint",
            &[Program {
                needs: Some("node_modules/eslint"),
                ..local(runs(&["vscode-eslint-language-server", "--stdio"]))
            }],
            &["ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts", "vue"],
            &[Root::Nearest(&[
                "eslint.config.js",
                "eslint.config.mjs",
                "eslint.config.cjs",
                "eslint.config.ts",
                ".eslintrc",
                ".eslintrc.js",
                ".eslintrc.cjs",
                ".eslintrc.json",
                ".eslintrc.yaml",
                ".eslintrc.yml",
            ])],
        )
    },
    linter(
        "oxlint",
        &[local(runs(&["oxlint", "--lsp"])), local(runs(&["oxc_language_server"]))],
        &["ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts", "vue", "astro", "svelte"],
        &[Root::Nearest(&[".oxlintrc.json"])],
    ),
    linter(
        "biome",
        &[local(reads(&["biome", "lsp-proxy", "--stdio"]))],
        &[
            "ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts", "json", "jsonc", "vue", "astro", "svelte", "css",
            "graphql", "gql", "html",
        ],
        &[Root::Nearest(&["biome.json", "biome.jsonc"])],
    ),
    language(
        "gopls",
        &[reads(&["gopls"])],
        &["go"],
        &[Root::Nearest(&["go.work"]), Root::Nearest(&["go.mod", "go.sum"])],
    ),
    language(
        "ruby-lsp",
        &[runs(&["rubocop", "--lsp"])],
        &["rb", "rake", "gemspec", "ru"],
        &[Root::Nearest(&["Gemfile"])],
    ),
    language("ty", &[reads(&["ty", "server"])], PYTHON, &[Root::Nearest(&["ty.toml"]), Root::Nearest(PYTHON_MARKERS)]),
    language(
        "pyright",
        &[reads(&["pyright-langserver", "--stdio"]), reads(&["basedpyright-langserver", "--stdio"])],
        PYTHON,
        PYTHON_ROOTS,
    ),
    WellKnown {
        needs_root: false,
        ..linter(
            "ruff",
            &[reads(&["ruff", "server"])],
            PYTHON,
            &[Root::Nearest(&["ruff.toml", ".ruff.toml"]), Root::Nearest(&["pyproject.toml"])],
        )
    },
    language(
        "elixir-ls",
        &[runs(&["elixir-ls"]), runs(&["language_server.sh"])],
        &["ex", "exs"],
        &[Root::Topmost(&["mix.exs", "mix.lock"])],
    ),
    language("zls", &[runs(&["zls"])], &["zig", "zon"], &[Root::Nearest(&["build.zig"])]),
    language(
        "csharp",
        &[runs(&["roslyn-language-server", "--stdio", "--autoLoadProjects"]), runs(&["csharp-ls"])],
        &["cs", "csx"],
        DOTNET,
    ),
    language("razor", &[runs(&["rzls"])], &["razor", "cshtml"], DOTNET),
    language(
        "fsharp",
        &[runs(&["fsautocomplete"])],
        &["fs", "fsi", "fsx", "fsscript"],
        &[Root::Nearest(&["*.slnx", "*.sln"]), Root::Nearest(&["*.fsproj", "global.json"])],
    ),
    language(
        "sourcekit-lsp",
        &[runs(&["sourcekit-lsp"])],
        &["swift", "objc", "objcpp"],
        &[Root::Nearest(&["Package.swift", "*.xcodeproj", "*.xcworkspace"])],
    ),
    // It runs build scripts and macros.
    language(
        "rust",
        &[runs(&["rust-analyzer"])],
        &["rs"],
        &[Root::Holding("Cargo.toml", "[workspace]"), Root::Nearest(&["Cargo.toml", "Cargo.lock"])],
    ),
    // Without its database it takes every header for missing.
    WellKnown {
        needs_root: true,
        ..language(
            "clangd",
            &[reads(&["clangd", "--background-index", "--clang-tidy"])],
            &["c", "cpp", "cc", "cxx", "c++", "h", "hpp", "hh", "hxx", "h++", "m", "mm"],
            &[Root::Nearest(&["compile_commands.json", "build/compile_commands.json", "compile_flags.txt", ".clangd"])],
        )
    },
    language(
        "jdtls",
        &[runs(&["jdtls"])],
        &["java"],
        &[
            Root::Nearest(&["settings.gradle", "settings.gradle.kts", "gradlew"]),
            Root::Topmost(&["build.gradle", "build.gradle.kts"]),
            Root::Topmost(&["pom.xml"]),
            Root::Nearest(&[".project", ".classpath"]),
        ],
    ),
    language(
        "kotlin-ls",
        &[runs(&["kotlin-lsp", "--stdio"]), runs(&["kotlin-lsp.sh", "--stdio"])],
        &["kt", "kts"],
        &[
            Root::Nearest(&["settings.gradle", "settings.gradle.kts", "gradlew"]),
            Root::Topmost(&["build.gradle", "build.gradle.kts"]),
            Root::Topmost(&["pom.xml"]),
        ],
    ),
    language("yaml-ls", &[local(reads(&["yaml-language-server", "--stdio"]))], &["yaml", "yml"], LOCKED),
    language(
        "lua-ls",
        &[reads(&["lua-language-server"])],
        &["lua"],
        &[Root::Nearest(&[
            ".luarc.json",
            ".luarc.jsonc",
            ".luacheckrc",
            ".stylua.toml",
            "stylua.toml",
            "selene.toml",
            "selene.yml",
        ])],
    ),
    language(
        "php intelephense",
        &[reads(&["intelephense", "--stdio"])],
        &["php"],
        &[Root::Nearest(&["composer.json", "composer.lock", ".php-version"])],
    ),
    language(
        "prisma",
        &[local(reads(&["prisma-language-server", "--stdio"])), local(runs(&["prisma", "language-server"]))],
        &["prisma"],
        &[Root::Nearest(&["schema.prisma", "prisma/schema.prisma", "prisma"])],
    ),
    language(
        "dart",
        &[runs(&["dart", "language-server", "--lsp"])],
        &["dart"],
        &[Root::Nearest(&["pubspec.yaml", "analysis_options.yaml"])],
    ),
    language(
        "ocaml-lsp",
        &[runs(&["ocamllsp"])],
        &["ml", "mli"],
        &[Root::Nearest(&["dune-project", "dune-workspace", ".merlin", "opam"])],
    ),
    language("bash", &[reads(&["bash-language-server", "start"])], &["sh", "bash", "zsh", "ksh"], &[]),
    language(
        "terraform",
        &[runs(&["terraform-ls", "serve"])],
        &["tf", "tfvars"],
        &[Root::Nearest(&[".terraform.lock.hcl", "terraform.tfstate", "*.tf"])],
    ),
    language(
        "texlab",
        &[reads(&["texlab"])],
        &["tex", "bib"],
        &[Root::Nearest(&[".latexmkrc", "latexmkrc", ".texlabroot", "texlabroot"])],
    ),
    language("dockerfile", &[reads(&["docker-langserver", "--stdio"])], &["dockerfile", "Dockerfile"], &[]),
    language("gleam", &[reads(&["gleam", "lsp"])], &["gleam"], &[Root::Nearest(&["gleam.toml"])]),
    language(
        "clojure-lsp",
        &[runs(&["clojure-lsp", "listen"])],
        &["clj", "cljs", "cljc", "edn"],
        &[Root::Nearest(&["deps.edn", "project.clj", "shadow-cljs.edn", "bb.edn", "build.boot"])],
    ),
    language("nixd", &[runs(&["nixd"])], &["nix"], &[Root::Nearest(&["flake.nix"])]),
    language("tinymist", &[reads(&["tinymist"])], &["typ", "typc"], &[Root::Nearest(&["typst.toml"])]),
    // Template code of the project runs in the compiler.
    language(
        "haskell-language-server",
        &[runs(&["haskell-language-server-wrapper", "--lsp"])],
        &["hs", "lhs"],
        &[Root::Nearest(&["stack.yaml", "cabal.project", "hie.yaml", "*.cabal"])],
    ),
    language(
        "julials",
        &[runs(&["julia", "--startup-file=no", "--history-file=no", "-e", "using LanguageServer; runserver()"])],
        &["jl"],
        &[Root::Nearest(&["Project.toml", "Manifest.toml", "*.jl"])],
    ),
];

const DOTNET: &[Root] = &[Root::Nearest(&["*.slnx", "*.sln"]), Root::Nearest(&["*.csproj", "global.json"])];

/// LSP's identifier of the language of a file, by its extension or its whole name; the extension itself where it is as good.
pub(super) fn language_id(extension: &str) -> &str {
    match extension {
        "py" | "pyi" => "python",
        "h" => "c",
        "cc" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "h++" => "cpp",
        "m" | "objc" => "objective-c",
        "mm" | "objcpp" => "objective-cpp",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "typescriptreact",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "javascriptreact",
        "rs" => "rust",
        "sh" | "bash" | "zsh" | "ksh" => "shellscript",
        "rb" | "rake" | "gemspec" | "ru" => "ruby",
        "md" => "markdown",
        "yml" => "yaml",
        "htm" => "html",
        "gql" => "graphql",
        "ex" | "exs" => "elixir",
        "zon" => "zig",
        "cs" | "csx" => "csharp",
        "razor" | "cshtml" => "aspnetcorerazor",
        "fs" | "fsi" | "fsx" | "fsscript" => "fsharp",
        "kt" | "kts" => "kotlin",
        "ml" => "ocaml",
        "mli" => "ocaml.interface",
        "tf" => "terraform",
        "tfvars" => "terraform-vars",
        "tex" => "latex",
        "bib" => "bibtex",
        "Dockerfile" => "dockerfile",
        "clj" | "cljs" | "cljc" | "edn" => "clojure",
        "typ" | "typc" => "typst",
        "hs" => "haskell",
        "lhs" => "literate haskell",
        "jl" => "julia",
        other => other,
    }
}
