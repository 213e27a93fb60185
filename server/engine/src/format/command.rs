//! The text that bash runs for a formatter: input and output by files of ours, its complaints where output of commands goes. Pure.

use copydesk_workspace::path::AbsPath;

use super::Ready;

/// What stands for the file in a command.
const FILE: &str = "$FILE";

pub(super) fn takes_file(words: &[String]) -> bool {
    words.iter().any(|word| word.contains(FILE))
}

/// `copy`: the folder for a copy of the file, made and removed by the command.
pub(super) fn text(
    formatter: &Ready<'_>,
    path: &AbsPath,
    input: &AbsPath,
    output: &AbsPath,
    copy: Option<&AbsPath>,
) -> String {
    let mut lines = vec!["umask 077".to_owned()];
    if let Some(folder) = output.parent() {
        lines.push(format!("mkdir -p -- {} || exit", word(&folder.to_string())));
    }
    lines.extend(formatter.probe.map(|probe| format!("{{ {probe}; }} </dev/null >/dev/null 2>&1 || exit 127")));
    let names = formatter.environment.iter().filter(|(name, _)| is_name(name));
    lines.extend(names.map(|(name, value)| format!("export {name}={}", word(value))));
    let (input, output) = (word(&input.to_string()), word(&output.to_string()));
    match copy {
        None => {
            let words: Vec<String> = formatter.words.iter().map(|text| word(text)).collect();
            lines.push(format!("{} <{input} >{output}", words.join(" ")));
        }
        Some(folder) => {
            let file = folder.join(path.name()).to_string();
            let words: Vec<String> = formatter.words.iter().map(|text| word(&text.replace(FILE, &file))).collect();
            let (folder, file) = (word(&folder.to_string()), word(&file));
            // It may be that of a file that is not there yet.
            lines.push(format!(
                "mkdir -- {folder} 2>/dev/null || {{ echo 'the folder of the file does not exist yet'; exit 1; }}"
            ));
            lines.push(format!("trap 'rm -rf -- '{} EXIT", word(&folder)));
            lines.push(format!("cat <{input} >{file} && {} && cat <{file} >{output}", words.join(" ")));
        }
    }
    lines.join("\n")
}

/// Removes the folder of a copy, where the command could not.
pub(super) fn removal(copy: &AbsPath) -> String {
    format!("rm -rf -- {}", word(&copy.to_string()))
}

/// One word of bash, whatever it holds.
fn word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn is_name(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(is_word) && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())
}
