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

/// All texts that a command may be where some of it is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape(Vec<Sign>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Char(char),
    /// Any run of characters.
    Any,
    /// Nothing, or a blank with any run of characters behind it.
    Words,
}

impl Shape {
    pub(super) fn literal(text: &str) -> Self {
        Self(text.chars().map(|c| Sign::Char(unify_separator(c))).collect())
    }

    pub(super) fn anything() -> Self {
        Self(vec![Sign::Any])
    }

    /// Any number of words.
    pub(super) fn words() -> Self {
        Self(vec![Sign::Words])
    }

    pub(super) fn push(&mut self, c: char) {
        self.0.push(Sign::Char(unify_separator(c)));
    }

    pub(super) fn push_any(&mut self) {
        if self.0.last() != Some(&Sign::Any) {
            self.0.push(Sign::Any);
        }
    }

    pub(super) fn push_words(&mut self) {
        self.0.push(Sign::Words);
    }

    /// A further word of a command.
    pub(super) fn push_word(&mut self, word: &Self) {
        if word.0 != [Sign::Words] {
            self.0.push(Sign::Char(' '));
        }
        self.0.extend_from_slice(&word.0);
    }

    /// Whether it is more than one text.
    pub(super) fn is_open(&self) -> bool {
        self.0.iter().any(|sign| !matches!(sign, Sign::Char(_)))
    }

    /// Whether the rule's pattern matches one of the texts. By the positions in the pattern that can be reached, sign by sign.
    pub(super) fn may_match(&self, pattern: &str) -> bool {
        let pattern: Vec<char> = pattern.chars().map(unify_separator).collect();
        self.meets(&pattern) || without_arguments(&pattern).is_some_and(|pattern| self.meets(pattern))
    }

    fn meets(&self, pattern: &[char]) -> bool {
        let mut at = vec![false; pattern.len() + 1];
        at[0] = true;
        skip_stars(&mut at, pattern);
        for sign in &self.0 {
            match sign {
                Sign::Char(c) => at = step(&at, pattern, *c),
                Sign::Any => from_first(&mut at),
                Sign::Words => {
                    let mut behind = step(&at, pattern, ' ');
                    from_first(&mut behind);
                    at.iter_mut().zip(behind).for_each(|(here, there)| *here |= there);
                }
            }
            skip_stars(&mut at, pattern);
            if !at.contains(&true) {
                return false;
            }
        }
        at[pattern.len()]
    }

    /// Whether the rule's pattern surely matches all of them: a beginning that they share, with anything behind it.
    pub(super) fn is_covered_by(&self, pattern: &str) -> bool {
        let Some(head) = pattern.strip_suffix('*') else { return false };
        if head.contains(['*', '?']) {
            return false;
        }
        let begins = |head: &str| {
            let mut signs = self.0.iter();
            let matches = head.chars().all(|c| signs.next() == Some(&Sign::Char(unify_separator(c))));
            matches.then(|| signs.next())
        };
        match (begins(head), head.strip_suffix(' ').and_then(begins)) {
            (Some(_), _) => true,
            // Arguments are optional.
            (None, Some(next)) => matches!(next, None | Some(Sign::Words)),
            (None, None) => false,
        }
    }
}

fn step(at: &[bool], pattern: &[char], c: char) -> Vec<bool> {
    let mut next = vec![false; at.len()];
    for (place, sign) in pattern.iter().enumerate().filter(|(place, _)| at[*place]) {
        match sign {
            '*' => next[place] = true,
            sign if *sign == '?' || *sign == c => next[place + 1] = true,
            _ => {}
        }
    }
    next
}

/// A run of any characters leads from a place to every later one.
fn from_first(at: &mut [bool]) {
    if let Some(first) = at.iter().position(|here| *here) {
        at[first..].fill(true);
    }
}

fn skip_stars(at: &mut [bool], pattern: &[char]) {
    for (place, sign) in pattern.iter().enumerate() {
        if at[place] && *sign == '*' {
            at[place + 1] = true;
        }
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

    #[test]
    fn shapes_meet_what_one_of_their_texts_would() {
        let shape = |head: &str, words: &[Shape]| {
            let mut shape = Shape::literal(head);
            words.iter().for_each(|word| shape.push_word(word));
            shape
        };
        let beginning = |text: &str| {
            let mut shape = Shape::literal(text);
            shape.push_any();
            shape
        };
        let check = |shape: &Shape, pattern: &str, expected: bool| {
            assert_eq!(shape.may_match(pattern), expected, "{shape:?} {pattern:?}");
        };
        let glob = shape("npm", &[beginning("p")]);
        check(&glob, "npm publish *", true);
        check(&glob, "npm p?blish", true);
        check(&glob, "npm run *", false);
        check(&glob, "npm *", true);
        check(&glob, "*lish", true);
        let open = shape("npm", &[Shape::words(), Shape::literal("--dry")]);
        check(&open, "npm publish *", true);
        check(&open, "npm --dry", true);
        check(&open, "npm publish", false);
        check(&open, "npmx *", false);
        for (shape, pattern, expected) in [
            (&glob, "npm *", true),
            (&glob, "npm p*", true),
            (&glob, "npm pu*", false),
            (&glob, "*", true),
            (&open, "npm *", true),
            (&open, "npm x *", false),
        ] {
            assert_eq!(shape.is_covered_by(pattern), expected, "{shape:?} {pattern:?}");
        }
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
