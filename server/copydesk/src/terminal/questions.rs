//! Questions to the user at a terminal as text, and what a line that is typed below means: pure. Asks for permission are `ask.rs`'s.

use copydesk_engine::escape::escaped_line;
use copydesk_engine::inquiry::Question;
use copydesk_engine::ports::TerminalPrompt;

use super::paint::Paint;

/// What a line means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Said(Vec<String>),
    Dismissed,
    /// To be asked again.
    Unclear,
}

pub(super) fn shown(question: &Question, paint: Paint) -> String {
    let header =
        if question.header.is_empty() { String::new() } else { format!("{}: ", escaped_line(&question.header)) };
    let lines: Vec<String> = question.text.lines().map(escaped_line).collect();
    let mut text = format!("{} {}\n", paint.bold("?"), paint.bold(&format!("{header}{}", lines.join("\n  "))));
    for (at, choice) in question.choices.iter().enumerate() {
        let described = if choice.description.is_empty() {
            String::new()
        } else {
            format!("  {}", paint.dim(&escaped_line(&choice.description)))
        };
        text.push_str(&format!("  {} {}{described}\n", paint.bold(&(at + 1).to_string()), escaped_line(&choice.label)));
    }
    text.push_str(&format!("  {} Dismiss: the turn ends\n", paint.bold("0")));
    let how = match (question.choices.is_empty(), question.multiple, question.free) {
        (true, ..) => "Your answer",
        (_, true, true) => "Numbers, with commas between; or your own words",
        (_, true, false) => "Numbers, with commas between",
        (_, false, true) => "A number, or your own words",
        (_, false, false) => "A number",
    };
    text.push_str(&format!("{how} > "));
    text
}

/// What a command waits for at its own terminal.
pub(super) fn line_wanted(prompt: &TerminalPrompt, paint: Paint) -> String {
    let text = if prompt.text.is_empty() { "it waits for a line" } else { &prompt.text };
    let unseen = if prompt.is_secret { ", which is not shown" } else { "" };
    format!("{} The command asks: {}\nYour input{unseen} > ", paint.bold("?"), paint.bold(&escaped_line(text)))
}

pub(super) fn answer(line: &str, question: &Question) -> Answer {
    let line = line.trim();
    if line.is_empty() {
        return Answer::Unclear;
    }
    if line == "0" {
        return Answer::Dismissed;
    }
    if let Some(choice) = question.choices.iter().find(|choice| choice.label.eq_ignore_ascii_case(line)) {
        return Answer::Said(vec![choice.label.clone()]);
    }
    let words: Vec<&str> = line.split([',', ' ']).filter(|word| !word.is_empty()).collect();
    let numbers: Option<Vec<usize>> = words.iter().map(|word| word.parse().ok()).collect();
    match numbers.filter(|_| !question.choices.is_empty()) {
        Some(numbers) if numbers.len() == 1 || question.multiple => chosen(&numbers, question),
        Some(_) => Answer::Unclear,
        None if question.free => Answer::Said(vec![line.to_owned()]),
        None => Answer::Unclear,
    }
}

fn chosen(numbers: &[usize], question: &Question) -> Answer {
    let label = |number: &usize| Some(question.choices.get(number.checked_sub(1)?)?.label.clone());
    let Some(labels) = numbers.iter().map(label).collect::<Option<Vec<String>>>() else { return Answer::Unclear };
    let mut distinct: Vec<String> = Vec::new();
    for label in labels {
        if !distinct.contains(&label) {
            distinct.push(label);
        }
    }
    Answer::Said(distinct)
}

#[cfg(test)]
mod tests {
    use copydesk_engine::inquiry::Choice;

    use super::*;

    fn question(labels: &[&str], multiple: bool, free: bool) -> Question {
        let choice = |label: &&str| Choice { label: (*label).to_owned(), description: format!("about {label}") };
        let choices = labels.iter().map(choice).collect();
        Question { text: "Which\u{1b}[2J way?".to_owned(), header: "Way".to_owned(), choices, multiple, free }
    }

    #[track_caller]
    fn check(line: &str, question: &Question, expected: &[&str]) {
        assert_eq!(
            answer(line, question),
            Answer::Said(expected.iter().map(|part| (*part).to_owned()).collect()),
            "{line:?}"
        );
    }

    #[test]
    fn a_number_a_label_or_own_words_answer() {
        let one = question(&["Left", "Right"], false, true);
        check("2\n", &one, &["Right"]);
        check(" left ", &one, &["Left"]);
        check("straight on, 3 times", &one, &["straight on, 3 times"]);
        let several = question(&["Left", "Right", "Up"], true, true);
        check("3,1", &several, &["Up", "Left"]);
        check("1 2 1", &several, &["Left", "Right"]);
        check("down", &several, &["down"]);
        check("42", &question(&[], false, true), &["42"]);
        assert_eq!(answer("0", &one), Answer::Dismissed);
        for line in ["", " \n", "3", "1,2"] {
            assert_eq!(answer(line, &one), Answer::Unclear, "{line:?}");
        }
        let closed = question(&["Yes", "No"], false, false);
        check("yes", &closed, &["Yes"]);
        for line in ["maybe", "y", "1 2", "3"] {
            assert_eq!(answer(line, &closed), Answer::Unclear, "{line:?}");
        }
    }

    #[test]
    fn a_question_draws_nothing_of_its_own() {
        insta::assert_snapshot!(shown(&question(&["Left", "Right"], true, true), Paint::new(false, |_| None)), @r"
        ? Way: Which\u{1b}[2J way?
          1 Left  about Left
          2 Right  about Right
          0 Dismiss: the turn ends
        Numbers, with commas between; or your own words > 
        ");
    }
}
