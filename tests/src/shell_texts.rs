//! Makes bash texts out of simple commands by the shell's ways of joining, wrapping, quoting and substituting. All that they run are programs of the names in
//! `PROGRAMS` (which a test puts in their place), wrappers and builtins, so that any text may be run. Not made: names that are computed by more than a
//! variable, options of the shell that change how it reads, job control.

use super::choices::Choices;

/// What stands for programs: one that may run, one that is asked, one that is denied; and two that read and write files.
pub const PROGRAMS: [&str; 5] = ["pa", "pq", "pd", "cat", "touch"];

/// A text, and the programs that could run when bash runs it.
#[derive(Debug, Clone)]
pub struct Text {
    pub text: String,
    pub programs: Vec<&'static str>,
}

/// What a list of choices makes.
pub fn text_of(choices: &mut Choices) -> Text {
    let mut maker = Maker { choices, programs: Vec::new(), budget: 14, names: 0, piped: false };
    let depth = maker.choices.below(5);
    let text = maker.script(depth);
    Text { text, programs: maker.programs }
}

struct Maker<'a> {
    choices: &'a mut Choices,
    programs: Vec<&'static str>,
    /// Of statements; a text stays short enough to be read by people.
    budget: u32,
    names: u32,
    /// What is made next stands behind `|`, where neither `!` nor `time` is a word of the grammar.
    piped: bool,
}

/// What stands on a line, and the heredocs that must follow behind its end.
#[derive(Default)]
struct Line {
    head: String,
    bodies: String,
}

impl Line {
    fn of(head: impl Into<String>) -> Self {
        Self { head: head.into(), bodies: String::new() }
    }

    /// As what is joined to a word that follows.
    fn ended(self) -> String {
        if self.bodies.is_empty() {
            if self.head.ends_with('&') { self.head + " " } else { self.head + "; " }
        } else {
            self.head + "\n" + &self.bodies
        }
    }

    /// As what a parenthesis follows.
    fn closed(self) -> String {
        if self.bodies.is_empty() { self.head } else { self.head + "\n" + &self.bodies }
    }
}

impl Maker<'_> {
    fn script(&mut self, depth: u32) -> String {
        let line = self.list(depth);
        let mut text = line.closed();
        if self.choices.rarely(12) {
            text.push_str(" # pd 'a");
        }
        if self.choices.rarely(60) {
            text = text.replace('\n', "\r\n") + "\r\n";
        }
        text
    }

    /// Statements joined.
    fn list(&mut self, depth: u32) -> Line {
        let mut line = self.statement(depth);
        for _ in 0..self.choices.below(3) {
            if self.budget == 0 {
                break;
            }
            const JOINS: [&str; 14] = [
                "; ", "\n", " && ", " || ", " | ", " & ", " |& ", ";", "&&", "|", "||\n", " && \\\n", " |\n",
                "\n# pd\n",
            ];
            let join = self.choices.one_of(&JOINS);
            self.piped = join.starts_with([' ', '|']) && join.contains('|') && !join.contains("||");
            let next = self.statement(depth);
            let (sign, behind) = join.split_once('\n').unwrap_or((join, ""));
            // `;&` is a word of `case`.
            let sign = if sign == ";" && next.head.starts_with('&') { "; " } else { sign };
            // `&` ends a statement itself.
            let ended = line.head.ends_with('&');
            if !ended {
                line.head.push_str(if line.bodies.is_empty() { sign } else { sign.trim_end_matches('\\') });
            }
            let has_line = !line.bodies.is_empty() && (next.head.contains('\n') || self.choices.rarely(3));
            if ended || has_line || join.contains('\n') {
                line.head.push('\n');
                line.head.push_str(&std::mem::take(&mut line.bodies));
                line.head.push_str(behind);
            }
            line.head.push_str(&next.head);
            line.bodies.push_str(&next.bodies);
        }
        if self.choices.rarely(24) {
            line.head.push_str(" &");
        }
        line
    }

    fn block(&mut self, depth: u32) -> String {
        self.list(depth).ended()
    }

    fn statement(&mut self, depth: u32) -> Line {
        self.budget = self.budget.saturating_sub(1);
        if depth == 0 || self.budget == 0 {
            return self.simple(0);
        }
        let inner = depth - 1;
        let piped = std::mem::take(&mut self.piped);
        let head = match self.choices.below(30) {
            0..=7 => return self.simple(depth),
            16 | 17 if piped => return self.simple(depth),
            8 => format!("({})", self.spaced(inner)),
            9 => format!("{{ {}}}", self.block(inner)),
            10 => {
                let (condition, then) = (self.block(inner), self.block(inner));
                match self.choices.below(3) {
                    0 => format!("if {condition}then {then}fi"),
                    1 => format!("if {condition}then {then}else {}fi", self.block(inner)),
                    _ => {
                        let (second, body) = (self.block(inner), self.block(inner));
                        format!("if {condition}then {then}elif {second}then {body}fi")
                    }
                }
            }
            11 => {
                let word = self.choices.one_of(&["while", "until"]);
                let (condition, body) = (self.block(inner), self.block(inner));
                format!("{word} {condition}do {body}break; done")
            }
            12 => {
                let (one, two) = (self.word(inner), self.word(inner));
                format!("for v in {one} {two}; do {}done", self.block(inner))
            }
            13 => self.looped_name(),
            14 => format!("for ((i = 0; i < 2; i++)); do {}done", self.block(inner)),
            15 => {
                let subject = self.word(inner);
                let (one, rest) = (self.list(inner).closed(), self.list(inner).closed());
                let end = self.choices.one_of(&[";;", ";&", ";;&"]);
                format!("case {subject} in\na|b*) {one}\n{end}\n(*) {rest}\n;; esac")
            }
            16 => format!("! {}", self.list_of_one(inner)),
            17 => {
                // `$(time { …` is no text to bash 5.2.
                let line = self.simple(inner);
                return Line { head: format!("time {}", line.head), ..line };
            }
            18 => format!("[[ -n {} ]] && {{ {}}}", self.word(inner), self.block(inner)),
            19 => format!("(( 1 + {} )) || {{ {}}}", self.number(inner), self.block(inner)),
            20 => {
                self.names += 1;
                let name = format!("f{}", self.names);
                let head = self.choices.one_of(&["() ", " () ", "()\n"]);
                format!("{name}{head}{{ {}}}; {name} a", self.block(inner))
            }
            21 => format!("{{ {}}} {}", self.block(inner), self.redirect(inner)),
            22 => format!("({}) {}", self.spaced(inner), self.redirect(inner)),
            23 => return self.run_text(inner),
            24 => format!("x={}", self.word(inner)),
            25 => self.by_variable(),
            26 => format!("cd {} && {{ {}}}", self.folder(), self.block(inner)),
            27 => {
                let by = self.choices.one_of(&["cd", "pushd"]);
                format!("{by} {}", self.folder())
            }
            28 => {
                let words = [self.word(inner), self.word(inner)];
                format!("y=({}); pa \"${{y[@]}}\"", words.join(" "))
            }
            _ => {
                let words = self.choices.one_of(&["exit", "set -e", "set -u", "true", "false", ":", "popd", "return"]);
                words.to_owned()
            }
        };
        Line::of(head)
    }

    /// Where only one statement may stand.
    fn list_of_one(&mut self, depth: u32) -> String {
        format!("{{ {}}}", self.block(depth))
    }

    fn looped_name(&mut self) -> String {
        let (one, two) = (self.choices.one_of(&PROGRAMS), self.choices.one_of(&PROGRAMS));
        self.programs.extend([one, two]);
        format!("for v in {one} {two}; do $v f; done")
    }

    fn by_variable(&mut self) -> String {
        let program = self.choices.one_of(&PROGRAMS);
        self.programs.push(program);
        // Grouped: joined to others, the assignment would be theirs alone.
        let text = match self.choices.below(6) {
            0 => format!("x={program}; $x f"),
            1 => format!("x={program}; \"$x\" a"),
            2 => format!("x={program}; ${{x}} a"),
            3 => format!("x='{program} a'; $x"),
            4 => format!("x={}; x=${{x}}{}; $x f", &program[..1], &program[1..]),
            _ => format!("read -r x <<< {program}; $x f"),
        };
        format!("{{ {text}; }}")
    }

    /// A simple command.
    fn simple(&mut self, depth: u32) -> Line {
        let program = self.choices.one_of(&PROGRAMS);
        self.programs.push(program);
        let mut head = String::new();
        if self.choices.rarely(10) {
            head.push_str(self.choices.one_of(&["A=1 ", "A=$x B=2 ", "A= "]));
        }
        let mut line = Line::default();
        if self.choices.rarely(12) {
            head.push_str(&self.redirect(depth));
            head.push(' ');
        }
        const WRAPPERS: [&str; 16] = [
            "env ",
            "command ",
            "exec ",
            "nohup ",
            "nice -n 1 ",
            "timeout 9 ",
            "stdbuf -oL ",
            "env A=1 B='2 3' ",
            "env -i ",
            "timeout -k 1 9s nice ",
            "command -p ",
            "setsid -w ",
            "env -u A ",
            "command -- ",
            "echo a | xargs ",
            "find . -maxdepth 0 -exec ",
        ];
        let wrapper = if self.choices.rarely(5) { self.choices.one_of(&WRAPPERS) } else { "" };
        head.push_str(wrapper);
        if program == "pa" && self.choices.rarely(12) {
            head.push_str("{pa,a}");
        } else {
            head.push_str(&self.spelled(program));
        }
        let is_file = matches!(program, "cat" | "touch");
        for _ in 0..self.choices.below(3) {
            head.push_str(self.choices.one_of(&[" ", "  ", "\t", " \\\n"]));
            let word = if is_file { self.file() } else { self.word(depth) };
            head.push_str(&word);
        }
        if wrapper.starts_with("find") {
            head.push_str(self.choices.one_of(&[" \\;", " {} \\;", " {} +", " ';'"]));
        }
        if self.choices.rarely(6) {
            head.push(' ');
            head.push_str(&self.redirect(depth));
        }
        if self.choices.rarely(12) {
            let (sign, body) = self.heredoc(depth);
            head.push_str(&sign);
            line.bodies = body;
        }
        line.head = head;
        line
    }

    /// The name of a program, in one of the ways in which it can be written.
    fn spelled(&mut self, name: &str) -> String {
        let (first, rest) = name.split_at(1);
        match self.choices.below(24) {
            0..=13 => name.to_owned(),
            14 => format!("'{name}'"),
            15 => format!("\"{name}\""),
            16 => format!("\\{name}"),
            17 => format!("{first}\\{rest}"),
            18 => format!("{first}''{rest}"),
            19 => format!("$'{name}'"),
            20 => format!("$'\\x{:02x}{rest}'", first.as_bytes()[0]),
            21 => format!("{first}\\\n{rest}"),
            22 => format!("{first}\"{rest}\""),
            _ => format!("$\"{name}\""),
        }
    }

    fn word(&mut self, depth: u32) -> String {
        const PLAIN: [&str; 24] = [
            "a",
            "-x",
            "b.c",
            "'a b'",
            "\"a  b\"",
            "a\\ b",
            "''",
            "$'a\\tb'",
            "a'; pd'",
            "\"\\$(pd)\"",
            "'$(pd)'",
            "\\$x",
            "{a,b}",
            "~",
            "~/a",
            "$x",
            "\"$x\"",
            "${x}",
            "*",
            "a*",
            "a=b",
            "\\#a",
            "a#b",
            "\"a\nb\"",
        ];
        if depth == 0 || self.budget == 0 || self.choices.below(3) < 2 {
            return self.choices.one_of(&PLAIN).to_owned();
        }
        let inner = depth - 1;
        match self.choices.below(14) {
            0 => format!("$({})", self.spaced(inner)),
            1 => format!("\"$({})\"", self.spaced(inner)),
            2 => {
                let text = self.list(inner).closed();
                format!("`{}`", escaped(&text, &['\\', '`', '$']))
            }
            3 => format!("<({})", self.spaced(inner)),
            4 => format!("${{x:-$({})}}", self.spaced(inner)),
            5 => format!("\"${{x:-a $({}) b}}\"", self.spaced(inner)),
            6 => format!("$(( {} ))", self.number(inner)),
            7 => format!("a$({})b", self.spaced(inner)),
            8 => format!("\"a 'b $({}) c'\"", self.spaced(inner)),
            9 => format!("${{z:=$({})}}", self.spaced(inner)),
            10 => format!("${{x#$({})}}", self.spaced(inner)),
            11 => format!("{{a,$({})}}", self.spaced(inner)),
            12 => format!("${{x/a/\"$({})\"}}", self.spaced(inner)),
            _ => format!(">({})", self.spaced(inner)),
        }
    }

    /// `$((` is another thing than `$( (`.
    fn spaced(&mut self, depth: u32) -> String {
        let text = self.list(depth).closed();
        if text.starts_with('(') { format!(" {text}") } else { text }
    }

    fn number(&mut self, depth: u32) -> String {
        if depth == 0 || self.budget == 0 {
            return self.choices.one_of(&["1", "2 * 3", "(4)"]).to_owned();
        }
        match self.choices.below(3) {
            0 => format!("0$({})", self.spaced(depth - 1)),
            1 => format!("q[0$({})]", self.spaced(depth - 1)),
            _ => "(1 + 2) * 3".to_owned(),
        }
    }

    fn file(&mut self) -> String {
        const FILES: [&str; 20] = [
            "f",
            "a/f",
            "./f",
            "../f",
            "a/b/f",
            "'f'",
            "{f,g}",
            "*",
            "a/*",
            "~/f",
            "$PWD/f",
            "\"$HOME\"/f",
            "l/f",
            "l/../f",
            "a/../f",
            "-",
            "--",
            "?",
            "$x",
            "a//f",
        ];
        self.choices.one_of(&FILES).to_owned()
    }

    fn folder(&mut self) -> String {
        const FOLDERS: [&str; 13] =
            ["a", "a/b", "..", ".", "l", "~", "-", "\"$x\"", "none", "'a'", "l/..", "\"$PWD/a\"", "-- a"];
        self.choices.one_of(&FOLDERS).to_owned()
    }

    fn redirect(&mut self, depth: u32) -> String {
        const REDIRECTS: [&str; 16] = [
            ">o1",
            "2>&1",
            ">/dev/null",
            ">>o2",
            "2>/dev/null",
            "<f",
            "&>o3",
            "> \"o 4\"",
            ">|o5",
            "</dev/null",
            "3>o6",
            ">&2",
            "<<< a",
            "<>o7",
            ">a/o8",
            ">$x",
        ];
        match self.choices.below(18) {
            16 if depth > 0 && self.budget > 0 => format!("<<< \"$({})\"", self.spaced(depth - 1)),
            17 if depth > 0 && self.budget > 0 => format!("< <({})", self.spaced(depth - 1)),
            choice => REDIRECTS[choice as usize % REDIRECTS.len()].to_owned(),
        }
    }

    /// The sign of a heredoc, and its body with its end.
    fn heredoc(&mut self, depth: u32) -> (String, String) {
        self.names += 1;
        let end = format!("E{}", self.names);
        match self.choices.below(5) {
            0 => (format!(" <<'{end}'"), format!("$(pd)\n'\n`pd`\n{end}\n")),
            1 => (format!(" <<\\{end}"), format!("a $(pd\n{end}\n")),
            2 => (format!(" <<-{end}"), format!("\ta\n\t{end}\n")),
            3 if depth > 0 && self.budget > 0 => {
                let text = self.spaced(depth - 1);
                (format!(" << {end}"), format!("a 'b \" $({text}) c\n{end}\n"))
            }
            _ => (format!(" <<{end}"), format!("a \\$(pd) $x\n{end}\n")),
        }
    }

    /// A text that runs from within a string or a heredoc.
    fn run_text(&mut self, depth: u32) -> Line {
        let known = self.programs.len();
        let text = self.script(depth);
        let text = text.trim_end_matches('\n');
        let way = self.choices.below(10);
        if matches!(way, 7 | 8) {
            // Here a shell runs what words do not tell, and is judged for that.
            self.programs.truncate(known);
        }
        match way {
            0 => Line::of(format!("bash -c {}", self.quoted(text))),
            1 => Line::of(format!("eval {}", self.quoted(text))),
            2 => Line::of(format!("sh -c {}", self.quoted(text))),
            3 => Line::of(format!("bash <<< {}", self.quoted(text))),
            4 => Line::of(format!("trap {} EXIT", self.quoted(text))),
            5 => {
                self.names += 1;
                let end = format!("T{}", self.names);
                Line { head: format!("bash <<'{end}'"), bodies: format!("{text}\n{end}\n") }
            }
            6 => Line::of(format!("env A=1 bash -c {} pd a", self.quoted(text))),
            7 => Line::of(format!("printf '%s\\n' {} | bash", self.quoted(text))),
            8 => Line::of(format!("source <(printf '%s\\n' {})", self.quoted(text))),
            _ => Line::of(format!("timeout 9 bash -euo pipefail -c {}", self.quoted(text))),
        }
    }

    fn quoted(&mut self, text: &str) -> String {
        match self.choices.below(3) {
            0 => format!("'{}'", text.replace('\'', "'\\''")),
            1 => format!("\"{}\"", escaped(text, &['\\', '"', '$', '`'])),
            _ => format!("$'{}'", escaped(text, &['\\', '\'']).replace('\n', "\\n").replace('\t', "\\t")),
        }
    }
}

fn escaped(text: &str, signs: &[char]) -> String {
    text.chars().flat_map(|c| signs.contains(&c).then_some('\\').into_iter().chain([c])).collect()
}
