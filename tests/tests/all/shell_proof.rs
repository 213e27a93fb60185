//! The analysis of commands against bash itself, over texts that are made of simple commands by all the shell's ways. `cargo xtask gate-proof` runs the same with
//! many more of them. A failure tells the text, made as small as it could be, and the choices that make it again.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use copydesk_engine::permission::shell::{Analysis, FileAccess, Place, SimpleCommand, Surroundings, analyse};
use copydesk_engine::permission::{Origin, Rule, Verdict, decide, wildcard_match};
use copydesk_tests::choices::{Choices, shrink};
use copydesk_tests::marked_runs::{self, Executed, Ran};
use copydesk_tests::shell_texts::{Text, text_of};
use copydesk_workspace::path::AbsPath;

/// Texts in a run of all tests; `cargo xtask gate-proof` sets another number.
const TEXTS: u64 = 10_000;
/// Each of these costs some processes.
const RUNS: u64 = 600;

fn count(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

fn seed() -> u64 {
    count("GATE_PROOF_SEED", 20_261_130)
}

fn made(seed: u64) -> (Text, Vec<u32>) {
    let mut choices = Choices::from_seed(seed);
    let text = text_of(&mut choices);
    (text, choices.drawn())
}

fn analysed(text: &str) -> Analysis {
    let (folder, home) = (AbsPath::new("/w").unwrap(), AbsPath::new("/home/u").unwrap());
    analyse(text, Surroundings { folder: &folder, home: &home })
}

/// Everything is allowed but `pq`, which asks, and `pd`, which is denied: whatever the analysis overlooks is allowed.
fn rules() -> Vec<Rule> {
    [("*", Verdict::Allow), ("pq *", Verdict::Ask), ("pd *", Verdict::Deny)]
        .map(|(pattern, verdict)| Rule {
            permission: "bash".to_owned(),
            pattern: pattern.to_owned(),
            verdict,
            origin: Origin::Grant,
        })
        .to_vec()
}

fn verdict(analysis: &Analysis, rules: &[Rule]) -> Verdict {
    let one = |pattern: &String| decide("bash", std::slice::from_ref(pattern), rules, &[]).verdict;
    let commands = analysis.commands.iter().map(|command| {
        let aliases = command.aliases.iter().map(one).max().unwrap_or(Verdict::Allow);
        one(&command.pattern).max(aliases)
    });
    let known = if analysis.unknown.is_empty() { Verdict::Allow } else { Verdict::Ask };
    commands.max().unwrap_or(Verdict::Ask).max(known)
}

/// The strictest of the parts that could run. What is not understood can be asked and no more.
fn strictest(text: &Text, understood: bool) -> Verdict {
    let verdicts = text.programs.iter().map(|program| match *program {
        "pd" if understood => Verdict::Deny,
        "pd" | "pq" => Verdict::Ask,
        _ => Verdict::Allow,
    });
    verdicts.max().unwrap_or(Verdict::Allow)
}

fn is_too_mild(text: &Text) -> bool {
    let analysis = analysed(&text.text);
    verdict(&analysis, &rules()) < strictest(text, analysis.unknown.is_empty())
}

fn told(choices: Vec<u32>, fails: impl Fn(&Text) -> bool) -> String {
    let choices = shrink(choices, |choices| fails(&text_of(&mut Choices::again(choices))));
    let text = text_of(&mut Choices::again(&choices));
    format!("{}\n--- choices {choices:?}\n{:#?}", text.text, analysed(&text.text))
}

#[test]
fn r8_1_no_joining_wrapping_or_quoting_makes_a_decision_milder() {
    let mut understood = 0;
    let texts = count("GATE_PROOF_TEXTS", TEXTS);
    for number in 0..texts {
        let (text, choices) = made(seed().wrapping_add(number));
        let analysis = analysed(&text.text);
        understood += u64::from(analysis.unknown.is_empty());
        if is_too_mild(&text) {
            panic!("milder than its strictest part, seed {}:\n{}", seed() + number, told(choices, is_too_mild));
        }
    }
    // A gate that asks about everything proves nothing.
    assert!(understood * 3 > texts, "only {understood} of {texts} texts are understood");
}

#[test]
fn r8_1_bash_takes_all_texts_of_the_generator() {
    let texts = count("GATE_PROOF_TEXTS", TEXTS).min(200_000);
    let mut number = 0;
    while number < texts {
        let batch = (number..(number + 400).min(texts)).map(|at| made(seed().wrapping_add(at)).0.text);
        // In a heredoc's end a carriage return is one more sign, so that it does not end.
        let batch: Vec<String> = batch.filter(|text| !text.contains('\r')).collect();
        let refused = refused(&batch);
        assert!(refused.is_empty(), "bash does not take: {refused:#?}");
        number += 400;
    }
}

/// Those of `texts` that bash calls no text. It runs none of them.
fn refused(texts: &[String]) -> Vec<String> {
    // `eval` of a definition reads the text and runs nothing.
    let script = r#"while IFS= read -r -d '' text; do
        eval "f() {"$'\n'"$text"$'\n'"}" 2>/dev/null || exit 9
    done"#;
    let mut bash = Command::new("bash");
    let mut bash = bash.args(["-c", script]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let all: String = texts.iter().flat_map(|text| [text.as_str(), "\0"]).collect();
    // It reads no further where it ends early.
    let all_read = bash.stdin.take().unwrap().write_all(all.as_bytes()).is_ok();
    if bash.wait().unwrap().success() && all_read {
        return Vec::new();
    }
    let takes = |text: &&String| {
        let status = Command::new("bash").args(["-n", "-c", text]).stderr(Stdio::null()).status().unwrap();
        // Bash 5.2 itself breaks down over some heredocs in substitutions.
        status.success() || status.code().is_none()
    };
    texts.iter().filter(|text| !takes(text)).cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn r8_1_whatever_ran_was_seen_by_the_analysis() {
    let runs = count("GATE_PROOF_RUNS", RUNS);
    let mut understood = 0;
    let mut number = 0;
    while number < runs {
        let batch: Vec<Text> = (number..(number + 250).min(runs)).map(|at| made(seed().wrapping_add(at)).0).collect();
        let texts: Vec<&str> = batch.iter().map(|text| text.text.as_str()).collect();
        let ran = marked_runs::run(&texts).await;
        for (at, (text, ran)) in texts.iter().zip(&ran.all).enumerate() {
            let analysis = analyse(text, Surroundings { folder: &ran.folder, home: &ran.home });
            if !analysis.unknown.is_empty() || analysis.commands.iter().any(runs_a_script) {
                continue;
            }
            understood += u64::from(!ran.executed.is_empty());
            let unseen = unseen(&analysis, ran);
            let seed = seed().wrapping_add(number + at as u64);
            assert!(unseen.is_empty(), "seed {seed}:\n{text}\n--- ran unseen:\n{unseen}\n{analysis:#?}");
        }
        number += batch.len() as u64;
    }
    assert!(understood * 4 > runs, "only {understood} of {runs} texts ran and were understood");
}

/// A shell that is known to run what nobody reads.
fn runs_a_script(command: &SimpleCommand) -> bool {
    let program = command.pattern.split(' ').next().unwrap_or_default();
    command.effect.runs_unseen.is_some() && ["bash", "sh", "source", "."].contains(&program)
}

/// What ran or came to be without being in the analysis.
fn unseen(analysis: &Analysis, ran: &Ran) -> String {
    let mut unseen = String::new();
    for executed in &ran.executed {
        if !analysis.commands.iter().any(|command| covers(command, &executed.words)) {
            writeln!(unseen, "command {:?}", executed.words).unwrap();
        }
        for (path, access) in operands(executed) {
            if !is_among(analysis, &path, access, &executed.words[0]) {
                writeln!(unseen, "{access:?} of {} by {:?}", path.display(), executed.words).unwrap();
            }
        }
    }
    for path in &ran.created {
        if !is_among(analysis, path, FileAccess::Write, "redirect") {
            writeln!(unseen, "the new file {}", path.display()).unwrap();
        }
    }
    unseen
}

/// Whether the words that ran are those of `command`, as far as it claims to know them.
fn covers(command: &SimpleCommand, words: &[String]) -> bool {
    let joined = words.join(" ");
    let mut spellings = command.aliases.iter().chain([&command.pattern]);
    let is_open = command.aliases.iter().any(|alias| alias.contains("xargs ") || alias.contains("find "));
    let added = |spelling: &str| is_open && joined.starts_with(&format!("{spelling} "));
    if spellings.any(|spelling| joined == *spelling || added(spelling)) {
        return true;
    }
    // The first alias is the one without quotes, where there were any; an expansion is spelled as it is written.
    let name = format!("{} ", words[0]);
    let is_unquoted = |alias: &&String| alias.starts_with(&name) && !alias.contains(['<', '>']);
    let unquoted = command.aliases.first().filter(is_unquoted).unwrap_or(&command.pattern);
    if !unquoted.contains(['$', '`', '*', '?', '[', '{', '<', '>', '~']) {
        return false;
    }
    let computed = unquoted.find(['$', '`', '*', '?', '[', '{', '<', '>', '~', '"', '\'', '\\']).unwrap_or_default();
    let known = unquoted[..computed].rfind(' ').map_or(0, |blank| blank + 1);
    // Words that are computed may be none.
    known > 0 && format!("{joined} ").starts_with(&unquoted[..known])
}

fn operands(executed: &Executed) -> Vec<(PathBuf, FileAccess)> {
    let access = match executed.words[0].as_str() {
        "cat" => FileAccess::Read,
        "touch" => FileAccess::Write,
        _ => return Vec::new(),
    };
    let mut words = executed.words[1..].to_vec();
    let ended = words.iter().position(|word| word == "--").inspect(|&at| drop(words.remove(at)));
    let is_operand = |(at, word): &(usize, &String)| {
        !word.is_empty() && *word != "-" && (!word.starts_with('-') || ended.is_some_and(|ended| *at >= ended))
    };
    let files = words.iter().enumerate().filter(is_operand);
    files.filter_map(|(_, word)| Some((real(&executed.folder.join(word))?, access))).collect()
}

/// Without links but the last; `None` where there is no such folder, so that nothing is read or written.
fn real(path: &Path) -> Option<PathBuf> {
    match path.file_name() {
        Some(name) if !path.ends_with("..") => Some(path.parent()?.canonicalize().ok()?.join(name)),
        _ => path.canonicalize().ok(),
    }
}

fn is_among(analysis: &Analysis, path: &Path, access: FileAccess, by: &str) -> bool {
    analysis.files.iter().filter(|used| used.access >= access).any(|used| match &used.place {
        Place::File(file) | Place::Maybe(file) | Place::Tracked(file) => {
            real(file.as_path()).is_some_and(|file| file == path)
        }
        Place::Glob { base, pattern } => {
            let Ok(base) = base.as_path().canonicalize() else { return false };
            wildcard_match(&path.to_string_lossy(), &format!("{}/{pattern}", base.display()))
        }
        Place::Unknown(_) => used.by == by,
    })
}
