//! The globs of file searches, in the manner of ignore files. Not the wildcards of rules, where `*` crosses `/`.

use std::ffi::OsStr;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

/// Which files of a tree are meant.
///
/// Without a `/` the name alone is matched, at any depth; with one, the path from the root of the search. `*` does not cross `/`, `**` does. A `!` in
/// front turns it round, a `/` at the end means all that is below. A file whose name is the pattern letter by letter is meant in any case (R18.3).
#[derive(Debug, Clone)]
pub struct FileGlob {
    literal: String,
    /// `None`: no valid glob, only the literal is meant.
    matcher: Option<GlobMatcher>,
    of_name: bool,
    negated: bool,
    hidden: bool,
}

impl FileGlob {
    /// With the reason where `pattern` is no valid glob; it then means the file of that name.
    pub fn new(pattern: &str) -> (Self, Option<String>) {
        let (negated, positive) = match pattern.strip_prefix('!') {
            Some(rest) if !rest.is_empty() => (true, rest),
            _ => (false, pattern),
        };
        let anchored = positive.starts_with('/') || positive.starts_with("./");
        let literal = positive.trim_start_matches("./").trim_start_matches('/').to_owned();
        let of_name = !anchored && !literal.contains('/');
        let glob = if literal.ends_with('/') { format!("{literal}**") } else { literal.clone() };
        let built = GlobBuilder::new(&glob).literal_separator(true).build();
        let (matcher, problem) = match built {
            Ok(glob) => (Some(glob.compile_matcher()), None),
            Err(error) => (None, Some(error.kind().to_string())),
        };
        // A negation names what is not wanted.
        let hidden = !negated && literal.split('/').any(|part| part.starts_with('.') && part != "." && part != "..");
        (Self { literal, matcher, of_name, negated, hidden }, problem)
    }

    /// `path` is relative to the root of the search.
    pub fn matches(&self, path: &Path) -> bool {
        path.file_name().is_some_and(|name| self.matches_named(path, name))
    }

    /// The same, where the last component is at hand.
    pub fn matches_named(&self, path: &Path, name: &OsStr) -> bool {
        let matched = self.is_meant(if self.of_name { Path::new(name) } else { path });
        matched != self.negated
    }

    /// Whether it names files or folders that begin with a dot.
    pub fn names_hidden(&self) -> bool {
        self.hidden
    }

    fn is_meant(&self, path: &Path) -> bool {
        path.as_os_str() == self.literal.as_str() || self.matcher.as_ref().is_some_and(|matcher| matcher.is_match(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, meant: &[&str], other: &[&str]) {
        let (glob, _) = FileGlob::new(pattern);
        for path in meant {
            assert!(glob.matches(Path::new(path)), "{pattern:?} should mean {path:?}");
        }
        for path in other {
            assert!(!glob.matches(Path::new(path)), "{pattern:?} should not mean {path:?}");
        }
    }

    #[test]
    fn names_are_matched_at_any_depth_and_paths_from_the_root() {
        check("*.rs", &["a.rs", "src/deep/a.rs"], &["a.rs.txt", "rs"]);
        check("src/*.rs", &["src/a.rs"], &["src/deep/a.rs", "x/src/a.rs"]);
        check("src/**/*.rs", &["src/a.rs", "src/deep/er/a.rs"], &["a.rs"]);
        check("/*.rs", &["a.rs"], &["src/a.rs"]);
        check("./a.rs", &["a.rs"], &["src/a.rs"]);
        check("src/", &["src/a", "src/b/c"], &["a", "x/src/a"]);
        check("*.{ts,tsx}", &["a.ts", "b/c.tsx"], &["a.js"]);
    }

    #[test]
    fn a_negation_means_all_else() {
        check("!*.min.js", &["a.js", "b/a.ts"], &["a.min.js", "b/a.min.js"]);
        check("!", &["!"], &["a"]);
    }

    #[test]
    fn r18_3_literal_names_come_before_globs() {
        check("app/[id]/page.tsx", &["app/[id]/page.tsx", "app/i/page.tsx"], &["app/x/page.tsx"]);
        check("a[1].txt", &["a[1].txt", "a1.txt"], &[]);
        let (_, problem) = FileGlob::new("a[b.txt");
        assert_eq!(problem.as_deref(), Some("unclosed character class; missing ']'"));
        check("a[b.txt", &["a[b.txt", "x/a[b.txt"], &["ab.txt"]);
    }

    #[test]
    fn c43_odd_names_are_patterns_like_others() {
        check("--x.txt", &["--x.txt", "a/--x.txt"], &["x.txt"]);
        check("a:12:*", &["a:12:b.txt"], &["a:1:b.txt"]);
        check(" lead.txt", &[" lead.txt"], &["lead.txt"]);
        check("", &[], &["a"]);
    }

    #[test]
    fn dots_are_looked_at_where_the_pattern_names_them() {
        for (pattern, hidden) in
            [(".github/**", true), ("**/.env*", true), ("./a", false), ("*.rs", false), ("!.x", false)]
        {
            assert_eq!(FileGlob::new(pattern).0.names_hidden(), hidden, "{pattern}");
        }
    }
}
