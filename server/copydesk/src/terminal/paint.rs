//! Colours of a terminal, or none. Decides nothing about what is shown.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Paint {
    colours: bool,
}

impl Paint {
    /// None where the stream is no terminal, where `NO_COLOR` is set to anything (no-color.org), and on a terminal that is called dumb.
    pub(super) fn new(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> Self {
        let is_refused = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = variable("TERM").is_some_and(|value| value == "dumb");
        Self { colours: is_terminal && !is_refused && !is_dumb }
    }

    /// Whether a line that stands there may be written anew.
    pub(super) fn draws(self) -> bool {
        self.colours
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.painted("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.painted("2", text)
    }

    pub(super) fn red(self, text: &str) -> String {
        self.painted("31", text)
    }

    pub(super) fn green(self, text: &str) -> String {
        self.painted("32", text)
    }

    pub(super) fn cyan(self, text: &str) -> String {
        self.painted("36", text)
    }

    fn painted(self, code: &str, text: &str) -> String {
        if self.colours { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_whose_user_wants_them() {
        let check = |is_terminal: bool, set: &[(&str, &str)], expected: bool| {
            let find = |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(Paint::new(is_terminal, find).colours, expected, "{is_terminal} {set:?}");
        };
        check(true, &[("TERM", "xterm")], true);
        check(true, &[("NO_COLOR", "")], true);
        check(true, &[("NO_COLOR", "1")], false);
        check(true, &[("TERM", "dumb")], false);
        check(false, &[], false);
    }
}
