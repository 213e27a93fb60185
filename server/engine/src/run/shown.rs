//! What the client has of an answer, over all tries of it: of what is said again, nothing is shown again, and what is said anew is clearly so (R14.5). Pure.

/// Told where an answer that begins anew says something else than what was shown of it before.
const ANEW: &str = "\n\n---\n\n*The connection broke off. The answer begins anew:*\n\n";

/// The same for thoughts.
const THOUGHTS_ANEW: &str = "\n\n---\n\n*The connection broke off. The thoughts begin anew:*\n\n";

/// All text and all thoughts that the client has of an answer; where it began anew, of its last beginning.
#[derive(Debug, Default)]
pub(super) struct Shown {
    text: String,
    reasoning: String,
}

impl Shown {
    pub(super) fn is_nothing(&self) -> bool {
        self.text.is_empty() && self.reasoning.is_empty()
    }
}

/// One try of an answer, beside what was shown of it before.
pub(super) struct Showing {
    pub(super) text: Said,
    pub(super) reasoning: Said,
}

/// What one try says in one of the two ways.
pub(super) struct Said {
    before: Before,
    /// All of this try.
    said: String,
    anew: &'static str,
}

/// What an earlier try of the same answer has said.
enum Before {
    /// Said again up to this byte.
    Same { shown: String, upto: usize },
    /// All of it was said again, or the answer is another one.
    Past,
}

impl Showing {
    pub(super) fn after(shown: Shown) -> Self {
        Self { text: Said::after(shown.text, ANEW), reasoning: Said::after(shown.reasoning, THOUGHTS_ANEW) }
    }

    pub(super) fn into_shown(self) -> Shown {
        Shown { text: self.text.into_shown(), reasoning: self.reasoning.into_shown() }
    }
}

impl Said {
    fn after(shown: String, anew: &'static str) -> Self {
        Self { before: Before::Same { shown, upto: 0 }, said: String::new(), anew }
    }

    /// Of `delta`, what the client does not have yet; all of this try, with a word before it, where it is something else.
    pub(super) fn push(&mut self, delta: String) -> Option<String> {
        self.said.push_str(&delta);
        let Before::Same { shown, upto } = &mut self.before else { return Some(delta) };
        let rest = &shown[*upto..];
        if rest.starts_with(&delta) {
            *upto += delta.len();
            return None;
        }
        let new = delta.strip_prefix(rest).map(str::to_owned);
        self.before = Before::Past;
        Some(new.unwrap_or_else(|| self.begin_anew()))
    }

    /// The answer is whole: where it is shorter than what was shown of it, it is another one.
    pub(super) fn settle(&mut self) -> Option<String> {
        let is_shorter = matches!(&self.before, Before::Same { shown, upto } if *upto < shown.len());
        if !is_shorter || self.said.is_empty() {
            return None;
        }
        self.before = Before::Past;
        Some(self.begin_anew())
    }

    fn begin_anew(&self) -> String {
        format!("{}{}", self.anew, self.said)
    }

    fn into_shown(self) -> String {
        match self.before {
            Before::Same { shown, upto } if upto < shown.len() => shown,
            Before::Same { .. } | Before::Past => self.said,
        }
    }
}
