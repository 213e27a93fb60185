use serde_json::{Value, json};

use crate::event::SessionEvent;
use crate::message::ToolStatus;
use crate::permission::Mode;
use crate::permission::Verdict::{self, Allow, Ask, Deny};
use crate::ports::{Ask as Asked, Confinement, OptionKind, Preview};
use crate::workbench::{Bench, path};

/// What came of a command, and why: the reason of its ask or its denial.
pub(super) async fn judged(bench: &Bench, input: Value) -> (Verdict, String) {
    bench.client.answer_all(OptionKind::RejectOnce);
    let asks = bench.client.asks().len();
    let run = bench.shell.commands().len();
    let outcome = bench.call("bash", input).await;
    let has_run = bench.shell.commands().len() > run;
    match (outcome.result.status, bench.client.asks().get(asks)) {
        (ToolStatus::Completed, None) if has_run => (Allow, String::new()),
        (ToolStatus::Failed, Some(ask)) if !has_run => (Ask, ask.reason.clone()),
        (ToolStatus::Failed, None) if !has_run => (Deny, outcome.result.text),
        other => panic!("{other:?}: {}", outcome.result.text),
    }
}

async fn check_one(bench: &Bench, command: &str, expected: Verdict) -> String {
    let (verdict, reason) = judged(bench, json!({"command": command})).await;
    assert_eq!(verdict, expected, "{command:?}: {reason}");
    reason
}

async fn check(bench: &Bench, expected: Verdict, commands: &[&str]) {
    for command in commands {
        check_one(bench, command, expected).await;
    }
}

/// The rules at the head of the cases C53 to C60.
fn ruled(bench: Bench) -> Bench {
    ["git log *", "echo *", "cd *"]
        .iter()
        .fold(bench, |bench, pattern| bench.rule("bash", pattern, Allow))
        .rule("bash", "git push *", Ask)
        .rule("bash", "rm *", Deny)
}

/// Without a word of the user's on other commands, and with one.
fn both() -> [Bench; 2] {
    [ruled(Bench::new()), ruled(Bench::new().rule("bash", "*", Ask))]
}

/// The ask of a command, which is then rejected.
async fn ask_of(bench: &Bench, command: &str) -> Asked {
    check_one(bench, command, Ask).await;
    bench.client.asks().pop().unwrap()
}

fn marked(ask: &Asked) -> Vec<&str> {
    let Preview::Command { shown, asked, .. } = &ask.preview else { panic!("{ask:?}") };
    for part in asked {
        assert_eq!(shown.get(part.span.clone()), Some(part.text.as_str()), "{ask:?}");
    }
    asked.iter().map(|part| part.text.as_str()).collect()
}

fn labels(ask: &Asked) -> Vec<&str> {
    ask.options.iter().map(|option| option.label.as_str()).collect()
}

// Single commands of longer texts (R8.1).

#[tokio::test]
async fn c53_no_chain_runs_behind_an_allowed_head() {
    for bench in both() {
        check(&bench, Allow, &["git log", "echo a && git log -p", "git log | echo b; echo c", "cd x && git log"]).await;
        let denied = [
            "git log; rm -rf x",
            "echo a && rm x",
            "echo a & rm x",
            "echo a || rm x",
            "git log\nrm x",
            "(git log; rm x)",
            "{ git log; rm x; }",
            "if git log; then rm x; fi",
            "for x in a; do rm x; done",
            "f() { rm x; }; f",
        ];
        check(&bench, Deny, &denied).await;
        check(&bench, Ask, &["echo a | sh", "git log; make"]).await;
    }
}

#[tokio::test]
async fn c54_a_leading_cd_opens_nothing() {
    for bench in both() {
        bench.disk.put_folder(&path("/w/x"));
        for command in ["cd /tmp/x && git push --dry-run", "(cd x; git push)", "pushd x; git push"] {
            let reason = check_one(&bench, command, Ask).await;
            assert!(reason.contains("`git push") && reason.contains("asked by rule bash \"git push *\""), "{reason}");
        }
        let reason = check_one(&bench, "cd /tmp/x && git log", Ask).await;
        assert!(reason.contains("reach outside of the workspace into /tmp"), "{reason}");
        check_one(&bench, "cd x && git log", Allow).await;
    }
}

#[tokio::test]
async fn c55_prefixes_and_wrappers_hide_nothing() {
    for bench in both() {
        let denied = [
            "A=1 rm x",
            "env A=1 rm x",
            "command rm x",
            "\\rm x",
            "bash -c 'rm x'",
            "sh -lc \"rm x\"",
            "eval \"rm x\"",
            "echo x | xargs rm",
            "timeout 5 rm x",
            "nice rm x",
            "find . -exec rm {} +",
        ];
        check(&bench, Deny, &denied).await;
        check(&bench, Allow, &["A=1 git log"]).await;
    }
}

#[tokio::test]
async fn c57_substitutions_are_judged_and_targets_of_redirects_as_files() {
    for bench in both() {
        let denied = ["echo $(rm x)", "echo `rm x`", "echo \"${A:-$(rm x)}\"", "echo a | cat <(rm x)"];
        check(&bench, Deny, &denied).await;
        let reason = check_one(&bench, "git log > ~/.bashrc", Ask).await;
        assert!(reason.contains("edit ../home/user/.bashrc (by a redirect)"), "{reason}");
        assert!(reason.contains("reach outside of the workspace into /home/user"), "{reason}");
        let reason = check_one(&bench, "echo a >| ../out", Ask).await;
        assert!(reason.contains("edit ../out (by a redirect)"), "{reason}");
        check(&bench, Ask, &["echo a > x", "echo a >> x", "git log &> x", "echo a > \"$x\""]).await;
    }
    let bench = ruled(Bench::new()).rule("edit", "out/*", Allow).rule("edit", "out/kept", Deny);
    check(&bench, Allow, &["echo a > out/x", "git log >> out/x"]).await;
    check(&bench, Deny, &["echo a > out/kept", "echo a > ./out/kept", "cd out && echo a > kept"]).await;
    // Where it leads depends on links that the command may make.
    check(&bench, Ask, &["echo a > out/../out/kept"]).await;
}

#[tokio::test]
async fn c58_harmless_variants_are_the_same_command() {
    let bench = Bench::new().rule("bash", "npm run test*", Allow).rule("bash", "head *", Allow);
    let same = ["npm run test 2>&1", "npm run test | head -5", "# note\nnpm run test", "npm run test > /dev/null"];
    check(&bench, Allow, &same).await;
    check(&bench, Ask, &["# npm run test\nnpm run other", "npm run other # npm run test"]).await;
}

#[tokio::test]
async fn c50_each_command_of_a_heredoc_in_a_chain_is_judged() {
    let text = "git add a b && git commit -m \"$(cat <<'EOF'\none\ntwo\nthree\nEOF\n)\"";
    let rules = ["git add *", "git commit *", "cat *"];
    let all = rules.iter().fold(Bench::new(), |bench, pattern| bench.rule("bash", pattern, Allow));
    check_one(&all, text, Allow).await;
    assert_eq!(all.shell.commands()[0].command, text);
    for denied in rules {
        let bench = rules.iter().fold(Bench::new(), |bench, pattern| bench.rule("bash", pattern, Allow));
        check_one(&bench.rule("bash", denied, Deny), text, Deny).await;
    }
}

#[tokio::test]
async fn r8_1_the_strictest_part_decides() {
    let bench = ruled(Bench::new());
    let (verdict, reason) = judged(&bench, json!({"command": "git log; git push; rm x; echo a"})).await;
    assert_eq!(verdict, Deny);
    assert!(reason.contains("`rm x`: denied by rule bash \"rm *\"") && !reason.contains("git log"), "{reason}");
}

#[tokio::test]
async fn r8_2_what_is_not_parsed_or_holds_no_command_is_asked() {
    for bench in both() {
        check(&bench, Ask, &["echo 'a", "git log (", "$x", "\"$x\" y", "eval \"$x\"", "A=1", "# nothing"]).await;
    }
    // A rule for single commands is none for what could be any.
    let bench = Bench::new().rule("bash", "git log *", Allow).rule("bash", "eval *", Allow);
    check(&bench, Ask, &["git log; $x", "eval \"$x\""]).await;
}

#[tokio::test]
async fn r8_2_everything_means_everything_unless_something_is_excepted() {
    let bench = Bench::new().rule("bash", "*", Allow);
    check(&bench, Allow, &["eval \"$x\"", "make; $x", "echo a > x"]).await;
    let bench = Bench::new().rule("bash", "*", Allow).rule("bash", "rm *", Deny);
    let reason = check_one(&bench, "eval \"$x\"", Ask).await;
    assert!(reason.contains("bash \"rm *\": deny"), "{reason}");
    check(&bench, Allow, &["make"]).await;
    check(&bench, Deny, &["make; rm x"]).await;
}

#[tokio::test]
async fn r9_2_rules_meet_commands_without_assignments_and_harmless_redirects() {
    let bench = Bench::new().rule("bash", "tool *", Allow);
    check(&bench, Allow, &["FOO=1 tool x 2>&1", "tool x 2>/dev/null", "  tool   x"]).await;
    check(&bench, Ask, &["tools x"]).await;
}

// Files (R8.3, R8.5).

fn secrets() -> Bench {
    let bench = Bench::new().rule("bash", "*", Allow).rule("read", "**/.env*", Deny).rule("read", ".env*", Deny);
    bench.put("/w/.env", "KEY=1\n").put("/w/sub/.env", "KEY=2\n").put("/w/open", "x\n");
    bench.disk.put_link(&path("/w/harmless"), ".env");
    bench
}

#[tokio::test]
async fn c61_r8_5_secrets_stay_shut_to_shell_readers() {
    let bench = secrets();
    let denied = [
        "cat .env",
        "grep K .en*",
        "cp .env x; cat x",
        "source .env; env",
        "cat harmless",
        "cat < .env",
        "cd sub && cat .env",
        "f=.env; cat \"$f\"",
        "cat */.env",
        "grep -r K sub",
    ];
    check(&bench, Deny, &denied).await;
    check(&bench, Ask, &["cat sub/../.env", "cat \"$x\""]).await;
    let (verdict, reason) = judged(&bench, json!({"command": "cat /proc/self/environ"})).await;
    assert!(verdict >= Ask, "{reason}");
    check(&bench, Allow, &["cat open", "cat o*", "ls -a", "ls sub"]).await;
    for (tool, input) in [("read", json!({"filePath": ".env"})), ("read", json!({"filePath": "harmless"}))] {
        let text = bench.failed(tool, input).await;
        assert!(text.contains("denied") && !text.contains("KEY"), "{tool}: {text}");
    }
    for (tool, input) in [("grep", json!({"pattern": "KEY", "path": "."})), ("glob", json!({"pattern": "**/.env*"}))] {
        let text = bench.done(tool, input).await;
        assert!(!text.contains("KEY=") && !text.contains("sub/.env"), "{tool}: {text}");
    }
}

#[tokio::test]
async fn r8_3_operands_are_judged_behind_their_links() {
    let bench = Bench::new().rule("bash", "*", Allow).rule("edit", "kept/*", Deny);
    bench.put("/w/kept/a", "x\n").put("/w/a", "x\n");
    bench.disk.put_folder(&path("/tmp/outside"));
    bench.disk.put_link(&path("/w/alias"), "kept");
    bench.disk.put_link(&path("/w/out"), "/tmp/outside");
    check(&bench, Deny, &["cp a alias/a", "echo x > alias/new", "cp a alias", "rm -r kept", "mv a kept/"]).await;
    let reason = check_one(&bench, "echo x > out/new", Ask).await;
    assert!(reason.contains("/w/out/new is a link, its target is /tmp/outside/new"), "{reason}");
    check(&bench, Allow, &["cp a b", "mkdir c"]).await;
}

/// The deepest folder that exists is what counts.
#[tokio::test]
async fn c63_a_dangling_link_is_judged_by_where_it_leads() {
    let bench = Bench::new().rule("bash", "*", Allow);
    bench.disk.put_folder(&path("/tmp/outside"));
    bench.disk.put_link(&path("/w/x"), "/tmp/outside/not-yet");
    for command in ["echo a > x", "touch x", "cp b x"] {
        let reason = check_one(&bench, command, Ask).await;
        assert!(reason.contains("its target is /tmp/outside/not-yet"), "{command}: {reason}");
    }
}

#[tokio::test]
async fn r8_3_a_working_folder_outside_is_asked() {
    let bench = Bench::new().rule("bash", "*", Allow);
    bench.disk.put_folder(&path("/ext"));
    let (verdict, reason) = judged(&bench, json!({"command": "make", "workdir": "/ext"})).await;
    assert_eq!(verdict, Ask);
    assert!(reason.contains("reach outside of the workspace into /ext"), "{reason}");
}

#[tokio::test]
async fn r8_3_patterns_of_too_many_files_are_asked() {
    let bench = Bench::new().rule("bash", "cat *", Allow);
    for number in 0..600 {
        bench.put(&format!("/w/many/{number}"), "x\n");
    }
    let reason = check_one(&bench, "cat many/*", Ask).await;
    assert!(reason.contains("more files than are looked at"), "{reason}");
    check(&bench, Allow, &["cat many/1?"]).await;
    check(&bench, Ask, &["shopt -s dotglob; cat many/1?"]).await;
}

#[tokio::test]
async fn a_program_that_is_allowed_may_write_its_files_but_not_what_runs_code() {
    let bench = Bench::new().rule("bash", "cp *", Allow).rule("bash", "echo *", Allow);
    bench.put("/w/a", "x\n").put("/w/.git/config", "x\n");
    check(&bench, Allow, &["cp a b"]).await;
    check(&bench, Ask, &["cp a .git/hooks/pre-commit", "cp a .git", "echo x > b"]).await;
}

// Agents, modes and guards.

#[tokio::test]
async fn plan_writes_nothing_and_is_asked_for_what_is_not_proven_to_read() {
    let bench = Bench::trusting().agent("plan").rule("bash", "*", Allow);
    bench.put("/w/a", "x\n");
    for command in ["echo x > a", "cp a b", "mkdir c", "echo x | tee a", "echo x > \"$f\""] {
        let reason = check_one(&bench, command, Deny).await;
        assert!(reason.contains("guard plan"), "{command}: {reason}");
    }
    let ask = ask_of(&bench, "make").await;
    assert!(ask.reason.contains("guard plan"), "{}", ask.reason);
    assert_eq!(labels(&ask), ["Allow once", "Reject"]);
}

#[tokio::test]
async fn r5_5_commands_that_discard_work_are_asked_under_every_rule_mode_and_answer() {
    let commands = [
        "git reset --hard",
        "git checkout -- .",
        "git restore src",
        "git clean -fd",
        "git worktree remove --force x",
        "git stash drop",
        "git log; git -C . reset --hard",
        "bash -c 'git clean -fdx'",
    ];
    for mode in Mode::ALL {
        for command in commands {
            let bench =
                Bench::trusting().rule("*", "*", Allow).rule("bash", "git *", Allow).rule("bash", command, Allow);
            bench.grants.set_mode(mode);
            let ask = ask_of(&bench, command).await;
            assert!(
                ask.reason.contains("what would be lost") && ask.reason.contains("guard discard"),
                "{}",
                ask.reason
            );
            assert_eq!(labels(&ask), ["Allow once", "Reject"], "{command}");
        }
    }
    let mut bench = Bench::new().rule("bash", "git *", Allow);
    bench.config.guards = crate::permission::Guards::without([crate::permission::Guard::Discard]);
    check(&bench, Allow, &["git reset --hard"]).await;
}

#[tokio::test]
async fn r9_3_plain_work_on_files_of_the_workspace_is_free_in_its_mode() {
    let bench = Bench::new();
    bench.put("/w/a", "x\n").put("/w/.env", "KEY=1\n");
    let plain = ["cp a b", "mkdir -p c/d", "cat a > b"];
    check(&bench, Ask, &plain).await;
    bench.grants.set_mode(Mode::Workspace);
    check(&bench, Allow, &plain).await;
    let other = [
        "rm a",
        "make",
        "curl x",
        "git push",
        "cp a /tmp/x",
        "cp a \"$x\"",
        "cp .env b",
        "cp a .git/hooks/x",
        "cp a b; make",
        "$x",
    ];
    check(&bench, Ask, &other).await;
    let ruled = Bench::new().rule("bash", "cp *", Ask).rule("edit", "kept/*", Deny);
    ruled.put("/w/a", "x\n");
    ruled.grants.set_mode(Mode::Workspace);
    check(&ruled, Ask, &["cp a b"]).await;
    check(&ruled, Deny, &["mkdir kept/x"]).await;
}

#[tokio::test]
async fn r9_3_all_folders_that_the_client_lists_are_the_workspace_and_no_others() {
    let mut bench = Bench::new();
    bench.facts.roots.push(path("/v"));
    bench.put("/w/a", "x\n").put("/v/c/d", "x\n").put("/v2/c/d", "x\n");
    let inside = ["cp a /v/b", "mkdir -p /v/x/y", "cat a > /v/c/d", "cp /v/c/d b", "cd /v && cp c/d e"];
    check(&bench, Ask, &inside).await;
    bench.grants.set_mode(Mode::Workspace);
    check(&bench, Allow, &inside).await;
    let outside = [
        "cp a /v2/b",
        "mkdir -p /v2/x",
        "cat a > /v2/c/d",
        "cp a /v/../v2/b",
        "cd /v && cp c/d ../v2/e",
        "cp a /v/.git/x",
    ];
    check(&bench, Ask, &outside).await;
    // A link in one of them leads to where it leads.
    bench.disk.put_link(&path("/v/out"), "/v2");
    check(&bench, Ask, &["cp a /v/out/b"]).await;
    let alone = Bench::new();
    alone.put("/w/a", "x\n").put("/v/c/d", "x\n");
    alone.grants.set_mode(Mode::Workspace);
    check(&alone, Ask, &["cp a /v/b", "cat a > /v/c/d"]).await;
}

#[tokio::test]
async fn in_auto_whatever_the_sandbox_holds_is_free() {
    let bench = Bench::new();
    bench.grants.set_mode(Mode::Auto);
    check(&bench, Ask, &["make", "python x.py"]).await;
    bench.shell.enforce();
    check(&bench, Allow, &["make", "python x.py", "npm test | head"]).await;
    check(&bench, Ask, &["curl x", "git push", "git reset --hard", "$x", "cat .env", "make > /tmp/x"]).await;
    let (verdict, reason) = judged(&bench, json!({"command": "make", "unconfined": "it needs docker"})).await;
    assert_eq!(verdict, Ask, "{reason}");
    let mut off = Bench::new().rule("bash", "git log *", Allow);
    off.shell.enforce();
    off.grants.set_mode(Mode::Auto);
    off.config.sandbox.enabled = false;
    check(&off, Ask, &["make"]).await;
}

#[tokio::test]
async fn what_was_allowed_is_open_in_the_sandbox_and_nothing_else() {
    let open = |bench: Bench| bench.rule("*", "*", Allow).rule("bash", "*", Allow);
    let held = async |bench: &Bench, command: &str| {
        bench.shell.enforce();
        bench.disk.put_folder(&path("/ext"));
        check_one(bench, command, Allow).await;
        match &bench.shell.commands().last().unwrap().confinement {
            Confinement::Sandbox(policy) => (policy.network, policy.writable.clone()),
            Confinement::None => panic!("{command} runs free"),
        }
    };
    let bench = open(Bench::new());
    assert_eq!(held(&bench, "make").await, (false, vec![path("/w")]));
    assert_eq!(held(&bench, "git push").await, (true, vec![path("/w")]));
    assert_eq!(held(&bench, "cat /ext/f").await, (false, vec![path("/w")]));
    assert_eq!(held(&bench, "echo x > /ext/f").await, (false, vec![path("/w"), path("/ext")]));
    assert_eq!(held(&bench, "cd /ext && make").await, (false, vec![path("/w"), path("/ext")]));
}

// What the ask says (R8.4, R9.4).

#[tokio::test]
async fn c59_r8_4_the_ask_holds_the_whole_command_with_its_parts_marked() {
    let bench = ruled(Bench::new());
    let text = format!("echo a{}curl x | sh", "\n".repeat(80));
    let ask = ask_of(&bench, &text).await;
    let Preview::Command { shown, lines, .. } = &ask.preview else { panic!("{ask:?}") };
    assert_eq!((shown, *lines), (&text, 81));
    assert_eq!(marked(&ask), ["curl x", "sh"]);

    let ask = ask_of(&bench, "echo \u{200b}\u{202e}a; git push \u{202e}x; git log").await;
    assert_eq!(marked(&ask), ["git push \\u{202e}x"]);
    assert!(!ask.reason.contains('\u{202e}') && ask.reason.contains("git push \\u{202e}x"), "{}", ask.reason);

    let ask = ask_of(&bench, "git log && git push --dry-run && echo b").await;
    assert_eq!(marked(&ask), ["git push --dry-run"]);
    assert_eq!(
        ask.reason,
        "`git push --dry-run`: asked by rule bash \"git push *\": ask (/home/user/.config/copydesk/copydesk.jsonc:3)"
    );
}

#[tokio::test]
async fn r9_4_a_denial_tells_the_model_part_and_rule() {
    let bench = ruled(Bench::new());
    let text = bench.failed("bash", json!({"command": "git log; rm -rf x"})).await;
    assert!(
        text.starts_with(
            "`rm -rf x`: denied by rule bash \"rm *\": deny (/home/user/.config/copydesk/copydesk.jsonc:3). Nothing was done."
        ),
        "{text}"
    );
    let told = bench
        .client
        .events()
        .into_iter()
        .any(|event| matches!(event, SessionEvent::ToolCallUpdate(view) if view.text.contains("rm -rf")));
    assert!(!told, "its end is told once it is stored");
}

#[tokio::test]
async fn always_offers_the_command_with_other_arguments_and_holds_inside_longer_texts() {
    let bench = Bench::new();
    let ask = ask_of(&bench, "git log -3 && npm run build").await;
    assert_eq!(labels(&ask)[1], "Allow for this session: git log *; npm run build * (agent build)");
    bench.client.answer_all(OptionKind::AllowAlways);
    bench.done("bash", json!({"command": "git log -3"})).await;
    check(&bench, Allow, &["git log -p", "git log | git log", "A=1 git log"]).await;
    check(&bench, Ask, &["git logx", "git log; make", "git log > x", "git log \"$(make)\""]).await;
    let ruled = Bench::new().rule("bash", "git log --secret *", Deny);
    ruled.client.answer_all(OptionKind::AllowAlways);
    ruled.done("bash", json!({"command": "git log"})).await;
    check(&ruled, Deny, &["git log --secret x"]).await;
}

#[tokio::test]
async fn always_for_what_is_not_understood_is_this_text_in_this_folder() {
    let bench = Bench::new();
    bench.disk.put_folder(&path("/w/sub"));
    let command = "$x; cat \"$y\"";
    let ask = ask_of(&bench, command).await;
    assert!(labels(&ask)[1].contains("this exact command"), "{:?}", labels(&ask));
    bench.client.answer_all(OptionKind::AllowAlways);
    bench.done("bash", json!({"command": command})).await;
    check(&bench, Allow, &[command]).await;
    check(&bench, Ask, &["$x", "cat \"$y\"", "$x; cat \"$y\" z"]).await;
    let (verdict, reason) = judged(&bench, json!({"command": command, "workdir": "sub"})).await;
    assert_eq!(verdict, Ask, "{reason}");
}

#[tokio::test]
async fn a_rule_for_the_exact_text_allows_what_its_parts_would_be_asked_for_but_no_denial() {
    let bench = ruled(Bench::new()).rule("bash", "git push; $x", Allow).rule("bash", "git push && rm y", Allow);
    check(&bench, Allow, &["git push; $x"]).await;
    check(&bench, Ask, &["git push; $x; $x"]).await;
    check(&bench, Deny, &["git push && rm y"]).await;
    let overridden = Bench::new().rule("bash", "git push; $x", Allow).rule("bash", "git *", Ask);
    check(&overridden, Ask, &["git push; $x"]).await;
}

// The page for users.

/// Each table of the page with the rules, the mode and the agent that stand above it.
#[tokio::test]
async fn r9_4_the_examples_of_the_page_on_permissions_hold() {
    let page = include_str!("../../../../docs/permissions.md");
    let mut rows = 0;
    for section in page.split("\n## ") {
        for example in section.split("```jsonc\n").skip(1) {
            let (rules, table) = example.split_once("```").unwrap();
            let named = |what: &str| Some(section.split_once(&format!("{what} **"))?.1.split_once("**")?.0);
            let table = table.split("\n## ").next().unwrap();
            for row in table.lines().filter(|line| line.starts_with("| `")) {
                example_holds(rules, named("mode"), named("agent"), row).await;
                rows += 1;
            }
        }
    }
    assert!(rows > 20, "{rows} rows were found");
}

async fn example_holds(rules: &str, mode: Option<&str>, agent: Option<&str>, row: &str) {
    let cells: Vec<String> =
        row.replace("\\|", "\0").trim_matches('|').split('|').map(|cell| cell.trim().replace('\0', "|")).collect();
    let [command, decision, why] = cells.as_slice() else { panic!("{row}") };
    let mut bench = Bench::new();
    if agent == Some("plan") {
        bench = bench.agent("plan");
    }
    let written: Value = serde_json::from_str(&format!("{{{rules}}}")).unwrap();
    for (permission, patterns) in written["permission"].as_object().unwrap() {
        let verdict = |value: &Value| serde_json::from_value(value.clone()).unwrap();
        match patterns.as_object() {
            Some(patterns) => {
                for (pattern, value) in patterns {
                    bench = bench.rule(permission, pattern, verdict(value));
                }
            }
            None => bench = bench.rule(permission, "*", verdict(patterns)),
        }
    }
    if let Some(mode) = mode {
        bench.grants.set_mode(mode.parse().unwrap());
    }
    bench.put("/w/src/main.rs", "x\n").put("/w/secrets/key", "x\n").put("/etc/hostname", "x\n");
    bench.disk.put_link(&path("/w/link"), "secrets/key");
    let command = command.trim_matches('`');
    let (verdict, reason) = judged(&bench, json!({"command": command})).await;
    assert_eq!(verdict.to_string(), *decision, "{command}: {reason}");
    assert!(reason.contains(why.as_str()), "{command}: {why:?} is not in {reason:?}");
}
