//! The wildcards of rules: one matcher for names of permissions and for patterns. Not the globs of file searches: `*` crosses `/` here.

/// `*` is any run of characters, also of `/` and line breaks; `?` is one; a ` *` at the end is optional; `\` is `/`; all else is literal, the whole value
/// is matched.
pub fn wildcard_match(value: &str, pattern: &str) -> bool {
    Wildcard::new(pattern).matches(value)
}

/// A pattern that is held against many values.
#[derive(Debug, Clone)]
pub(super) struct Wildcard {
    pattern: Vec<char>,
    /// A literal that every value with a match contains: what most values are told by.
    needle: String,
    /// The pattern is `*` and this literal.
    is_suffix: bool,
}

impl Wildcard {
    pub(super) fn new(pattern: &str) -> Self {
        let pattern: Vec<char> = pattern.chars().map(unify_separator).collect();
        let literals = without_arguments(&pattern).unwrap_or(&pattern).split(|c| matches!(c, '*' | '?'));
        let needle: String = literals.max_by_key(|literal| literal.len()).unwrap_or_default().iter().collect();
        let is_suffix = pattern.strip_prefix(&['*']).is_some_and(|rest| rest.iter().copied().eq(needle.chars()));
        Self { pattern, needle, is_suffix }
    }

    pub(super) fn matches(&self, value: &str) -> bool {
        if self.pattern == ['*'] {
            return true;
        }
        if value.ends_with(&self.needle) && self.is_suffix {
            return true;
        }
        if !value.contains('\\') && (self.is_suffix || !value.contains(&self.needle)) {
            return false;
        }
        let value: Vec<char> = value.chars().map(unify_separator).collect();
        matches(&value, &self.pattern)
            || without_arguments(&self.pattern).is_some_and(|pattern| matches(&value, pattern))
    }
}

fn without_arguments(pattern: &[char]) -> Option<&[char]> {
    pattern.strip_suffix(&[' ', '*'])
}

fn unify_separator(c: char) -> char {
    if c == '\\' { '/' } else { c }
}

/// Greedy with one point to go back to: a later `*` makes every earlier one final, so the cost is at most the product of the lengths.
fn matches(value: &[char], pattern: &[char]) -> bool {
    let (mut v, mut p) = (0, 0);
    let mut last_star: Option<(usize, usize)> = None;
    while v < value.len() {
        match pattern.get(p) {
            Some('*') => {
                last_star = Some((v, p));
                p += 1;
            }
            Some(&c) if c == '?' || c == value[v] => {
                v += 1;
                p += 1;
            }
            _ => {
                let Some((star_v, star_p)) = last_star else { return false };
                last_star = Some((star_v + 1, star_p));
                v = star_v + 1;
                p = star_p + 1;
            }
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(pattern: &str, matching: &[&str], other: &[&str]) {
        for value in matching {
            assert!(wildcard_match(value, pattern), "{pattern:?} should match {value:?}");
        }
        for value in other {
            assert!(!wildcard_match(value, pattern), "{pattern:?} should not match {value:?}");
        }
    }

    #[test]
    fn star_crosses_separators_and_lines() {
        check("src/*", &["src/a", "src/a/b.rs", "src/"], &["src", "a/src/b"]);
        check("a*z", &["az", "a\nz", "a/b/z"], &["azy"]);
        check("**/.env", &["a/.env", "/.env"], &[".env"]);
    }

    #[test]
    fn arguments_are_optional() {
        check("git *", &["git", "git status", "git "], &["gitx", "agit"]);
        check("rm -rf *", &["rm -rf", "rm -rf x"], &["rm"]);
        check("git*", &["git", "gitx"], &["gi"]);
    }

    #[test]
    fn all_else_is_literal() {
        check("a[b].{c}", &["a[b].{c}"], &["ab.c", "a[b]x{c}"]);
        check("?.rs", &["a.rs", "é.rs"], &[".rs", "ab.rs"]);
        check("", &[""], &["a"]);
    }

    #[test]
    fn backslash_is_a_separator() {
        check(r"src\*", &["src/a", r"src\a"], &["srca"]);
        check("src/*", &[r"src\a\b"], &[]);
    }

    #[test]
    fn long_values_do_not_explode() {
        assert!(!wildcard_match(&"a".repeat(2_000), &"*a".repeat(50).replace("*a*a", "*a*ab")));
    }

    /// The definition, as directly as it can be written.
    fn oracle(value: &[char], pattern: &[char]) -> bool {
        if pattern == [' ', '*'] && value.is_empty() {
            return true;
        }
        match (pattern.split_first(), value.split_first()) {
            (None, None) => true,
            (None, Some(_)) => false,
            (Some(('*', rest)), _) => (0..=value.len()).any(|skip| oracle(&value[skip..], rest)),
            (Some(_), None) => false,
            (Some((p, rest)), Some((v, tail))) => (*p == '?' || p == v) && oracle(tail, rest),
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(value in "[ab /\n]{0,8}", pattern in "[ab /*?]{0,7}") {
            let expected = oracle(&value.chars().collect::<Vec<_>>(), &pattern.chars().collect::<Vec<_>>());
            prop_assert_eq!(wildcard_match(&value, &pattern), expected);
        }

        #[test]
        fn literals_match_themselves(value in any::<String>()) {
            prop_assert!(wildcard_match(&value, &value));
            prop_assert!(wildcard_match(&value, "*"));
        }

        #[test]
        fn backslashes_are_separators_everywhere(value in r"[a/\\]{0,6}", pattern in r"[a/\\*]{0,6}") {
            let unified = |text: &str| text.replace('\\', "/");
            prop_assert_eq!(wildcard_match(&value, &pattern), wildcard_match(&unified(&value), &unified(&pattern)));
        }

        #[test]
        fn never_panics(value in any::<String>(), pattern in any::<String>()) {
            wildcard_match(&value, &pattern);
        }
    }
}
