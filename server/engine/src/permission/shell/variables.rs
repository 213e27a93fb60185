//! Variables by which a command is made to run or load something else, or to look elsewhere. `tool *` does not speak of a `tool` under such a variable.

/// Whether `text` can be the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether setting `name` may change what a command does.
pub(super) fn steers(name: &str) -> bool {
    !is_known_harmless(name)
        && (NAMES.contains(&name)
            || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || SUFFIXES.iter().any(|suffix| name.ends_with(suffix)))
}

/// Whether `name` does no harm with this value: a pager that only copies, an editor that does nothing, a switch turned off.
pub(super) fn is_calm(name: &str, value: Option<&str>) -> bool {
    let Some(value) = value else { return false };
    match name {
        "PAGER" | "GIT_PAGER" | "MANPAGER" | "SYSTEMD_PAGER" | "AWS_PAGER" | "GH_PAGER" => matches!(value, "" | "cat"),
        "EDITOR" | "VISUAL" | "GIT_EDITOR" | "GIT_SEQUENCE_EDITOR" => matches!(value, "true" | ":" | "false"),
        // Other signs would split values in ways that are not followed here.
        "IFS" => value.chars().all(char::is_whitespace),
        _ => false,
    }
}

const NAMES: [&str; 110] = [
    "SIMPLE_BACKUP_SUFFIX",
    "ERL_LIBS",
    "GCC_EXEC_PREFIX",
    "TS_NODE_COMPILER",
    "KUBECTL_EXTERNAL_DIFF",
    "GOAUTH",
    "GOCACHEPROG",
    "GROFF_COMMAND_PREFIX",
    "NIX_SSHOPTS",
    "CCACHE_PREFIX",
    "CCACHE_PREFIX_CPP",
    "CCACHE_COMPILER",
    "CCACHE_CONFIGPATH",
    "AWS_SHARED_CREDENTIALS_FILE",
    "VIM",
    "VIMRUNTIME",
    "CHROME_BIN",
    "PHPRC",
    "PSQLRC",
    "HGRCPATH",
    "SVN_SSH",
    "CVS_RSH",
    "RSYNC_RSH",
    "RSYNC_CONNECT_PROG",
    "TCLLIBPATH",
    "GTK_MODULES",
    "GIO_EXTRA_MODULES",
    "NETRC",
    "ACKRC",
    "SCREENRC",
    "MAILRC",
    "OCAMLRUNPARAM",
    "ELECTRON_RUN_AS_NODE",
    "CLOUDSDK_PYTHON",
    "PATH",
    "IFS",
    "ENV",
    "SHELL",
    "SHELLOPTS",
    "CDPATH",
    "FPATH",
    "GLOBIGNORE",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "EXECIGNORE",
    "HISTFILE",
    "HISTCONTROL",
    "INPUTRC",
    "HOME",
    "PWD",
    "OLDPWD",
    "TMPDIR",
    "USER",
    "LOGNAME",
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "TERMINFO",
    "TERMCAP",
    "TERM_PROGRAM",
    "GCONV_PATH",
    "LOCPATH",
    "NLSPATH",
    "HOSTALIASES",
    "RESOLV_HOST_CONF",
    "CC",
    "CXX",
    "CPP",
    "LD",
    "AR",
    "AS",
    "FC",
    "GOROOT",
    "GOBIN",
    "GOFLAGS",
    "GOPROXY",
    "MAKE",
    "MAKEFILES",
    "MANOPT",
    "TZDIR",
    "TAR_OPTIONS",
    "ZDOTDIR",
    "SUDO_ASKPASS",
    "SSH_AUTH_SOCK",
    "DOCKER_HOST",
    "KUBECONFIG",
    "CLASSPATH",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "SSLKEYLOGFILE",
    "WGETRC",
    "AWKPATH",
    "AWKLIBPATH",
    "VIMINIT",
    "EXINIT",
    "MYVIMRC",
    "GOENV",
    "GOTOOLCHAIN",
    "TERMINFO_DIRS",
    "EMACSLOADPATH",
    "PGSERVICEFILE",
    "TF_CLI_CONFIG_FILE",
];

const PREFIXES: [&str; 44] = [
    "CMAKE_", "LESS", "DENO_", "BUN_", "JULIA_", "HELM_", "ANSIBLE_", "LD_", "DYLD_", "BASH", "GIT_", "PYTHON", "PERL",
    "RUBY", "NODE_", "npm_", "NPM_", "YARN_", "PNPM_", "CARGO_", "RUST", "GEM_", "BUNDLE_", "PIP_", "UV_", "POETRY_",
    "CONDA_", "JAVA_", "JDK_", "MAVEN_", "GRADLE_", "XDG_", "SSH_", "GPG_", "GNUPG", "LUA_", "PHP_", "MALLOC_",
    "GLIBC_", "R_", "COMP_", "PYTEST_", "DOTNET_", "CORECLR_",
];

const SUFFIXES: [&str; 25] = [
    "_PATH",
    "_OPTS",
    "_OPTIONS",
    "OPT",
    "_ARGS",
    "_COMMAND",
    "_CMD",
    "_EDITOR",
    "_PAGER",
    "_SHELL",
    "_WRAPPER",
    "_PRELOAD",
    "_HOME",
    "_CONFIG",
    "_CONFIG_FILE",
    "CONFIG_DIR",
    "_PROXY",
    "_proxy",
    "_RC",
    "FLAGS",
    "_ASKPASS",
    "_PROGRAM",
    "_EXEC",
    "_HOOK",
    "_LAUNCHER",
];

fn is_known_harmless(name: &str) -> bool {
    const HARMLESS: [&str; 22] = [
        "CMAKE_BUILD_PARALLEL_LEVEL",
        "CMAKE_BUILD_TYPE",
        "CMAKE_COLOR_DIAGNOSTICS",
        "CMAKE_EXPORT_COMPILE_COMMANDS",
        "RUST_BACKTRACE",
        "RUST_LOG",
        "RUST_LIB_BACKTRACE",
        "RUST_TEST_THREADS",
        "NODE_ENV",
        "PYTHONUNBUFFERED",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONIOENCODING",
        "PYTHONUTF8",
        "PYTHONHASHSEED",
        "CARGO_TERM_COLOR",
        "CARGO_TERM_PROGRESS_WHEN",
        "CARGO_INCREMENTAL",
        "GIT_TERMINAL_PROMPT",
        "GIT_OPTIONAL_LOCKS",
        "NPM_CONFIG_COLOR",
        "NODE_NO_WARNINGS",
        "GIT_AUTHOR_DATE",
    ];
    HARMLESS.contains(&name)
}

/// Whether bash gives it a value of its own, whatever is assigned.
pub(super) fn is_special(name: &str) -> bool {
    const SPECIAL: [&str; 18] = [
        "_",
        "RANDOM",
        "SRANDOM",
        "SECONDS",
        "LINENO",
        "UID",
        "EUID",
        "PPID",
        "GROUPS",
        "DIRSTACK",
        "FUNCNAME",
        "HISTCMD",
        "EPOCHSECONDS",
        "EPOCHREALTIME",
        "OPTIND",
        "PIPESTATUS",
        "COMP_WORDBREAKS",
        "HOSTNAME",
    ];
    SPECIAL.contains(&name) || name.starts_with("BASH")
}
