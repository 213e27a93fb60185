//! That a text is judged in bounded time, whichever words of the tables are in it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
#![expect(
    clippy::disallowed_methods,
    reason = "how long it takes is what is tested, beside a thread that may never end"
)]

use std::collections::BTreeSet;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use copydesk_workspace::path::AbsPath;

use super::{Surroundings, analyse};

/// All that has a table of programs, of options or of commands.
const TABLES: [&str; 34] = [
    include_str!("arity.rs"),
    include_str!("builtins.rs"),
    include_str!("code.rs"),
    include_str!("code/words.rs"),
    include_str!("endings.rs"),
    include_str!("fed.rs"),
    include_str!("fetched.rs"),
    include_str!("file_programs/changing.rs"),
    include_str!("file_programs/looking.rs"),
    include_str!("file_programs/searching.rs"),
    include_str!("file_programs/text.rs"),
    include_str!("find.rs"),
    include_str!("interpreters.rs"),
    include_str!("letters.rs"),
    include_str!("links.rs"),
    include_str!("network.rs"),
    include_str!("other_names.rs"),
    include_str!("outputs.rs"),
    include_str!("outputs/compilers.rs"),
    include_str!("programs.rs"),
    include_str!("proven.rs"),
    include_str!("remote.rs"),
    include_str!("remote/runners.rs"),
    include_str!("scripts/awk.rs"),
    include_str!("scripts/sed.rs"),
    include_str!("transfer.rs"),
    include_str!("variables.rs"),
    include_str!("version_control.rs"),
    include_str!("version_control/losses.rs"),
    include_str!("version_control/reads.rs"),
    include_str!("version_control/settings.rs"),
    include_str!("version_control/writes.rs"),
    include_str!("without_options.rs"),
    include_str!("wrappers.rs"),
];

const ODD: [&str; 16] = [
    "-$x",
    "--$x",
    "-\"$(x)\"",
    "-[a",
    "-*",
    "-?",
    "*",
    "-{a,b}",
    "{-a,--}",
    "$x",
    "\"$@\"",
    "-",
    "--",
    "''",
    "-é=",
    "--a=*",
];

/// Words of the tables, each with those that stand near behind it.
fn rows(source: &str) -> Vec<Vec<&str>> {
    let is_word = |word: &&str| {
        (1..24).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+:=".contains(&byte))
    };
    let words: Vec<&str> = source.split('"').skip(1).step_by(2).filter(is_word).collect();
    (0..words.len()).map(|at| words[at..words.len().min(at + 4)].to_vec()).collect()
}

fn texts() -> Vec<String> {
    let rows: BTreeSet<Vec<&str>> = TABLES.iter().flat_map(|source| rows(source)).collect();
    let programs: BTreeSet<&str> =
        rows.iter().filter_map(|row| row.first().copied()).filter(|word| !word.starts_with('-')).collect();
    let mut texts = Vec::new();
    for program in &programs {
        for odd in ODD {
            texts.push(format!("{program} {odd} a"));
            texts.push(format!("{program} a {odd} b {odd}"));
            texts.push(format!("{program} {odd} {odd} {odd}"));
        }
    }
    for (at, row) in rows.iter().filter(|row| row.len() > 2).enumerate() {
        let odd = ODD[at % ODD.len()];
        let other = ODD[(at / ODD.len()) % ODD.len()];
        texts.push(format!("{} {} place {odd} {other}", row[0], row[1]));
        texts.push(format!("{} {odd} {} {} {other} place", row[0], row[1], row[2]));
    }
    texts
}

/// Of one text, on a machine that has much else to do: what is not bounded takes by far longer, or all of the memory.
const LIMIT: Duration = Duration::from_secs(15);

/// `None`: it did not end.
fn longest(texts: Vec<String>, limit: Duration) -> Vec<(String, Option<Duration>)> {
    let (send, taken) = mpsc::channel();
    let shared = texts.clone();
    thread::spawn(move || {
        let (folder, home) = (AbsPath::new("/w").unwrap(), AbsPath::new("/home/u").unwrap());
        for text in shared {
            let start = Instant::now();
            analyse(&text, Surroundings { folder: &folder, home: &home });
            if send.send(start.elapsed()).is_err() {
                return;
            }
        }
    });
    let mut slow = Vec::new();
    for text in texts {
        match taken.recv_timeout(limit * 4) {
            Ok(took) if took < limit => {}
            Ok(took) => slow.push((text, Some(took))),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                slow.push((text, None));
                break;
            }
        }
    }
    slow
}

#[test]
fn r8_1_short_texts_of_the_words_of_all_tables_are_judged_in_bounded_time() {
    let texts = texts();
    assert!(texts.len() > 20_000, "{}", texts.len());
    let slow = longest(texts, LIMIT);
    assert!(slow.is_empty(), "{slow:?}");
}

#[test]
fn r8_1_short_texts_of_odd_shapes_are_judged_in_bounded_time() {
    let mut texts = Vec::new();
    for program in [
        "npm",
        "docker",
        "docker run",
        "docker compose exec",
        "kubectl exec",
        "cp",
        "tar",
        "git",
        "git commit",
        "find",
        "ssh h",
        "echo",
        "sed",
        "awk",
        "env",
        "xargs",
        "python3 -m",
        "curl",
        "jq",
        "rm",
        "eval",
        "bash -c",
        "make",
        "psql",
        "sqlite3",
        "test",
        "aws",
        "gh",
    ] {
        for piece in [
            "-a b ", "--a ", "a ", "$x ", "-$x ", "* ", "{a,b} ", "a=b ", "{a,b}", "*", "a*", "$x", "\"$x\"", "[",
            "\\", "$(a ", "`", "((", "{", "'a'", "${x:-", "-m ", "<(a) ", "a@b:", "/", "../", ";", "-exec ", "( ",
            "! ",
        ] {
            for count in [30, 1_500] {
                texts.push(format!("{program} {}", piece.repeat(count)));
            }
        }
        texts.push(format!("{program} {}", "{a,b,c,d,e,f,g,h}".repeat(8)));
        texts.push(format!("{program} {}", "{a,b,c,d,e,f,g,h} ".repeat(400)));
        texts.push(format!("{program} {}{}", "{a,".repeat(60), "}".repeat(60)));
        texts.push(format!("{program} {}x{}", "\"$(echo ".repeat(40), ")\"".repeat(40)));
        texts.push(format!("x=a; {}", format!("x=$x$x; {program} $x; ").repeat(40)));
        texts.push(format!("cd a || cd b; cd c || cd d; cd e || cd f; {program} {}", "a/* ".repeat(500)));
    }
    let nested = "for y in a b c d; do ls $x$y$x; done; ".repeat(200);
    texts.push(format!("for x in {{a,b,c,d,e,f,g,h}}{{1,2,3,4,5,6,7,8}}; do {nested} done"));
    texts.push(format!("curl -T {}", "{a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p}".repeat(300)));
    texts.push(format!("x='{}'; {}", "a".repeat(50_000), "ls; ".repeat(3_000)));
    for open in [
        "( ",
        "{ ",
        "if ",
        "while ",
        "! ",
        "f() { ",
        "a | ",
        "a && ",
        "a || ",
        "case x in a) ",
        "for x in a; do ",
        "$(",
        "<(",
        "\"$(",
        "[[ ( ",
        "$((",
        "time ",
        "env ",
        "sudo ",
        "nice ",
        "command ",
        "builtin ",
        "exec ",
        "xargs ",
        "nohup ",
        "bash -c 'a' ",
        "eval ",
        "cat <<E\n",
    ] {
        for count in [40, 4_000] {
            texts.push(open.repeat(count));
            texts.push(format!("{}a", open.repeat(count)));
        }
    }
    texts.push(format!("x='{}'; {}", "a".repeat(60_000), "ls; ".repeat(9_000)));
    texts.push(format!("x='{}'; npm {}{}", "a".repeat(4_000), "-a b ".repeat(40), "$x ".repeat(3_000)));
    texts.push(format!("x='{}'; for y in {}; do ls; done", "a".repeat(4_000), "$x ".repeat(20_000)));
    texts.push(format!("x='{}'; {}", "a".repeat(4_000), "ls > $x; ".repeat(9_000)));
    texts.push((0..12_000).map(|at| format!("a{at}=b;")).collect());
    texts.push(format!("bash -c '{}'", "a; ".repeat(12_000)));
    texts.push(format!("cd {}; ls {}", "a".repeat(60_000), "a ".repeat(20_000)));
    texts.push(format!("docker {}{}{}", "-a compose ".repeat(120), "-a exec ".repeat(120), "x ".repeat(2_000)));
    let slow = longest(texts, LIMIT);
    let shown: Vec<String> = slow
        .iter()
        .map(|(text, took)| format!("{took:?} {} bytes {:?}", text.len(), &text.chars().take(60).collect::<String>()))
        .collect();
    assert!(slow.is_empty(), "{shown:#?}");
}
