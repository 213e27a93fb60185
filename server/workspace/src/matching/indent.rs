//! How the old text's indentation became the file's, learned from lines that match, to write new lines in the file's style.

use std::collections::HashMap;

/// Widths: of the old text, and of the file.
type Points = Vec<(usize, usize)>;

pub(super) struct Indentation<'a> {
    /// Indentations of the old text with the file's for them; `None` where lines disagree.
    known: HashMap<&'a str, Option<&'a str>>,
    /// Lines that are not blank.
    lines: usize,
    rule: Option<Rule>,
    /// What the same lines would also be explained by. Where the two disagree, nothing is told.
    other: Option<Rule>,
}

/// `to` repeated `y1 + (x - x1) * dy / dx` times for `from` repeated `x` times.
#[derive(Debug, Clone, Copy)]
struct Rule {
    from: char,
    to: char,
    x1: usize,
    y1: usize,
    dx: usize,
    dy: usize,
}

impl<'a> Indentation<'a> {
    /// From pairs of lines, old and of the file. Blank ones say nothing.
    pub(super) fn learn(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut known: HashMap<&str, Option<&str>> = HashMap::new();
        let mut lines = 0;
        for (old, file) in pairs.filter(|(old, _)| !old.trim().is_empty()) {
            lines += 1;
            let (old, file) = (indent(old), indent(file));
            let entry = known.entry(old).or_insert(Some(file));
            if *entry != Some(file) {
                *entry = None;
            }
        }
        let (rule, other) = Self::rules(&known);
        Self { known, lines, rule, other }
    }

    /// The file's indentation for one of the new text; `None` where the lines that match do not tell.
    pub(super) fn translate(&self, new: &str) -> Option<String> {
        if let Some(known) = self.known.get(new) {
            return known.map(str::to_owned);
        }
        if self.known.iter().all(|(old, file)| Some(*old) == *file) {
            return Some(new.to_owned());
        }
        let text = self.rule?.apply(new)?;
        // One line that was copied from its first letter on says nothing of the others: they may have their indentation, or be moved with it.
        let is_bare = self.lines == 1 && self.known.contains_key("");
        let is_doubtful = self.other.is_some_and(|other| other.apply(new).is_some_and(|other| other != text));
        (!is_bare && !is_doubtful).then_some(text)
    }

    /// Whether one rule explains all lines.
    pub(super) fn is_regular(&self) -> bool {
        self.rule.is_some() || self.known.iter().all(|(old, file)| Some(*old) == *file)
    }

    fn rules(known: &HashMap<&str, Option<&str>>) -> (Option<Rule>, Option<Rule>) {
        let Some((points, from, to)) = Self::points(known) else { return (None, None) };
        let rule = |dx, dy| {
            let (x1, y1) = *points.first()?;
            let rule = Rule { from, to, x1, y1, dx, dy };
            points.iter().all(|(x, y)| rule.width(*x) == Some(*y)).then_some(rule)
        };
        match points[..] {
            [(x1, y1), (x2, y2), ..] if y1 < y2 => (rule(x2 - x1, y2 - y1), None),
            // One depth only: the same style is moved as a whole or has another unit, another one is counted in levels of whole units.
            [(x1, y1)] => {
                let levels = (x1 > 0 && y1 > 0 && (x1 % y1 == 0 || y1 % x1 == 0)).then(|| rule(x1, y1)).flatten();
                if from == to { (rule(1, 1), levels) } else { (levels, None) }
            }
            _ => (None, None),
        }
    }

    /// Sorted, and the character of each side.
    fn points(known: &HashMap<&str, Option<&str>>) -> Option<(Points, char, char)> {
        let mut points = Points::new();
        let (mut from, mut to) = (None, None);
        for (old, file) in known {
            let file = (*file)?;
            if !keeps(&mut from, old) || !keeps(&mut to, file) {
                return None;
            }
            points.push((old.len(), file.len()));
        }
        points.sort_unstable();
        Some((points, from.or(to)?, to.or(from)?))
    }
}

impl Rule {
    fn apply(self, new: &str) -> Option<String> {
        if new.chars().all(|char| char == self.from) {
            return Some(self.to.to_string().repeat(self.width(new.len())?));
        }
        // The new text is in the file's style already, which is that of the old text but for the unit.
        (new.chars().all(|char| char == self.to) && self.width(0) == Some(0)).then(|| new.to_owned())
    }

    fn width(self, x: usize) -> Option<usize> {
        let (x, x1, y1, dx, dy) = (signed(x)?, signed(self.x1)?, signed(self.y1)?, signed(self.dx)?, signed(self.dy)?);
        let rise = (x - x1).checked_mul(dy)?;
        (rise % dx == 0).then(|| usize::try_from(y1 + rise / dx).ok())?
    }
}

pub(super) fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Whether `indent` consists of the one character, tab or space, that the others before it had.
fn keeps(style: &mut Option<char>, indent: &str) -> bool {
    indent.chars().all(|char| (char == ' ' || char == '\t') && *style.get_or_insert(char) == char)
}

fn signed(number: usize) -> Option<i64> {
    i64::try_from(number).ok()
}
