//! An ask as text, and what a line that is typed behind it means: pure. The whole of what would be done is shown, whatever its length (R8.4).

use copydesk_engine::escape::{escaped, escaped_line};
use copydesk_engine::ports::{Ask, AskOption, AskedPart, OptionKind, Preview};

use super::paint::Paint;
use super::transcript::{diffs, indented};

/// What a line means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Option(String),
    /// Rejected, with what the user wants instead.
    Instead(String, String),
    /// Rejected; what the user wants is still to be typed.
    InsteadOf(String),
    /// Neither yes nor no.
    Unclear,
}

pub(super) fn question(ask: &Ask, paint: Paint) -> String {
    let mut text = format!("{} {}\n", paint.bold("?"), paint.bold(&escaped_line(&ask.title)));
    text.push_str(&indented(&escaped(&ask.reason)));
    match &ask.preview {
        // Only its arguments say what it would do.
        Preview::Nothing => text.push_str(&indented(&escaped(&ask.input.to_string()))),
        Preview::Edit(changes) => text.push_str(&indented(&diffs(changes, paint))),
        Preview::Access(what) => text.push_str(&indented(&escaped(what))),
        Preview::Command { shown, lines, folder, notes, .. } => {
            let count = if *lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
            text.push_str(&indented(&paint.dim(&format!("{count}, in {}:", escaped_line(folder)))));
            // Escaped already, as what is judged.
            text.push_str(&indented(&command(shown, ask.preview.marked(), paint)));
            for note in notes {
                text.push_str(&indented(&escaped(note)));
            }
        }
    }
    text
}

/// Lines with a part that is asked have a mark in front, the part is bold.
fn command(shown: &str, asked: &[AskedPart], paint: Paint) -> String {
    let mut lines = String::new();
    let mut start = 0;
    for (index, line) in shown.lines().enumerate() {
        let mark = if asked.iter().any(|part| part.is_in_line(index + 1)) { "> " } else { "  " };
        lines.push_str(mark);
        lines.push_str(&painted(line, start, asked, paint));
        lines.push('\n');
        start += line.len() + 1;
    }
    lines
}

/// `start`: where the line begins in the text that the spans are of.
fn painted(line: &str, start: usize, asked: &[AskedPart], paint: Paint) -> String {
    let is_asked = |at: usize| asked.iter().any(|part| part.span.contains(&(start + at)));
    let mut text = String::new();
    let mut from = 0;
    for (at, _) in line.char_indices().filter(|(at, _)| *at > 0).chain([(line.len(), ' ')]) {
        let was_asked = is_asked(from);
        if at == line.len() || is_asked(at) != was_asked {
            let piece = &line[from..at];
            text.push_str(&if was_asked { paint.bold(piece) } else { paint.cyan(piece) });
            from = at;
        }
    }
    text
}

/// The choices in one line each, and the place to type.
pub(super) fn choices(options: &[AskOption], paint: Paint) -> String {
    let mut text = String::new();
    let mut number = 0;
    let mut line = |key: &str, label: &str| {
        number += 1;
        text.push_str(&format!("  {number} {} {}\n", paint.bold(&format!("[{key}]")), escaped_line(label)));
    };
    for option in options {
        line(key(option.kind), &option.label);
    }
    if rejection_with_message(options).is_some() {
        line("m", "Reject, and say what you want instead");
    }
    text.push_str("> ");
    text
}

pub(super) fn answer(line: &str, options: &[AskOption]) -> Answer {
    let line = line.trim();
    let rejection = rejection_with_message(options);
    let instead = |message: &str, rejection: String| match message.trim() {
        "" => Answer::InsteadOf(rejection),
        message => Answer::Instead(rejection, message.to_owned()),
    };
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if let (true, Some(rejection)) = (word == "m" || word == (options.len() + 1).to_string(), rejection) {
        return instead(rest, rejection);
    }
    if !rest.is_empty() {
        return Answer::Unclear;
    }
    let by_number = word.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
    let by_key = options.iter().find(|option| key(option.kind) == word);
    by_number.or(by_key).map_or(Answer::Unclear, |option| Answer::Option(option.id.clone()))
}

/// What is decided for good is not a call that the model could do in another way.
fn rejection_with_message(options: &[AskOption]) -> Option<String> {
    let of_kind = |kind| options.iter().find(|option| option.kind == kind);
    match of_kind(OptionKind::RejectAlways) {
        Some(_) => None,
        None => of_kind(OptionKind::RejectOnce).map(|option| option.id.clone()),
    }
}

fn key(kind: OptionKind) -> &'static str {
    match kind {
        OptionKind::AllowOnce | OptionKind::Answer => "a",
        OptionKind::AllowAlways => "A",
        OptionKind::AllowInProject => "p",
        OptionKind::RejectOnce => "r",
        OptionKind::RejectAlways => "R",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Vec<AskOption> {
        let option = |id: &str, kind| AskOption { id: id.to_owned(), label: format!("Label {id}"), kind };
        vec![
            option("once", OptionKind::AllowOnce),
            option("always", OptionKind::AllowAlways),
            option("no", OptionKind::RejectOnce),
        ]
    }

    #[test]
    fn only_a_known_answer_is_one() {
        let option = |id: &str| Answer::Option(id.to_owned());
        let check = |line: &str, expected: Answer| assert_eq!(answer(line, &options()), expected, "{line:?}");
        check("a\n", option("once"));
        check(" A ", option("always"));
        check("r", option("no"));
        check("1", option("once"));
        check("2", option("always"));
        check("3", option("no"));
        check("m", Answer::InsteadOf("no".to_owned()));
        check("4", Answer::InsteadOf("no".to_owned()));
        check("m use  b.txt\n", Answer::Instead("no".to_owned(), "use  b.txt".to_owned()));
        for line in ["", "\n", "y", "yes", "0", "5", "R", "a a", "-1", "allow", "1 2"] {
            check(line, Answer::Unclear);
        }
        assert_eq!(answer("m x", &options()[..2]), Answer::Unclear, "where nothing can be rejected");
    }

    #[test]
    fn c59_the_part_that_is_asked_is_marked() {
        let shown = "git log\ngit push &&\n  git push x; ls";
        let part = |text: &str, line| {
            let start = shown.find(text).unwrap_or_default();
            AskedPart { span: start..start + text.len(), line, text: text.to_owned(), reason: "rule".to_owned() }
        };
        let asked = [part("push &&\n  git", 2), part("ls", 3)];
        let plain = command(shown, &asked, Paint::new(false, |_| None));
        assert_eq!(plain, "  git log\n> git push &&\n>   git push x; ls\n");
        let paint = Paint::new(true, |_| None);
        let (bold, cyan) = (|text| paint.bold(text), |text| paint.cyan(text));
        let expected = format!(
            "  {}\n> {}{}\n> {}{}{}\n",
            cyan("git log"),
            cyan("git "),
            bold("push &&"),
            bold("  git"),
            cyan(" push x; "),
            bold("ls")
        );
        assert_eq!(command(shown, &asked, paint), expected);
    }

    #[test]
    fn r8_4_a_command_is_shown_whole() {
        let shown: String = (0..400).map(|number| format!("echo {number}\n")).collect();
        let ask = Ask {
            id: copydesk_engine::ids::AskId::new("per_1"),
            call: copydesk_engine::ids::CallId::new("call_1"),
            title: "Say \u{1b}[2J".to_owned(),
            reason: "every command is asked for".to_owned(),
            input: serde_json::Value::Null,
            preview: Preview::Command {
                shown,
                lines: 400,
                folder: "/project".to_owned(),
                notes: vec!["two\nlines".to_owned()],
                asked: Vec::new(),
            },
            options: options(),
        };
        let paint = Paint::new(false, |_| None);
        let text = question(&ask, paint) + &choices(&ask.options, paint);
        assert!((0..400).all(|number| text.contains(&format!("    echo {number}\n"))));
        assert!(!text.contains('\u{1b}'), "what is shown draws nothing of its own");
        let frame: Vec<&str> = text.lines().filter(|line| !line.contains("echo")).collect();
        insta::assert_snapshot!(frame.join("\n"), @r"
        ? Say \u{1b}[2J
          every command is asked for
          400 lines, in /project:
          two
          lines
          1 [a] Label once
          2 [A] Label always
          3 [r] Label no
          4 [m] Reject, and say what you want instead
        > 
        ");
    }
}
