//! The kinds of patches that are made, and how the two programs may part in each.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use copydesk_tests::choices::Choices;

/// By relative path.
pub(super) type Tree = BTreeMap<String, String>;

pub(super) struct Case {
    pub(super) before: Tree,
    /// Between `*** Begin Patch` and `*** End Patch`; `{root}` stands for the folder that the files lie in.
    pub(super) body: String,
    /// What ours makes of it, where the two differ and it is known to the letter.
    expected: Option<Tree>,
}

/// What the two make of a patch. Both start from the same files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Same,
    /// Neither takes it. Ours leaves every file as it was; codex may have done a part by then.
    NeitherTakesIt,
    /// R3.2 and "nothing is overwritten": codex takes the first place, or writes over what is there.
    OursRefuses,
    /// What codex's reading is too narrow for, though only one thing can be meant.
    CodexRefuses,
    /// Both take it, and the files differ in the way of [`Kind::is_known_difference`].
    Differs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Hunks with one to three lines around them, each at a place of its own.
    Plain,
    /// Lines that stand twice, told apart by an anchor.
    Anchored,
    AtEnd,
    CarriageReturns,
    /// Adds, deletes and changes in one patch.
    ManyFiles,
    Moved,
    /// Typographic dashes and quotes in the file, ASCII in the patch.
    LookAlikes,
    DeletedAndAdded,
    /// A block in a block: two anchors, the outer one first, as its own instructions have it. codex takes the second for a line of the file.
    NestedAnchors,
    /// The first hunk of a section needs no `@@`.
    FirstWithoutMark,
    /// The whole of it as an argument of a shell would be.
    HereDocument,
    /// A blank line around a change, without the space in front that would make it one of the hunk.
    BareBlankLines,
    /// Behind `*** End of File` the next section begins.
    EndBeforeSection,
    /// Nothing to add: an empty file.
    EmptyAdd,
    /// The patch itself has the line breaks of Windows, whatever the file has.
    CarriageReturnsInPatch,
    AbsolutePaths,
    /// Two sections of one file, each of the text as it stands.
    SectionsOfOneFile,
    /// The second is of the text that the first has made: ours holds all of a patch against the files as they are, before any of it is done.
    SectionOfASection,
    /// A file alone is deleted.
    DeletedFolder,
    StaleLine,
    MissingFile,
    /// R1.2: ours leaves out the last line break where the file does; codex adds one.
    NoFinalLineBreak,
    /// R3.1: white space at the end of lines that the patch does not repeat: ours keeps the file's on a changed line, codex drops it.
    TrailingSpace,
    /// R3.1: both find lines that are indented otherwise; ours gives new lines the indentation of the file, codex that of the patch.
    Indentation,
    /// C21: lines to add below an anchor: ours puts them there, codex at the end of the file.
    BelowAnchor,
    /// Ours takes hunks in any order where each has one place.
    OutOfOrder,
    /// A move that changes nothing else.
    MovedOnly,
    /// R3.2: the lines stand twice, and nothing says which are meant.
    Ambiguous,
    /// C21: lines to add, and no place: codex puts them at the end of the file.
    NoPlace,
    /// R3.4: a patch that changes nothing is no success.
    NoChange,
    /// C22.
    AddedOver,
    MovedOver,
}

pub(super) const KINDS: &[(Kind, Relation)] = &[
    (Kind::Plain, Relation::Same),
    (Kind::Anchored, Relation::Same),
    (Kind::AtEnd, Relation::Same),
    (Kind::CarriageReturns, Relation::Same),
    (Kind::ManyFiles, Relation::Same),
    (Kind::Moved, Relation::Same),
    (Kind::LookAlikes, Relation::Same),
    (Kind::DeletedAndAdded, Relation::Same),
    (Kind::NestedAnchors, Relation::CodexRefuses),
    (Kind::FirstWithoutMark, Relation::Same),
    (Kind::HereDocument, Relation::Same),
    (Kind::BareBlankLines, Relation::Same),
    (Kind::EndBeforeSection, Relation::Same),
    (Kind::EmptyAdd, Relation::Same),
    (Kind::CarriageReturnsInPatch, Relation::Same),
    (Kind::AbsolutePaths, Relation::Same),
    (Kind::SectionsOfOneFile, Relation::Same),
    (Kind::SectionOfASection, Relation::OursRefuses),
    (Kind::DeletedFolder, Relation::NeitherTakesIt),
    (Kind::StaleLine, Relation::NeitherTakesIt),
    (Kind::MissingFile, Relation::NeitherTakesIt),
    (Kind::NoFinalLineBreak, Relation::Differs),
    (Kind::TrailingSpace, Relation::Differs),
    (Kind::Indentation, Relation::Differs),
    (Kind::BelowAnchor, Relation::Differs),
    (Kind::OutOfOrder, Relation::CodexRefuses),
    (Kind::MovedOnly, Relation::CodexRefuses),
    (Kind::Ambiguous, Relation::OursRefuses),
    (Kind::NoPlace, Relation::OursRefuses),
    (Kind::NoChange, Relation::OursRefuses),
    (Kind::AddedOver, Relation::OursRefuses),
    (Kind::MovedOver, Relation::OursRefuses),
];

impl Kind {
    pub(super) fn make(self, choices: &mut Choices) -> Case {
        let lines = lines(choices, "f");
        let at = 4 + choices.below(lines.len() as u32 - 8) as usize;
        let around = 1 + choices.below(3) as usize;
        let one =
            |text: String, body: String| Case { before: [("src/f".to_owned(), text)].into(), body, expected: None };
        let updated = |hunks: &str| format!("*** Update File: src/f\n{hunks}");
        match self {
            Self::Plain => {
                let (first, second) = (1 + choices.below(3) as usize, lines.len() - 3);
                let hunks = hunk(choices, &lines, first, 1, "") + &hunk(choices, &lines, second, around.min(2), "");
                one(text(&lines), updated(&hunks))
            }
            Self::Anchored => {
                let mut lines = lines;
                for (head, at) in [("fn two()", lines.len() - 2), ("fn one()", at)] {
                    let block = [head, "    begin {", "        step", "    }"].map(str::to_owned);
                    lines.splice(at..at, block);
                }
                let head = choices.one_of(&["fn one()", "fn two()"]);
                let hunk = format!("@@ {head}\n     begin {{\n-        step\n+        leap {at}\n     }}\n");
                one(text(&lines), updated(&hunk))
            }
            Self::AtEnd => {
                let hunk = hunk(choices, &lines, lines.len() - 1, around, "");
                one(text(&lines), updated(&format!("{hunk}*** End of File\n")))
            }
            Self::CarriageReturns => {
                one(text(&lines).replace('\n', "\r\n"), updated(&hunk(choices, &lines, at, around, "")))
            }
            Self::ManyFiles => {
                let other = self::lines(choices, "g");
                let added = self::lines(choices, "n");
                let mut body = updated(&hunk(choices, &lines, at, around, ""));
                let _ = write!(body, "*** Add File: new/deep/n\n{}", behind('+', &added));
                body.push_str("*** Delete File: g\n");
                let before = [("src/f", &lines), ("g", &other), ("h", &other)];
                let hunk = hunk(choices, &other, 5, around, "");
                let _ = write!(body, "*** Update File: h\n{hunk}");
                Case { before: before.map(|(name, lines)| (name.to_owned(), text(lines))).into(), body, expected: None }
            }
            Self::Moved => {
                let hunk = hunk(choices, &lines, at, around, "");
                one(text(&lines), updated(&format!("*** Move to: there/{}\n{hunk}", choices.below(9))))
            }
            Self::TrailingSpace => {
                let spaced: Vec<String> =
                    lines.iter().map(|line| format!("{line}{}", choices.one_of(&["  ", " ", "\t"]))).collect();
                let line = filled(&lines, at);
                let hunk = format!("@@\n-{line}\n+{}\n", new_line(choices));
                one(text(&spaced), updated(&hunk))
            }
            Self::LookAlikes => {
                let mut lines = lines;
                lines[at] = "    say(\u{201c}well \u{2013} it\u{2019}s\u{a0}done\u{201d})".to_owned();
                let hunk =
                    format!("@@\n {}\n-    say(\"well - it's done\")\n+    {}\n", lines[at - 1], new_line(choices));
                one(text(&lines), updated(&hunk))
            }
            Self::DeletedAndAdded => {
                let added = self::lines(choices, "n");
                let body = format!("*** Delete File: src/f\n*** Add File: src/f\n{}", behind('+', &added));
                one(text(&lines), body)
            }
            Self::StaleLine => {
                let stale = hunk(choices, &lines, at, around, "was otherwise ");
                let body = format!("*** Add File: new\n+one\n{}", updated(&stale));
                one(text(&lines), body)
            }
            Self::MissingFile => {
                let body = choices.one_of(&["*** Delete File: gone\n", "*** Update File: gone\n@@\n-a\n+b\n"]);
                one(text(&lines), updated(&hunk(choices, &lines, at, around, "")) + body)
            }
            Self::NoFinalLineBreak => {
                let mut text = text(&lines);
                text.pop();
                let at = choices.one_of(&[at, lines.len() - 1]);
                one(text, updated(&hunk(choices, &lines, at, around, "")))
            }
            Self::Indentation => {
                let deeper: Vec<String> = lines.iter().map(|line| format!("        {line}")).collect();
                let line = filled(&lines, at);
                let indent = &line[..line.len() - line.trim_start().len()];
                one(text(&deeper), updated(&format!("@@\n-{line}\n+{indent}added {at} made\n")))
            }
            Self::BelowAnchor => {
                let (anchor, new) = (filled(&lines, at).to_owned(), new_line(choices));
                let mut after = lines.clone();
                let below = 1 + lines.iter().position(|line| *line == anchor).expect("it is one of them");
                after.insert(below, new.clone());
                let expected = Some([("src/f".to_owned(), text(&after))].into());
                Case { expected, ..one(text(&lines), updated(&format!("@@ {anchor}\n+{new}\n"))) }
            }
            Self::NestedAnchors => {
                let mut lines = lines;
                for head in ["class Two", "class One"] {
                    let block =
                        [head, "    fn first", "        step", "    end", "    fn second", "        step", "    end"];
                    lines.splice(at..at, block.map(str::to_owned));
                }
                let (class, method) =
                    (choices.one_of(&["class One", "class Two"]), choices.one_of(&["fn first", "fn second"]));
                let hunk = format!("@@ {class}\n@@     {method}\n-        step\n+        leap {at}\n     end\n");
                one(text(&lines), updated(&hunk))
            }
            Self::FirstWithoutMark => {
                let above = 1 + choices.below(3) as usize;
                let first = hunk(choices, &lines, above, 1, "");
                let hunks = first.strip_prefix("@@\n").expect("a hunk begins so").to_owned()
                    + &hunk(choices, &lines, lines.len() - 3, around.min(2), "");
                one(text(&lines), updated(&hunks))
            }
            Self::HereDocument | Self::CarriageReturnsInPatch => {
                let hunks = hunk(choices, &lines, 2, 1, "") + &hunk(choices, &lines, lines.len() - 3, 1, "");
                let ending = choices.one_of(&["\n", "\r\n"]);
                let is_here = self == Self::HereDocument;
                one(text(&lines).replace('\n', if is_here { "\n" } else { ending }), updated(&hunks))
            }
            Self::BareBlankLines => {
                let mut lines = lines;
                lines.splice(at..at, ["block {", "", "    step", "", "}"].map(str::to_owned));
                let hunk = format!("@@\n block {{\n\n-    step\n+    leap {at}\n\n }}\n");
                one(text(&lines), updated(&hunk))
            }
            Self::EndBeforeSection => {
                let other = self::lines(choices, "g");
                let end = hunk(choices, &lines, lines.len() - 1, around, "") + "*** End of File\n";
                let next = choices.one_of(&["*** Delete File: g\n", "*** Add File: n\n+n\n"]);
                let mut case = one(text(&lines), updated(&end) + next);
                case.before.insert("g".to_owned(), text(&other));
                case
            }
            Self::EmptyAdd => {
                let added = choices.one_of(&["*** Add File: deep/empty\n", "*** Add File: empty\n"]);
                one(text(&lines), added.to_owned() + &updated(&hunk(choices, &lines, at, around, "")))
            }
            Self::AbsolutePaths => {
                let mut body = format!("*** Update File: {{root}}/src/f\n{}", hunk(choices, &lines, at, around, ""));
                body.push_str("*** Add File: {root}/new/n\n+n\n*** Delete File: {root}/g\n");
                let mut case = one(text(&lines), body);
                case.before.insert("g".to_owned(), "g\n".to_owned());
                case
            }
            Self::SectionsOfOneFile | Self::SectionOfASection => {
                let line = filled(&lines, at);
                let first = format!("@@\n-{line}\n+first {at} made\n");
                let second = match self {
                    Self::SectionOfASection => format!("@@\n-first {at} made\n+second {at} made\n"),
                    _ => hunk(choices, &lines, 1, 1, ""),
                };
                one(text(&lines), updated(&first) + &updated(&second))
            }
            Self::DeletedFolder => one(text(&lines), "*** Delete File: src\n".to_owned()),
            Self::OutOfOrder => {
                let hunks = hunk(choices, &lines, lines.len() - 2, 1, "") + &hunk(choices, &lines, 2, 1, "");
                one(text(&lines), updated(&hunks))
            }
            Self::MovedOnly => one(text(&lines), updated("*** Move to: there/f\n")),
            Self::Ambiguous => {
                let mut lines = lines;
                let twice = filled(&lines, at).to_owned();
                lines.insert(at - 3, twice.clone());
                one(text(&lines), updated(&format!("@@\n-{twice}\n+{}\n", new_line(choices))))
            }
            Self::NoPlace => one(text(&lines), updated(&format!("@@\n+{}\n", new_line(choices)))),
            Self::NoChange => one(text(&lines), updated(&format!("@@\n {}\n {}\n", lines[at], lines[at + 1]))),
            Self::AddedOver => one(text(&lines), format!("*** Add File: src/f\n+{}\n", new_line(choices))),
            Self::MovedOver => {
                let mut case =
                    one(text(&lines), updated(&format!("*** Move to: g\n{}", hunk(choices, &lines, at, around, ""))));
                case.before.insert("g".to_owned(), "precious\n".to_owned());
                case
            }
        }
    }

    /// The text that both are given.
    pub(super) fn whole(self, body: &str) -> String {
        let text = format!("*** Begin Patch\n{body}*** End Patch\n");
        match self {
            Self::HereDocument => format!("<<'EOF'\n{text}EOF\n"),
            Self::CarriageReturnsInPatch => text.replace('\n', "\r\n"),
            _ => text,
        }
    }

    pub(super) fn is_known_difference(self, case: &Case, ours: &Tree, theirs: &Tree) -> bool {
        let is_as_expected = case.expected.as_ref().is_none_or(|expected| ours == expected);
        let (Some(ours), Some(theirs)) = (ours.get("src/f"), theirs.get("src/f")) else { return false };
        match self {
            Self::NoFinalLineBreak => !ours.ends_with('\n') && *theirs == format!("{ours}\n"),
            Self::TrailingSpace => {
                ours.lines().map(str::trim_end).eq(theirs.lines().map(str::trim_end))
                    && ours.lines().all(|line| line.ends_with([' ', '\t']))
            }
            Self::Indentation => {
                ours.lines().map(str::trim_start).eq(theirs.lines().map(str::trim_start))
                    && ours.lines().all(|line| line.is_empty() || line.starts_with("        "))
            }
            Self::BelowAnchor => {
                let added = case.body.lines().last().and_then(|line| line.strip_prefix('+')).unwrap_or_default();
                is_as_expected && *theirs == format!("{}{added}\n", case.before["src/f"])
            }
            _ => false,
        }
    }
}

/// Ten to forty of them, no two alike but for blank ones.
fn lines(choices: &mut Choices, name: &str) -> Vec<String> {
    let count = 10 + choices.below(31);
    let line = |number| {
        let indent = choices.one_of(&["", "    ", "        ", "\t"]);
        match choices.below(5) {
            0 if number > 0 && number + 1 < count => String::new(),
            1 => format!("{indent}call_{name}{number}(\"{number}, ü\"); // {{"),
            _ => format!("{indent}let {name}{number} = {};", number * 7),
        }
    };
    (0..count).map(line).collect()
}

/// The first at or behind `at` that is not blank; the last line is none.
fn filled(lines: &[String], at: usize) -> &str {
    lines[at..].iter().find(|line| !line.is_empty()).expect("the last line is not blank")
}

fn new_line(choices: &mut Choices) -> String {
    format!("{}added {} made", choices.one_of(&["", "    ", "\t"]), choices.below(1000))
}

/// Takes the line `at` out and puts none to two others in its place, with `around` lines before and behind. `drift` stands before the text of what goes.
fn hunk(choices: &mut Choices, lines: &[String], at: usize, around: usize, drift: &str) -> String {
    // A blank line says nothing of its place.
    let at = (at..lines.len()).chain((0..at).rev()).find(|at| !lines[*at].is_empty()).unwrap_or(at);
    let (from, to) = (at.saturating_sub(around), (at + 1 + around).min(lines.len()));
    let added: Vec<String> = (0..choices.below(3)).map(|_| new_line(choices)).collect();
    let context = |lines: &[String]| behind(' ', lines);
    format!(
        "@@\n{}-{drift}{}\n{}{}",
        context(&lines[from..at]),
        lines[at],
        behind('+', &added),
        context(&lines[at + 1..to])
    )
}

fn behind(mark: char, lines: &[String]) -> String {
    lines.iter().map(|line| format!("{mark}{line}\n")).collect()
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}
