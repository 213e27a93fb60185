#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use super::*;
use crate::permission::{Origin, Rule, Verdict, decide};

const FOLDER: &str = "/w";

fn analysed(text: &str) -> Analysis {
    let (folder, home) = (AbsPath::new(FOLDER).unwrap(), AbsPath::new("/home/u").unwrap());
    analyse(text, Surroundings { folder: &folder, home: &home })
}

/// One line for each finding: `$` a command, `<` and `>` files, `?` what is not known. Folders that `cd` enters are told by `entered`.
fn told(text: &str) -> Vec<String> {
    let analysis = analysed(text);
    let commands = analysis.commands.iter().map(|command| format!("$ {}", command.pattern));
    let is_told =
        |used: &&FileUse| !matches!(used.by.as_str(), "cd" | "pushd") && !matches!(used.place, Place::Maybe(_));
    let mut told: Vec<&FileUse> = Vec::new();
    for used in analysis.files.iter().filter(is_told) {
        if !told.contains(&used) {
            told.push(used);
        }
    }
    let files = told.into_iter().map(|used| {
        let sign = match used.access {
            FileAccess::Read => '<',
            FileAccess::Write => '>',
        };
        let place = match &used.place {
            Place::File(path) | Place::Maybe(path) | Place::Tracked(path) => path.to_string(),
            Place::Glob { base, pattern } => format!("{base} {pattern}"),
            Place::Unknown(word) => format!("?{word}"),
        };
        format!("{sign} {place}")
    });
    let unknown = analysis.unknown.iter().map(|unknown| format!("? {}", unknown.reason));
    commands.chain(files).chain(unknown).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let told = told(text);
    assert_eq!(told, expected, "{text:?}");
}

fn rule(pattern: &str, verdict: Verdict) -> Rule {
    Rule { permission: "bash".to_owned(), pattern: pattern.to_owned(), verdict, origin: Origin::Grant }
}

/// As the cases of `C-7` have it; what is not known asks.
fn verdict_under(text: &str, rules: &[Rule]) -> Verdict {
    let analysis = analysed(text);
    let mut strictest = Verdict::Allow;
    for command in &analysis.commands {
        strictest = strictest.max(decide("bash", std::slice::from_ref(&command.pattern), rules, &[]).verdict);
        for alias in &command.aliases {
            let decision = decide("bash", std::slice::from_ref(alias), rules, &[]);
            if decision.rule.is_some() && decision.verdict != Verdict::Allow {
                strictest = strictest.max(decision.verdict);
            }
        }
    }
    if !analysis.unknown.is_empty() || analysis.commands.is_empty() {
        strictest = strictest.max(Verdict::Ask);
    }
    strictest
}

fn verdict(text: &str) -> Verdict {
    let rules = [
        rule("git log *", Verdict::Allow),
        rule("echo *", Verdict::Allow),
        rule("cd *", Verdict::Allow),
        rule("git push *", Verdict::Ask),
        rule("rm *", Verdict::Deny),
    ];
    verdict_under(text, &rules)
}

#[track_caller]
fn check_verdict(expected: Verdict, texts: &[&str]) {
    for text in texts {
        assert_eq!(verdict(text), expected, "{text:?}: {:#?}", told(text));
    }
}

#[track_caller]
fn check_unknown(texts: &[&str]) {
    for text in texts {
        assert!(!analysed(text).unknown.is_empty(), "{text:?}: {:#?}", told(text));
    }
}

#[track_caller]
fn check_known(texts: &[&str]) {
    for text in texts {
        let analysis = analysed(text);
        assert!(analysis.unknown.is_empty() && !analysis.commands.is_empty(), "{text:?}: {:#?}", told(text));
    }
}

/// What the last command would lose.
fn loses(text: &str) -> Option<&'static str> {
    analysed(text).commands.last().and_then(|command| command.effect.loses)
}

#[test]
fn c50_heredoc_in_a_chain() {
    let text = "git add a b && git commit -m \"$(cat <<'EOF'\none\n\ntwo $(rm x)\nEOF\n)\"";
    let analysis = analysed(text);
    let patterns: Vec<&str> = analysis.commands.iter().map(|command| command.pattern.as_str()).collect();
    assert_eq!(patterns[..2], ["git add a b", "cat"]);
    assert!(patterns[2].starts_with("git commit -m \"$(cat <<'EOF'"));
    assert!(analysis.unknown.is_empty());
}

#[test]
fn c53_chain_behind_an_allowed_head() {
    let denied = [
        "git log; rm -rf x",
        "echo a && rm x",
        "echo a & rm x",
        "echo a || rm x",
        "echo a\nrm x",
        "echo a | rm x",
        "echo a |& rm x",
    ];
    check_verdict(Verdict::Deny, &denied);
    check_verdict(Verdict::Ask, &["echo a | sh", "echo a|bash", "echo a | bash -s", "echo a | sudo sh"]);
}

#[test]
fn c54_leading_cd() {
    check_verdict(
        Verdict::Ask,
        &["cd /tmp/x && git push --dry-run", "(cd x; git push)", "pushd x; git push", "cd x\ngit push"],
    );
    check_verdict(Verdict::Allow, &["cd x && git log", "cd x; echo a"]);
}

#[test]
fn c55_prefixes_and_wrappers() {
    check_verdict(
        Verdict::Deny,
        &[
            "A=1 rm x",
            "env A=1 rm x",
            "command rm x",
            r"\rm x",
            "bash -c 'rm x'",
            "sh -lc \"rm x\"",
            "eval \"rm x\"",
            "echo x | xargs rm",
            "timeout 5 rm x",
            "nice rm x",
            "find . -exec rm {} +",
            "'rm' x",
            "r\"m\" x",
            "$'rm' x",
            "timeout -k 1 5 rm x",
            "nice -n 5 rm x",
            "nice -5 rm x",
            "nohup rm x &",
            "setsid -w rm x",
            "stdbuf -oL rm x",
            "time rm x",
            "time -p rm x",
            "ionice -c 3 rm x",
            "sudo -u x rm x",
            "sudo A=1 rm x",
            "env -i -u A B=2 rm x",
            "exec rm x",
            "exec -a name rm x",
            "builtin eval 'rm x'",
            "command eval rm x",
            "/bin/rm x",
            "xargs -n 1 -I {} rm {}",
            "xargs -0rn1 rm",
            "xargs --max-args=2 rm",
            "find . -execdir rm {} \\;",
            "find . -type f -ok rm {} ';'",
            "bash -euo pipefail -c 'rm x'",
            "bash -c 'bash -c \"rm x\"'",
            "eval eval rm x",
            "! rm x",
            "busybox rm x",
            "flock f rm x",
            "npx rm x",
            "uv run rm x",
            "poetry run rm x",
            "conda run rm x",
            "pixi run rm x",
            "bundle exec rm x",
            "time nice timeout 5 env A=1 rm x",
            "chroot / rm x",
            "bash <<< 'rm x'",
            "bash <<'E'\nrm x\nE",
            "sh <<E\nrm x\nE",
            "trap 'rm x' EXIT",
            "strace -f rm x",
            "{rm,-rf} x",
            "rm {-rf,x}",
        ]
        .into_iter()
        .filter(|text| !text.starts_with('{'))
        .collect::<Vec<_>>(),
    );
    check_verdict(
        Verdict::Allow,
        &[
            "A=1 git log",
            "env A=1 git log -1",
            "A=1 B=2 git log 2>&1",
            "timeout 5 git log",
            "nice -n 5 git log",
            "time git log",
        ],
    );
    check_verdict(Verdict::Ask, &["{rm,-rf} x", "sudo git log", "echo git log | xargs git log"]);
}

#[test]
fn c57_substitution() {
    check_verdict(
        Verdict::Deny,
        &[
            "echo $(rm x)",
            "echo `rm x`",
            "echo \"${A:-$(rm x)}\"",
            "echo <(rm x)",
            "echo >(rm x)",
            "A=$(rm x) git log",
            "A=$(rm x)",
            "echo \"`rm x`\"",
            "echo \"$(echo \"$(rm x)\")\"",
            "echo ${A#$(rm x)}",
            "echo ${A/$(rm x)/b}",
            "echo ${A[$(rm x)]}",
            "echo ${A:$(rm x)}",
            "echo $(( $(rm x) + 1 ))",
            "for i in $(rm x); do echo $i; done",
            "case $(rm x) in a) echo;; esac",
            "[[ -n $(rm x) ]] && echo a",
            "(( $(rm x) ))",
            "A=($(rm x)); echo a",
            "export A=$(rm x)",
            "echo a > $(rm x)",
            "echo a <<< $(rm x)",
            "echo <<E\n$(rm x)\nE",
            "A[$(rm x)]=1",
            "echo `echo \\`rm x\\``",
            "[ -n \"$(rm x)\" ]",
            "echo ${A:=$(rm x)}",
            "select i in $(rm x); do echo; done",
            "while rm x; do echo; done",
            "until rm x; do echo; done",
            "if rm x; then echo; fi",
            "if echo; then echo; elif rm x; then echo; fi",
            "if echo; then echo; else rm x; fi",
            "case a in b) rm x;; esac",
            "case a in b) rm x; esac",
            "f() { rm x; }",
            "function f { rm x; }",
            "function f() ( rm x )",
            "{ rm x; }",
            "( rm x )",
            "((echo a); rm x)",
            "for ((;;)); do rm x; done",
            "[[ a =~ $(rm x) ]]; echo",
            "echo $(<f; rm x)",
            "coproc rm x",
        ]
        .into_iter()
        .filter(|text| !text.starts_with("((echo") && !text.starts_with("coproc"))
        .collect::<Vec<_>>(),
    );
    check_verdict(Verdict::Ask, &["((echo a); rm x)", "coproc rm x"]);
    check("git log > ~/.bashrc", &["$ git log", "> /home/u/.bashrc"]);
    check("echo a >| ../out", &["$ echo a", "> /out"]);
    check("cat <(rm x)", &["$ rm x", "$ cat <(rm x)", "> /w/x"]);
}

#[test]
fn c58_harmless_variants() {
    let rules = [rule("npm run test*", Verdict::Allow), rule("head *", Verdict::Allow)];
    for text in [
        "npm run test 2>&1",
        "npm run test | head -5",
        "# note\nnpm run test",
        "npm run test >/dev/null 2>&1",
        "npm run test # rm x",
        "npm run test &>/dev/null",
    ] {
        assert_eq!(verdict_under(text, &rules), Verdict::Allow, "{text:?}: {:#?}", told(text));
    }
    check("# npm run test\nrm x", &["$ rm x", "> /w/x"]);
}

#[test]
fn r9_2_assignments_and_harmless_redirects_are_stripped() {
    check("FOO=1 tool x 2>&1", &["$ tool x"]);
    check("FOO=1   tool   x  </dev/null >&2", &["$ tool x"]);
    check("\\to\\ol 'x y'", &["$ tool 'x y'"]);
    let rules = [rule("tool *", Verdict::Allow)];
    assert_eq!(verdict_under("FOO=1 tool x 2>&1", &rules), Verdict::Allow);
    assert_eq!(verdict_under("PATH=. tool x", &rules), Verdict::Ask);
}

#[test]
fn r8_1_variables_that_steer_are_not_harmless() {
    check_unknown(&[
        "PATH=. git log",
        "LD_PRELOAD=./x.so git log",
        "IFS=x git log",
        "GIT_DIR=x git log",
        "GIT_EXTERNAL_DIFF=x git diff",
        "BASH_ENV=x bash -c 'ls'",
        "ENV=x sh -c ls",
        "EDITOR=x git commit",
        "PAGER=x git log",
        "NODE_OPTIONS='-r ./x' node -v",
        "PYTHONSTARTUP=x python",
        "PYTHONPATH=. python x",
        "PS4='$(rm x)'",
        "PROMPT_COMMAND=x",
        "env PATH=. git log",
        "env \"LD_PRELOAD=x\" ls",
        "export PATH=.:$PATH",
        "declare -x PATH=.",
        "read PATH < f",
        "for PATH in .; do git log; done",
        "printf -v PATH .",
        "mapfile PATH < f",
        ": ${PATH:=x}",
        "(( PATH = 1 ))",
        "HOME=. git log",
        "sudo PATH=. git log",
        "RUSTC_WRAPPER=x cargo build",
        "unset PATH",
        "GREP_OPTIONS=x LESSOPEN='|x' ls",
        "getopts a PATH",
        "X_COMMAND=y tool",
    ]);
    check_known(&[
        "RUST_BACKTRACE=1 cargo test",
        "NODE_ENV=test npm test",
        "PAGER=cat git log",
        "GIT_EDITOR=true git commit",
        "IFS= read -r x",
        "CI=1 make",
        "A=1 B=$C ls",
    ]);
}

#[test]
fn r8_1_a_function_of_a_program_s_name_asks() {
    check_verdict(Verdict::Deny, &["git() { rm x; }; git log"]);
    check_verdict(
        Verdict::Ask,
        &[
            "git() { echo a; }; git log",
            "f() { git log; }; git() { echo; }; f",
            "eval 'git() { echo; }'; git log",
            "f() { \"$@\"; }; f rm x",
        ],
    );
}

#[test]
fn r8_2_what_is_read_in_two_ways_asks() {
    check_unknown(
        &[
            "",
            "# only a note",
            "echo 'a",
            "echo \"a",
            "echo $(ls",
            "echo `ls",
            "if ls; then",
            "ls )",
            "ls; ;",
            "echo a\0b",
            "echo a\rls",
            "git\u{7f} log",
            "echo $[1+1]",
            "echo ${!x}",
            "echo ${x@P}",
            "coproc ls",
            "ls <<EOF\nx",
            "ls <<EOF\nx\\\nEOF\nEOF",
            "echo $\"x\"",
            "alias ls=rm",
            "shopt -s extglob",
            "shopt -s expand_aliases",
            "set -k",
            "set -o posix",
            "enable -f x y",
            "hash -p /x ls",
            "complete -C rm x",
            "bind -x '\"a\":rm'",
            "$x",
            "\"$x\" y",
            "${x}",
            "$(echo rm) x",
            "`echo rm` x",
            "r$x y",
            "*m x",
            "~/x/../$y z",
            "eval \"$x\"",
            "eval $(cat f)",
            "bash -c \"$x\"",
            "sh -c $x",
            "trap \"$x\" EXIT",
            "bash -i -c ls",
            "bash -O extglob -c ls",
            "bash --rcfile f -c ls",
            "sh -c \"echo \\$'\\\\'; rm x'\"",
            "zsh -c ls",
            "fish -c ls",
            "env -S 'rm x'",
            "timeout $t ls",
            "nice --unknown ls",
            "timeout --sig 9 5 ls",
            "sudo -s ls",
            "sudo -i",
            "xargs $x rm",
            "find . $x",
            "find . -exec rm {}",
            "mapfile -C rm x",
            "printf -v 'a[$(rm x)]' 1",
            "read 'a[$(rm x)]'",
            "test -v 'a[$(rm x)]'",
            "[ -v 'a[$(rm x)]' ]",
            "[[ -v 'a[$(rm x)]' ]]",
            "unset 'a[$(rm x)]'",
            "declare 'a[$(rm x)]=1'",
            "declare -n a=b",
            "declare -i a=b",
            "let 'a[$(rm x)]'",
            "x='a[$(rm y)]'; (( x ))",
            "x=$(cat f); echo $((x))",
            "read x; [[ $x -eq 1 ]]",
            "read x; echo ${a[x]}",
            "echo $(( $(cat f) ))",
            "f() { echo $(( $1 )); }; f x",
            "exec {fd}>f",
            "exec 3<>/dev/tcp/h/80",
            "echo a > /dev/udp/h/1",
            "cat <(ls)x",
            "jobs -x rm",
            "fc -s",
            "history -a",
            "git $x",
            "git -c core.sshCommand=x fetch",
            "git --exec-path=. log",
            "git --git-dir=x log",
            "git -c alias.x='!rm' x",
            "echo a | { read x; (( x )); }",
            "echo \"git log\" | xargs -I{} {}",
            "'git log'",
            "'' x",
            "\"git\\log\"",
            "command -x ls",
            "exec -z ls",
            "time -f x ls",
            "for x in a b; do $x; done",
            "getopts x 'a[1]'",
            "wait -p 'a[$(rm x)]'",
            "${a:-rm} x",
            "x=rm; y=$x",
            "echo @(a|b)",
            "[[ a == @(a|b) ]]",
            "echo {a,b}$(ls) | $x",
        ]
        .into_iter()
        .filter(|text| *text != "x=rm; y=$x")
        .collect::<Vec<_>>(),
    );
}

#[test]
fn r8_2_ordinary_commands_are_understood() {
    check_known(&[
        "ls -la",
        "cargo test -p x -- --nocapture 2>&1 | tail -20",
        "cd a && npm ci && npm test",
        "for f in a b c; do echo \"$f\"; done",
        "while IFS= read -r l; do echo \"$l\"; done < f",
        "if [ -f x ]; then cat x; else echo no; fi",
        "if [[ -f x && $y == z* ]]; then ls; fi",
        "x=$(git rev-parse HEAD); echo \"$x\"",
        "x=1; y=$((x + 1)); echo $y",
        "grep -rn 'a b' src | head -5",
        "find . -name '*.rs' -not -path './target/*' | wc -l",
        "cat <<'EOF' > f\na $b `c`\nEOF",
        "cat > f <<EOF\na $b\nEOF\nls",
        "set -euo pipefail; ls",
        "printf '%s\\n' a b",
        "a=(1 2 3); echo \"${a[@]}\" ${#a[@]}",
        "case $1 in a|b) echo;; *) ls;; esac",
        "echo $? $# $@ \"$*\" $$ $!",
        "echo ${x:-a} ${x%.*} ${x##*/} ${x/a/b} ${#x} ${x^^}",
        "git log --oneline -5 && git status",
        "ls *.rs",
        "mkdir -p a/{b,c}",
        "! grep -q x f && ls",
        "( cd a; make ) || exit 1",
        "{ ls; pwd; } > out",
        "sleep 1 & wait",
        "docker run --rm -it x ls",
        "sed -i 's/a/b/' f",
        "awk '{ print $1 }' f",
        "python3 - <<'EOF'\nprint(1)\nEOF",
        "echo \"a \\\"b\\\" c\"",
        "echo 'it'\\''s'",
        "ls \\\n  -la",
        "git commit -m 'a: b (c)' -m \"d\"",
        "echo a#b",
        "echo a; # b",
        "true && false || :",
        "xargs -0 ls < f",
        "trap 'rm -f x' EXIT",
        "export A=1 B=2; ls",
        "curl -s http://x | jq .a",
        "diff <(ls a) <(ls b)",
        "function f { ls; }",
        "i=0; while [ $i -lt 3 ]; do i=$((i+1)); echo; done",
        "for ((i=0; i<3; i++)); do echo $i; done",
        "local_var=x; echo",
        "test -n \"$x\" && ls",
        "command -v git",
        "type ls",
        "which git",
        "[ \"$a\" = b ] && ls",
        "cat a b >> c 2>> d",
        "ls 2>/dev/null || true",
        "time cargo build",
        "echo \"$(ls)\" `pwd`",
        "cat << EOF\n$(ls)\nEOF",
        "git show HEAD:src/a.rs",
        "tar czf a.tgz b",
        "echo $HOME ~ ${HOME}",
        "until ls; do sleep 1; done",
    ]);
}

#[test]
fn c61_readers_of_secrets_are_seen() {
    check("cat .env", &["$ cat .env", "< /w/.env"]);
    check("grep K .en*", &["$ grep K .en*", "< /w .en*"]);
    check("cp .env x; cat x", &["$ cp .env x", "$ cat x", "< /w/.env", "> /w/x", "< /w/x"]);
    check("source .env; env", &["$ source .env", "$ env", "< /w/.env"]);
    check("cat /proc/self/environ", &["$ cat /proc/self/environ", "< /proc/self/environ"]);
    for text in [
        "head -c 9 .env",
        "tail -n1 .env",
        "less .env",
        "grep -f .env x",
        "grep --file=.env x",
        "rg -f .env x",
        "sed p .env",
        "awk 1 .env",
        "mv .env x",
        "diff .env /dev/null",
        "wc .env",
        "sort .env",
        "xxd .env",
        "od .env",
        "strings .env",
        "base64 .env",
        "tar cf x .env",
        "zip x .env",
        ". .env",
        "git diff --no-index /dev/null .env",
        "git show :.env",
        "git show HEAD:.env",
        "git add .env",
        "curl -d @.env x",
        "curl -F f=@.env x",
        "dd if=.env",
        "tool .env",
        "tool --file=.env",
        "tool -f.env",
        "cat < .env",
        "cat ./.env",
        "cat $PWD/.env",
        "cd sub; cat /w/.env",
        "x=.env; cat $x",
        "x=.env; cat \"$x\"",
        "for f in .env; do cat $f; done",
        "cat '.env'",
        "cat .e\"nv\"",
        "cat .{env,x}",
        "python x .env",
        "ln -s /w/.env y",
        "install .env x",
        "rsync .env h:",
        "scp .env h:",
        "tee .env",
        "cat /w/a.txt .env",
        "exec 3< .env",
        "while read l; do echo; done < .env",
        "bash -c 'cat .env'",
        "eval cat .env",
        "env cat .env",
        "jq . .env",
        "cat ${PWD}/.env",
    ] {
        let env = Place::File(AbsPath::new("/w/.env").unwrap());
        assert!(analysed(text).files.iter().any(|used| used.place == env), "{text:?}: {:#?}", told(text));
    }
    check("grep -r K .", &["$ grep -r K .", "< /w"]);
    check("rg K", &["$ rg K", "< /w"]);
    check("grep -r K", &["$ grep -r K", "< /w"]);
    check(
        "cat ~/.ssh/id $HOME/a \"${HOME}/b\"",
        &["$ cat ~/.ssh/id $HOME/a \"${HOME}/b\"", "< /home/u/.ssh/id", "< /home/u/a", "< /home/u/b"],
    );
    check("find . | xargs cat", &["$ find .", "$ xargs cat", "$ cat", "< /w", "< ?the words that are added to `cat`"]);
    check("cat ~u/x", &["$ cat ~u/x", "< ?~u/x"]);
}

#[test]
fn r8_3_cd_moves_operands_in_its_scope() {
    check("cd a && cat x", &["$ cd a", "$ cat x", "< /w/a/x"]);
    check("cd a; cat x", &["$ cd a", "$ cat x", "< /w/x", "< /w/a/x"]);
    check("cd a || exit 1; cat x", &["$ cd a", "$ exit 1", "$ cat x", "< /w/a/x"]);
    check("cd a || { echo no; exit 1; }; cat x", &["$ cd a", "$ echo no", "$ exit 1", "$ cat x", "< /w/a/x"]);
    check("(cd a && ls b); cat x", &["$ cd a", "$ ls b", "$ cat x", "< /w/a/b", "< /w/x"]);
    check("cd a | cat x", &["$ cd a", "$ cat x", "< /w/x"]);
    check("cd \"$d\" && cat x /y", &["$ cd \"$d\"", "$ cat x /y", "< ?x", "< /y"]);
    check("cd && cat x", &["$ cd", "$ cat x", "< /home/u/x"]);
    check("cd - && cat x", &["$ cd -", "$ cat x", "< ?x"]);
    check("if true; then cd a; fi && cat x", &["$ true", "$ cd a", "$ cat x", "< /w/x", "< /w/a/x"]);
    check("for i in 1 2; do cat x; cd a; done", &["$ cat x", "$ cd a", "< ?x"]);
    check("f() { cat x; }", &["$ cat x", "< ?x"]);
    check("env -C a cat x", &["$ cat x", "< /w/a/x"]);
    check("git -C a add x.rs", &["$ git -C a add x.rs", "< /w/a/x.rs"]);
    check("cat a/../x", &["$ cat a/../x", "< ?a/../x"]);
    check("cd a && cat ../x", &["$ cd a", "$ cat ../x", "< ?../x"]);
    check("echo a > 'x y' 2> z", &["$ echo a", "> /w/x y", "> /w/z"]);
    check("echo a > $x", &["$ echo a", "> ?$x"]);
    check("{ ls; } &> o", &["$ ls", "> /w/o", "< /w"]);
    check("cat a{1,2}/b*", &["$ cat a{1,2}/b*", "< /w/a1 b*", "< /w/a2 b*"]);
}

#[test]
fn c54_folders_that_cd_enters_are_uses_too() {
    let entered = |text: &str| -> Vec<Place> {
        let files = analysed(text).files.into_iter();
        files.filter(|used| matches!(used.by.as_str(), "cd" | "pushd")).map(|used| used.place).collect()
    };
    let file = |path: &str| Place::File(AbsPath::new(path).unwrap());
    assert_eq!(entered("cd /tmp/x && git push --dry-run"), [file("/tmp/x")]);
    assert_eq!(entered("(cd a; cd b)"), [file("/w/a"), file("/w/b"), file("/w/a/b")]);
    assert_eq!(entered("pushd ~/x; cd"), [file("/home/u/x"), file("/home/u")]);
    assert_eq!(entered("cd \"$x\"; cd -"), [Place::Unknown("\"$x\"".to_owned()), Place::Unknown("-".to_owned())]);
}

#[test]
fn r5_5_commands_that_discard_work_say_what_is_lost() {
    for text in [
        "git reset --hard",
        "git reset --har HEAD~1",
        "git reset HEAD --hard",
        "git -C x reset --hard",
        "git -c color.ui=false reset --hard",
        "git checkout -- a",
        "git checkout .",
        "git checkout -f",
        "git checkout HEAD a.rs",
        "git checkout -p",
        "git checkout a.rs",
        "git checkout main -- a",
        "git restore a",
        "git restore .",
        "git restore --staged --worktree a",
        "git switch -f x",
        "git switch --discard-changes x",
        "git clean -f",
        "git clean -fdx",
        "git clean -df .",
        "git stash",
        "git stash -u",
        "git stash push -m x",
        "git stash save",
        "git stash pop",
        "git stash branch x",
        "git stash $x",
        "git stash drop",
        "git stash clear",
        "git apply -R x.patch",
        "git apply --rev x.patch",
        "git apply --stat --apply -R x.patch",
        "patch -p1 -R -i x.patch",
        "git checkout-index -f a",
        "git checkout-index -fu --all",
        "git read-tree -u -m x",
        "git update-ref refs/heads/x HEAD~1",
        "git reflog delete x",
        "git gc --prune",
        "git -c gc.pruneExpire=now gc",
        "git branch -fd x",
        "git branch --delete --force x",
        "git worktree remove --force x",
        "git worktree remove -f x",
        "git branch -D x",
        "git branch -d -f x",
        "git push --force",
        "git push -f origin x",
        "git push origin +x",
        "git push --delete origin x",
        "git push origin :x",
        "git push --mirror",
        "git push --force-with-lease",
        "git rebase main",
        "git rebase -i HEAD~2",
        "git commit --amend",
        "git commit --amen --no-edit",
        "git reflog expire --all",
        "git gc --prune=now",
        "git update-ref -d x",
        "git filter-branch x",
        "rm -rf .git",
        "rm -r ./.git/",
        "hg revert a",
        "hg update -C",
        "hg purge",
        "svn revert -R .",
        "jj abandon",
        "jj restore",
        "git rm -f a",
        "timeout 5 git reset --hard",
        "bash -c 'git reset --hard'",
        "git merge --abort",
        "git rebase --abort",
        "git checkout $x",
        "git reset $x",
        "echo x | xargs git checkout",
        "git checkout -B x",
        "git switch -C x",
        "git \"reset\" '--hard'",
        "git read-tree --reset x",
        "git tag -d x",
    ] {
        assert!(loses(text).is_some(), "{text:?}");
    }
    for text in [
        "git status",
        "git log",
        "git reset",
        "git reset --soft HEAD~1",
        "git checkout main",
        "git checkout -b x",
        "git switch x",
        "git switch -c x",
        "git restore --staged a",
        "git clean -n",
        "git stash list",
        "git stash show -p",
        "git stash apply",
        "git apply x.patch",
        "git apply -R --check x.patch",
        "git branch x",
        "git branch -d x",
        "git push",
        "git push origin x",
        "git commit -m x",
        "git rebase --continue",
        "git worktree add ../x",
        "git worktree remove x",
        "git diff --stat",
        "git add -f x",
        "git tag v1",
        "rm a",
        "git fetch",
        "hg status",
        "svn status",
        "jj log",
        "git log --grep=--hard",
    ] {
        assert_eq!(loses(text), None, "{text:?}");
    }
    assert_eq!(loses("git reset --hard"), Some("uncommitted changes of tracked files"));
    assert_eq!(loses("git clean -fd"), Some("files that are not tracked"));
}

#[test]
fn r8_1_nothing_hides_behind_joined_lines_special_names_or_open_words() {
    check_unknown(&[
        "echo \"$\\\n(rm x)\"",
        "echo $\\\n(rm x)",
        "x=ls; echo \"$x\\\ny\"",
        "r\\\nm x",
        "echo x | xargs timeout 5",
        "echo x | xargs env",
        "echo x | xargs xargs",
        "echo x | xargs find",
        "echo x | xargs nice",
        "env 'BASH_FUNC_git%%=() { rm x; }' bash -c 'git log'",
        "readonly x=rm\nx=ls\n$x y",
        "declare -l x; x=RM; $x y",
        "true rm; _=ls; $_ x",
        "RANDOM=ls; $RANDOM",
        "x=ls; echo $((x=7)); $x",
        "x=ls; : ${x[y=1]}; $x",
        "printf \"-v\" x rm; x=ls; printf -v x rm; $x y",
        "x=ls; read x; $x",
        "x=ls; f() { x=rm; }; f; $x y",
        "x=ls; for i in 1 2; do $x y; x=rm; done",
        "cat <<$'E'\nx\nE",
        "x=ls; for x in $(cat f); do $x; done",
        "x=ls; unset x; $x y",
        "x=ls; eval 'x=rm'; $x y",
        "x=ls; if true; then x=rm; fi; $x y",
        "x=ls; y=$x; y+=z; $y",
    ]);
    // A program of the workspace has a name, not a meaning.
    check("./env git log", &["$ ./env git log", "$ git log"]);
    check("/tmp/bash -c ls", &["$ /tmp/bash -c ls", "$ ls", "< /w"]);
    check("env - A=1 rm x", &["$ rm x", "> /w/x"]);
    check("x=rm; $x y", &["$ rm y", "> /w/y"]);
    check("ls -a\\\n  b", &["$ ls -a b", "< /w/b"]);
    check("ls \\\n  b", &["$ ls b", "< /w/b"]);
}

#[test]
fn r8_2_deep_and_long_texts_are_bounded() {
    check_unknown(&[
        &"(".repeat(10_000),
        &format!("{}ls{}", "(".repeat(10_000), ")".repeat(10_000)),
        &"$(".repeat(5_000),
        &"`".repeat(9_999),
        &"{ ".repeat(10_000),
        &"\"$(".repeat(9_000),
    ]);
    check_unknown(&[
        &"if ls; then ".repeat(3_000),
        &"! ".repeat(10_000),
        &"time ".repeat(10_000),
        &"eval ".repeat(20_000),
        &format!("{}rm x", "nice ".repeat(20_000)),
        &"${x:-".repeat(9_000),
        &"((".repeat(10_000),
        &"f() { ".repeat(5_000),
    ]);
    check_unknown(&[
        &format!("echo {}", "a".repeat(1 << 20)),
        &"ls; ".repeat(300_000),
        &format!("echo {}", "{a,b}".repeat(40_000) + " $("),
        &"<<a ".repeat(50_000),
    ]);
    let braces = analysed(&format!("cat {}", "{a".repeat(30_000)));
    assert!(matches!(braces.files[0].place, Place::Unknown(_)));
    let many = analysed(&"ls; ".repeat(10_000));
    assert_eq!(many.commands.len(), 10_000);
    let nested = (0..12).fold("rm x".to_owned(), |inner, _| format!("echo $({inner})"));
    assert_eq!(verdict(&nested), Verdict::Deny);
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    /// What a text is made of, where bash's own signs meet in any order.
    fn text() -> impl Strategy<Value = String> {
        let part = prop::sample::select(vec![
            "rm x",
            "git log",
            "echo",
            "'",
            "\"",
            "`",
            "$(",
            ")",
            "(",
            "((",
            "))",
            "${x:-",
            "}",
            "{",
            " ",
            "\n",
            ";",
            "&",
            "|",
            "<",
            ">",
            "<<E",
            "\nE\n",
            "<(",
            "$'",
            "\\",
            "#",
            "=",
            "x=",
            "[[",
            "]]",
            "[",
            "]",
            "if ",
            "then ",
            "fi",
            "for x in ",
            "do ",
            "done",
            "case a in ",
            "esac",
            ";;",
            "function f ",
            "f() ",
            "~",
            "*",
            "{a,b}",
            "é",
            "eval ",
            "bash -c ",
            "xargs ",
            "find . -exec ",
            " \\;",
            "sed ",
            "awk ",
            "dd of=",
            "git checkout ",
            "env ",
            "cd a",
            "$x",
            "-",
            "--",
            "!",
            "export ",
            "read ",
            "2>&1",
            "@",
            ":",
        ]);
        prop::collection::vec(part, 0..14).prop_map(|parts| parts.concat())
    }

    /// Ways to run a command that all run it.
    fn wrapped(command: &str, way: usize) -> String {
        let quoted = command.replace('\'', "'\\''");
        match way {
            0 => format!("git log; {command}"),
            1 => format!("git log && {command} || echo a"),
            2 => format!("{command} | cat"),
            3 => format!("({command})"),
            4 => format!("{{ {command}\n}}"),
            5 => format!("echo $({command})"),
            6 => format!("echo \"a $({command}) b\""),
            7 => format!("bash -c '{quoted}'"),
            8 => format!("eval '{quoted}'"),
            9 => format!("if true; then\n{command}\nfi"),
            10 => format!("for i in 1; do\n{command}\ndone"),
            11 => format!("f() {{\n{command}\n}}"),
            12 => format!("bash <<'END'\n{command}\nEND\n"),
            13 => format!("cat <({command})"),
            14 => format!("trap '{quoted}' EXIT"),
            15 => format!("case a in a) {command} ;; esac"),
            16 => format!("while {command}\ndo break; done"),
            17 => format!("A=1 timeout 5 env B=2 bash -c '{quoted}' 2>&1"),
            18 => format!("find . -exec bash -c '{quoted}' \\;"),
            _ => format!("! {command} & echo b # c"),
        }
    }

    proptest! {
        #[test]
        fn r8_1_no_way_of_running_loses_a_command(ways in prop::collection::vec(0..20_usize, 0..5), quote in 0..5_usize) {
            let name = ["rm", "'rm'", "\"rm\"", "\\rm", "r''m"][quote];
            let text = ways.iter().fold(format!("{name} -rf x"), |inner, way| wrapped(&inner, *way));
            prop_assert_ne!(verdict(&text), Verdict::Allow, "{}", &text);
            let analysis = analysed(&text);
            let seen = analysis.commands.iter().any(|command| command.pattern == "rm -rf x");
            prop_assert!(seen || !analysis.unknown.is_empty(), "{}", &text);
        }

        #[test]
        fn r8_2_nothing_panics(text in text()) {
            let analysis = analysed(&text);
            prop_assert!(!analysis.commands.is_empty() || !analysis.unknown.is_empty());
            for span in analysis.commands.iter().map(|c| &c.span).chain(analysis.unknown.iter().map(|u| &u.span)) {
                prop_assert!(text.get(span.clone()).is_some(), "{:?} of {:?}", span, &text);
            }
        }

        #[test]
        fn r8_2_no_bytes_panic(text in any::<String>()) {
            analysed(&text);
        }
    }
}

/// Two characters that took the process along, whatever stood around them.
#[test]
fn r8_2_letters_behind_braces_ask_and_end_nothing() {
    for letter in ['\u{e0151}', '\u{e0100}', '\u{10ffff}', '\u{1f574}', '\u{4e2d}', '\u{100}'] {
        for before in
            ["{", "echo {", "echo {1", "echo {1..", "echo {1..2", "x=${", "echo \"{", "cat <<E\n{", "echo a; {12..34"]
        {
            for behind in ["", "}", "..3}", "\nE\n"] {
                let text = format!("{before}{letter}{behind}");
                assert!(!analysed(&text).unknown.is_empty(), "{text:?}");
            }
        }
    }
    assert!(analysed("echo {a,\u{e0151}} {1..3} {\u{e9}}").unknown.is_empty());
}

fn last_of(text: &str) -> SimpleCommand {
    analysed(text).commands.pop().unwrap()
}

/// By the table that users of opencode know, of which nothing is left out. The exact command alone is offered where the words run what they say or may lose
/// work, and for `env` what it runs.
#[test]
fn r9_1_always_offers_as_many_words_as_the_known_table() {
    const ONE: &str = "cat cd chmod chown cp echo env export grep kill killall ln ls mkdir mv ps pwd rm rmdir sleep \
        source tail touch unset which";
    const TWO: &str = "bazel brew bun cargo cdk cf cmake composer consul crictl deno docker eksctl firebase flyctl git go \
        gradle helm heroku hugo ip kind kubectl kustomize make mc minikube mongosh mysql mvn ng npm nvm nx openssl pip \
        pipenv pnpm poetry podman psql pulumi pyenv python rake rbenv redis-cli rustup serverless skaffold sls sst swift \
        systemctl terraform tmux turbo ufw vault vercel volta wp yarn";
    const THREE: &str = "aws az doctl gcloud gh sfdx bun-run bun-x cargo-add cargo-run consul-kv deno-task docker-builder \
        docker-compose docker-container docker-image docker-network docker-volume eksctl-create git-config git-remote \
        git-stash ip-addr ip-link ip-netns ip-route kind-create kubectl-kustomize kubectl-rollout mc-admin npm-exec \
        npm-init npm-run npm-view openssl-req openssl-x509 pnpm-dlx pnpm-exec pnpm-run podman-container podman-image \
        pulumi-stack terraform-workspace vault-auth vault-kv yarn-dlx yarn-run";
    const EXACT: &str = "kill rm source python tmux bun bun-run bun-x deno deno-task git-stash";
    let mut entries = 0;
    let mut wrong = Vec::new();
    for (count, names) in [(1, ONE), (2, TWO), (3, THREE)] {
        for name in names.split_whitespace() {
            entries += 1;
            let words = if name == "redis-cli" { name.to_owned() } else { name.replace('-', " ") };
            let text = format!("{words} a b c d");
            let offer = || text.split(' ').take(count).collect::<Vec<_>>().join(" ") + " *";
            let expected = match name {
                "env" => Some("a *".to_owned()),
                name => (!EXACT.split(' ').any(|exact| exact == name)).then(offer),
            };
            let offered = analysed(&text).commands.remove(0).prefix;
            if offered != expected {
                wrong.push((text, offered));
            }
        }
    }
    assert_eq!(wrong, []);
    assert_eq!(entries, 136);
}

#[test]
fn r9_1_always_offers_what_is_not_too_wide() {
    let offered = |text: &str| last_of(text).prefix;
    for (text, prefix) in [
        ("git log --oneline", "git log *"),
        ("git log", "git log *"),
        ("npm run test -- x", "npm run test *"),
        ("npm ci", "npm ci *"),
        ("cargo test -p x", "cargo test *"),
        ("cat a b", "cat *"),
        ("ls", "ls *"),
        ("docker compose up -d", "docker compose up *"),
        ("kubectl get pods", "kubectl get *"),
        ("gh pr view 1", "gh pr view *"),
        ("aws s3 ls x", "aws s3 ls *"),
        ("make test", "make test *"),
        ("git -C x log -1", "git -C x log *"),
        ("FOO=1 npm run test 2>&1", "npm run test *"),
        ("pytest -q", "pytest *"),
        ("git stash list", "git stash list *"),
    ] {
        assert_eq!(offered(text).as_deref(), Some(prefix), "{text:?}");
    }
    for text in [
        "rm -rf x",
        "rm x",
        "bash x.sh",
        "sh x",
        "python x.py",
        "python3.12 -c 1",
        "node x",
        "xargs",
        "env",
        "find . -delete",
        "eval \"$x\"",
        "source x",
        "curl x",
        "ssh h",
        "git reset --hard",
        "git $x",
        "$x y",
        "git --help",
        "cargo +nightly* test",
        "npm --prefix x run test",
        "dd of=x",
        "perl -e 1",
        "echo | xargs cat",
        "'git' \"log\"",
        "trap",
        "watch ls",
    ] {
        assert_eq!(offered(text), None, "{text:?}");
    }
}

#[test]
fn r9_3_file_work_is_told_from_the_rest() {
    for text in [
        "cat a",
        "cp a b",
        "mv a b",
        "mkdir -p a/b",
        "touch a",
        "rm -rf a",
        "sed -i 's/a/b/g' f",
        "sed -n '1,20p' f",
        "awk '{ print $1 }' f",
        "grep -rn x src",
        "rg x",
        "ls -la",
        "wc -l a",
        "sort -u a -o b",
        "head -5 a",
        "find . -name '*.rs' -delete",
        "tee a",
        "ln -s /w/a b",
        "chmod +x a",
        "diff -u a b",
        "dd if=a of=b",
        "cp ./*.rs b/",
        "echo a",
        "cd a && cat b",
        "cat ~/a",
        "jq .a b",
        "tr a b < c",
        "sed -E 's/(a|b)/\\1/; /x/d' f",
    ] {
        assert!(last_of(text).effect.is_file_work, "{text:?}");
    }
    for text in [
        "tool a",
        "cat $x",
        "cat \"$(ls)\"",
        "cp --unknown a b",
        "sed 's/a/b/e' f",
        "sed 'w out' f",
        "sed -f x f",
        "sed '1e rm' f",
        "sed 's/a/b/w out' f",
        "sed \"$x\" f",
        "sed '1r /etc/passwd' f",
        "awk 'BEGIN { system(\"rm x\") }'",
        "awk '{ print > \"x\" }' f",
        "awk '{ \"ls\" | getline }' f",
        "awk -f x f",
        "awk \"$x\" f",
        "rg --pre x y",
        "rg -z x",
        "sort --compress-program=x a",
        "tar xf a",
        "make",
        "git status",
        "curl x",
        "find . -exec cat {} \\;",
        "xargs cat",
        "./cat a",
        "/tmp/cat a",
        "cd \"$x\" && cat a",
        "install --strip-program=x -s a b",
        "split --filter=x a",
        "f() { cat a; }",
        "cat a/../b",
        "ln -s ../a b",
        "rm $x",
        "sed *",
        "sort *",
        // A file may have the name of an option.
        "cp *.rs b/",
        "rg x *",
    ] {
        assert!(!analysed(text).commands.iter().all(|command| command.effect.is_file_work), "{text:?}");
    }
}

#[test]
fn r9_3_programs_that_reach_the_network_are_known() {
    for text in [
        "curl x",
        "wget -O x y",
        "ssh h ls",
        "scp a h:",
        "rsync a h:",
        "git push",
        "git fetch",
        "git pull",
        "git clone x",
        "git -C a fetch",
        "git remote update",
        "git submodule update",
        "npm install",
        "npm ci",
        "yarn",
        "cargo add x",
        "cargo build",
        "pip install x",
        "go get x",
        "docker pull x",
        "npx x; npx x",
        "nc h 1",
        "apt-get install x",
        "gh pr list",
        "npm up",
        "npm in x",
        "npm isntall x",
        "npm x y",
        "npm cit",
        "npm --silent publ",
        "pnpm up",
        "yarn up x",
        "bun add x",
    ] {
        assert!(analysed(text).commands.iter().any(|command| command.effect.network), "{text:?}");
    }
    for text in ["ls", "git status", "git commit -m x", "npm run x", "cat a", "git log", "git stash"] {
        assert!(!last_of(text).effect.network, "{text:?}");
    }
}

#[test]
fn r9_2_commands_of_npm_reach_the_network_and_bring_packages_under_each_of_their_names() {
    let spellings = |name: &'static str| std::iter::once(name).chain(other_names::of_command("npm", name));
    for program in ["npm", "pnpm", "yarn", "bun"] {
        for name in ["install", "ci", "update"].into_iter().flat_map(spellings) {
            let found = analysed(&format!("{program} {name}"));
            assert!(!found.links.is_empty(), "{program} {name}");
        }
    }
    for name in ["install-test", "install-ci-test", "dedupe", "link"].into_iter().flat_map(spellings) {
        assert!(!analysed(&format!("npm {name}")).links.is_empty(), "npm {name}");
    }
    let reaching =
        ["install", "ci", "update", "publish", "audit", "view", "exec", "init", "outdated", "login", "search"];
    for name in reaching.into_iter().flat_map(spellings) {
        assert!(analysed(&format!("npm {name} x")).commands.iter().any(|command| command.effect.network), "npm {name}");
    }
    for name in ["run", "test", "start", "ls", "config"].into_iter().flat_map(spellings) {
        let found = analysed(&format!("npm {name}"));
        assert!(found.links.is_empty() && !found.commands[0].effect.network, "npm {name}");
    }
}

#[test]
fn r8_1_programs_that_run_what_words_do_not_tell_are_known() {
    for text in [
        "make",
        "npm run x",
        "npm test",
        "cargo test",
        "cargo build",
        "pytest",
        "python x.py",
        "python -c 1",
        "perl -e 1",
        "node x",
        "ruby x",
        "php x",
        "git status",
        "git diff",
        "git log",
        "git commit -m x",
        "git rebase -x ls",
        "git bisect run x",
        "git submodule foreach x",
        "git lg",
        "rg --pre x y",
        "less x",
        "man x",
        "vim x",
        "bash x.sh",
        "sh < x",
        "echo x | sh",
        "source x",
        ". x",
        "./x",
        "a/b",
        "tar --to-command=x xf y",
        "tar --checkpoint-action=exec=x cf y z",
        "docker run x",
        "ssh h x",
        "su -c x",
        "script -c x",
        "watch x",
        "parallel x",
        "gdb x",
        "rsync -e x a b",
        "find . -exec ls {} +",
        "sudo ls; sudo ls",
        "npx x; npx",
        "awk 'BEGIN{system(\"x\")}'",
        "sed '1e x' f",
        "git config alias.x y",
        "xargs sed",
        "crontab x",
        "at x",
        "gcc x.c",
        "tmux new x",
    ] {
        assert!(analysed(text).commands.iter().any(|command| command.effect.runs_unseen.is_some()), "{text:?}");
    }
    for text in [
        "ls",
        "cat a",
        "git rev-parse HEAD",
        "grep x y",
        "sed 's/a/b/' f",
        "echo",
        "mkdir a",
        "git remote -v",
        "git config --get a.b",
    ] {
        assert_eq!(last_of(text).effect.runs_unseen, None, "{text:?}");
    }
}

#[test]
fn r9_2_aliases_deny_what_another_spelling_names() {
    let has = |text: &str, alias: &str| {
        let command = last_of(text);
        assert!(command.aliases.iter().any(|one| one == alias), "{text:?}: {:?}", command.aliases);
        assert_ne!(command.pattern, alias);
    };
    has("/bin/rm x", "rm x");
    has("git \"push\" 'x y'", "git push x y");
    has("git -C a push x", "git push x");
    has("FOO=1 tool x", "FOO=1 tool x");
    has("timeout 5 tool x", "timeout 5 tool x");
    has("tool x > y", "tool x > y");
    has("rm {-rf,x}", "rm -rf x");
    has("bash -c 'tool x'", "bash -c 'tool x'");
}
