//! Which variables of the daemon a command or a language server gets (R19.3): those of this list, since what a variable holds does not show in its name, and more only by the
//! user's word. Sets nothing of its own but what the sandbox's temporary folder asks for.

use std::ffi::{OsStr, OsString};

use copydesk_engine::ports::{Confinement, ShellCommand};

use super::environment::Variables;

/// `*` at the end stands for any rest.
const PASSED: &[&str] = &[
    // The user and the terminal.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LOCPATH",
    "LOCALE_ARCHIVE",
    "TZ",
    "TZDIR",
    "TMPDIR",
    "TMP",
    "TEMP",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "LINES",
    "MANPATH",
    "INFOPATH",
    "CI",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_BIN_HOME",
    // Certificates.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NIX_SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    // Who commits.
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "EMAIL",
    // C and its kin.
    "CC",
    "CXX",
    "CPP",
    "LD",
    "AR",
    "AS",
    "NM",
    "RANLIB",
    "STRIP",
    "OBJCOPY",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "LDLIBS",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "LIBRARY_PATH",
    "LD_LIBRARY_PATH",
    "MAKEFLAGS",
    "CMAKE_*",
    "CCACHE_*",
    "NINJA_STATUS",
    "PKG_CONFIG",
    "PKG_CONFIG_*",
    "ACLOCAL_PATH",
    "VCPKG_ROOT",
    "CONAN_HOME",
    "BOOST_ROOT",
    "CUDA_HOME",
    "CUDA_PATH",
    "LLVM_*",
    "LIBCLANG_PATH",
    "EMSDK",
    "EMSDK_NODE",
    "SOURCE_DATE_EPOCH",
    "SDKROOT",
    "DEVELOPER_DIR",
    "MACOSX_DEPLOYMENT_TARGET",
    "PROTOC",
    "PROTOC_INCLUDE",
    "OPENSSL_DIR",
    "OPENSSL_LIB_DIR",
    "OPENSSL_INCLUDE_DIR",
    // Rust.
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CARGO_INCREMENTAL",
    "CARGO_BUILD_*",
    "CARGO_NET_*",
    "CARGO_PROFILE_*",
    "CARGO_TERM_*",
    "CARGO_TARGET_*",
    "RUSTUP_*",
    "RUSTC",
    "RUSTC_*",
    "RUSTDOC",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUST_MIN_STACK",
    "RUST_TEST_THREADS",
    // Go.
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "GOFLAGS",
    "GOOS",
    "GOARCH",
    "GOAMD64",
    "GOARM",
    "GOARM64",
    "GOENV",
    "GOEXPERIMENT",
    "GONOPROXY",
    "GONOSUMDB",
    "GOPRIVATE",
    "GOPROXY",
    "GOSUMDB",
    "GOTOOLCHAIN",
    "GOTMPDIR",
    "GOWORK",
    "GO111MODULE",
    "CGO_*",
    // Java and its kin.
    "JAVA_HOME",
    "JDK_HOME",
    "JAVA_OPTS",
    "JAVA_TOOL_OPTIONS",
    "CLASSPATH",
    "MAVEN_HOME",
    "M2_HOME",
    "MAVEN_OPTS",
    "MAVEN_ARGS",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "GRADLE_OPTS",
    "ANT_HOME",
    "KOTLIN_HOME",
    "SCALA_HOME",
    "SBT_OPTS",
    "SDKMAN_DIR",
    "SDKMAN_CANDIDATES_DIR",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "ANDROID_NDK_HOME",
    "ANDROID_NDK_ROOT",
    // JavaScript.
    "NODE_PATH",
    "NODE_OPTIONS",
    "NODE_ENV",
    "NVM_DIR",
    "NVM_BIN",
    "NVM_INC",
    "FNM_DIR",
    "FNM_MULTISHELL_PATH",
    "VOLTA_HOME",
    "N_PREFIX",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "DENO_INSTALL",
    "COREPACK_HOME",
    "YARN_CACHE_FOLDER",
    "npm_config_prefix",
    "npm_config_cache",
    "NPM_CONFIG_PREFIX",
    "NPM_CONFIG_CACHE",
    "PLAYWRIGHT_BROWSERS_PATH",
    "PUPPETEER_EXECUTABLE_PATH",
    "CHROME_BIN",
    "CYPRESS_CACHE_FOLDER",
    // Python.
    "PYTHON*",
    "VIRTUAL_ENV",
    "VIRTUAL_ENV_PROMPT",
    "PYENV_*",
    "CONDA_*",
    "MAMBA_EXE",
    "MAMBA_ROOT_PREFIX",
    "PIPX_HOME",
    "PIPX_BIN_DIR",
    "PIP_CACHE_DIR",
    "PIP_CONFIG_FILE",
    "PIP_REQUIRE_VIRTUALENV",
    "POETRY_HOME",
    "POETRY_CACHE_DIR",
    "POETRY_VIRTUALENVS_*",
    "UV_CACHE_DIR",
    "UV_PYTHON*",
    "UV_PROJECT_ENVIRONMENT",
    "UV_SYSTEM_PYTHON",
    "TOX_*",
    "NOX_*",
    "DJANGO_SETTINGS_MODULE",
    // Ruby, PHP, Perl, .NET and the others.
    "RBENV_*",
    "GEM_HOME",
    "GEM_PATH",
    "RUBYOPT",
    "RUBYLIB",
    "RUBY_VERSION",
    "BUNDLE_PATH",
    "BUNDLE_GEMFILE",
    "rvm_path",
    "RAILS_ENV",
    "RACK_ENV",
    "COMPOSER_HOME",
    "COMPOSER_CACHE_DIR",
    "PHPRC",
    "PERL5LIB",
    "PERL5OPT",
    "PERL_LOCAL_LIB_ROOT",
    "PERL_MM_OPT",
    "PERL_MB_OPT",
    "DOTNET_*",
    "MSBUILD*",
    "NUGET_PACKAGES",
    "GHCUP_*",
    "STACK_ROOT",
    "CABAL_DIR",
    "OPAMROOT",
    "OPAM_SWITCH_PREFIX",
    "OCAMLPATH",
    "CAML_LD_LIBRARY_PATH",
    "MIX_HOME",
    "MIX_ENV",
    "HEX_HOME",
    "ERL_LIBS",
    "ERL_AFLAGS",
    "JULIA_DEPOT_PATH",
    "JULIA_PROJECT",
    "R_HOME",
    "R_LIBS",
    "R_LIBS_USER",
    "LUA_PATH",
    "LUA_CPATH",
    "ZIG_*",
    "FLUTTER_ROOT",
    "PUB_CACHE",
    "SWIFTLY_*",
    "TOOLCHAINS",
    // Managers of versions and packages.
    "ASDF_*",
    "MISE_*",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_STORE",
    "NIX_CC",
    "NIX_CFLAGS_COMPILE",
    "NIX_LDFLAGS",
    "IN_NIX_SHELL",
    "GUIX_PROFILE",
    "GUIX_ENVIRONMENT",
    "HOMEBREW_PREFIX",
    "HOMEBREW_CELLAR",
    "HOMEBREW_REPOSITORY",
    "DIRENV_DIR",
];

/// Ways to what acts for the user outside of the sandbox, of use only there.
const PASSED_OUTSIDE: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "GNUPGHOME",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_ID",
    "XDG_SESSION_TYPE",
    "XDG_CURRENT_DESKTOP",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "KRB5CCNAME",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "KUBECONFIG",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "WSL_DISTRO_NAME",
    "WSL_INTEROP",
];

/// Of use with the network; in both spellings.
const PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY"];

/// Passed for a pattern of the list only where the name says nothing of the kind.
const TELLING: &[&str] =
    &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "AUTH"];

/// They run code at bash's start, change what its words mean, or open windows that ask. No word of the user's passes them.
const REMOVED: &[&str] =
    &["BASH_ENV", "ENV", "BASHOPTS", "SHELLOPTS", "CDPATH", "GLOBIGNORE", "GIT_ASKPASS", "SSH_ASKPASS"];

/// Places for what programs would write below the home folder and cannot do without, inside of the sandbox's temporary folder.
const CACHES: [(&str, &str); 2] = [("GOCACHE", "go-build"), ("npm_config_cache", "npm")];

/// Whose programs get the variables, and by which of the user's words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// Names of variables that children must not see: neither these nor others of the same value.
    pub(crate) hidden: &'a [String],
    /// Names of further ones; `*` at the end stands for any rest.
    pub(crate) passed: &'a [String],
}

/// For a program that runs outside of the sandbox.
pub(crate) fn outside(variables: &Variables, asked: Asked<'_>) -> Vec<(OsString, OsString)> {
    passed(variables, asked, &[PASSED, PASSED_OUTSIDE])
}

pub(super) fn of(variables: &Variables, command: &ShellCommand) -> Vec<(OsString, OsString)> {
    let asked = Asked { hidden: &command.hidden_vars, passed: &command.passed_vars };
    let Confinement::Sandbox(policy) = &command.confinement else { return outside(variables, asked) };
    let mut passed = passed(variables, asked, &[PASSED]);
    passed.retain(|(name, _)| !["TMPDIR", "TMP", "TEMP"].iter().any(|other| name == other));
    passed.push(("TMPDIR".into(), policy.temp.as_path().into()));
    for (name, folder) in CACHES {
        if !passed.iter().any(|(other, _)| other == name) {
            passed.push((name.into(), policy.temp.join(folder).as_path().into()));
        }
    }
    passed
}

fn passed(variables: &Variables, asked: Asked<'_>, usual: &[&[&str]]) -> Vec<(OsString, OsString)> {
    let keys: Vec<&OsStr> = asked
        .hidden
        .iter()
        .filter_map(|name| variables.get(name))
        // Shorter ones are no keys, and stand in other variables by chance.
        .filter(|value| value.len() >= 8)
        .collect();
    let passes = |name: &OsStr, value: &OsStr| {
        let Some(name) = name.to_str() else { return false };
        let is_key = asked.hidden.iter().any(|hidden| hidden == name) || keys.contains(&value);
        // Functions that bash has exported would stand before programs of their name.
        let is_removed = name.starts_with("BASH_FUNC_") || REMOVED.contains(&name);
        let is_asked_for = asked.passed.iter().any(|pattern| matches(pattern, name));
        !is_key && !is_removed && (is_asked_for || is_usual(name, value, usual))
    };
    let passed = variables.iter().filter(|(name, value)| passes(name, value));
    passed.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn is_usual(name: &str, value: &OsStr, usual: &[&[&str]]) -> bool {
    let is_proxy = PROXIES.contains(&name.to_ascii_uppercase().as_str());
    if is_proxy || name == "GOPROXY" {
        // An address with a user's name, and mostly a password.
        return !value.as_encoded_bytes().contains(&b'@');
    }
    let mut patterns = usual.iter().copied().flatten();
    let is_telling = TELLING.iter().any(|word| name.to_ascii_uppercase().contains(word));
    patterns.any(|pattern| *pattern == name || matches(pattern, name) && !is_telling)
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

#[cfg(test)]
#[path = "child_variables_tests.rs"]
mod tests;
