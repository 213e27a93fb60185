use super::evasion_tests::{everything, judged, large, open, shut, workspace};
use crate::permission::Mode;
use crate::permission::Verdict::{Allow, Ask, Deny};
use crate::workbench::{Bench, path};

/// Programs that follow the links which they find in `docs`.
const FOLLOWING: [&str; 24] = [
    "grep -R KEY docs",
    "grep -nRi KEY docs",
    "grep --dereference-recursive KEY docs",
    "grep --deref KEY docs",
    "grep -r $options KEY docs",
    "rg -L KEY docs",
    "rg --follow KEY docs",
    "diff -r docs empty",
    "diff docs empty",
    "cp -rL docs copy",
    "cp -R --dereference docs copy",
    "cp -r docs copy",
    "ls -LR docs",
    "du -L docs",
    "tree -l docs",
    "find -L docs -name x",
    "find docs -follow -name x",
    "find -L docs -delete",
    "chmod -RL u+x docs",
    "tar czhf a.tgz docs",
    "tar -c --dereference -f a.tgz docs",
    "rsync -aL docs copy",
    "scp -r docs copy",
    "zip -r a.zip docs",
];

/// They keep links as they are, or pass them by.
const KEEPING: [&str; 12] = [
    "grep -rn KEY docs",
    "rg KEY docs",
    "diff -r --no-dereference docs empty",
    "cp -a docs copy",
    "cp -R docs copy",
    "cp -rP docs copy",
    "ls -lL docs",
    "ls -R docs",
    "du -sh docs",
    "find docs -name x",
    "tar czf a.tgz docs",
    "zip -ry a.zip docs",
];

fn with_docs(bench: Bench) -> Bench {
    bench.put("/home/user/work2/deep/id_rsa", "KEY\n").put("/w/docs/a", "x\n").put("/home/user/work2/plain", "x\n");
    bench
}

#[tokio::test]
async fn r8_3_what_links_lead_to_outside_is_asked_where_they_are_followed() {
    for target in ["/home/user/work2", "../../home/user/work2", "/home/user/work2/plain"] {
        let bench = with_docs(everything());
        open(&bench, &["diff -r docs empty", "cp -r docs other", "ls -LR docs", "grep -R KEY docs"]).await;
        bench.disk.put_link(&path("/w/docs/link"), target);
        for command in FOLLOWING {
            assert_eq!(judged(&bench, command).await, Ask, "{command}");
            let asked = bench.client.asks().pop().map(|ask| ask.reason).unwrap_or_default();
            let is_told = asked.contains("outside of the workspace into /home/user/work2") || command.contains('$');
            assert!(is_told, "{command}: {asked}");
        }
        open(&bench, &KEEPING).await;
    }
}

#[tokio::test]
async fn r8_3_tracked_links_are_given_by_their_names() {
    const LISTED: [&str; 3] = ["git ls-files | xargs cat", "git ls-files | xargs wc -l", "git ls-files | xargs grep x"];
    let bench = with_docs(Bench::new().rule("bash", "*", Allow));
    open(&bench, &LISTED).await;
    bench.disk.put_link(&path("/w/docs/link"), "/home/user/work2/plain");
    for command in LISTED {
        assert_eq!(judged(&bench, command).await, Ask, "{command}");
    }
}

#[tokio::test]
async fn r8_3_links_are_followed_out_of_the_workspace_in_no_mode_by_themselves() {
    for mode in [Mode::Ask, Mode::Workspace] {
        let bench = with_docs(workspace(Bench::new()));
        bench.grants.set_mode(mode);
        open(&bench, &["grep -R KEY docs", "diff -r docs empty", "grep -rn x docs"]).await;
        bench.disk.put_link(&path("/w/docs/link"), "/home/user/work2");
        shut(&bench, &["grep -R KEY docs", "grep -R KEY .", "diff -r docs empty", "ls -LR docs"]).await;
        open(&bench, &["grep -rn x docs", "ls -R docs"]).await;
    }
}

#[tokio::test]
async fn c61_secrets_below_a_link_are_asked_where_it_is_followed() {
    let bench = with_docs(everything().rule("external_directory", "*", Allow).rule("read", "private/*", Deny));
    bench.put("/w/private/a", "x\n").put("/w/.hidden/.env", "KEY=1\n");
    bench.disk.put_link(&path("/w/docs/link"), "/home/user/work2");
    // Which leads on, and back.
    bench.disk.put_link(&path("/home/user/work2/more"), "/w/empty");
    bench.disk.put_link(&path("/w/empty/back"), "/w/docs");
    bench.disk.put_link(&path("/w/empty/on"), "/w/evil");
    assert_eq!(judged(&bench, "grep -R KEY docs").await, Ask, "id_rsa");
    bench.disk.take(&path("/home/user/work2/deep"));
    open(&bench, &["grep -R KEY docs", "diff -r docs empty", "cp -rL docs copy"]).await;
    bench.disk.put_link(&path("/w/evil/far"), "/w/private");
    for command in ["grep -R KEY docs", "rg -L KEY docs", "diff -r docs open", "cp -rL docs copy"] {
        assert_eq!(judged(&bench, command).await, Deny, "{command}");
    }
    bench.disk.take(&path("/w/evil/far"));
    bench.disk.put_link(&path("/w/docs/shown"), "/w/.hidden");
    assert_eq!(judged(&bench, "rg -L KEY docs").await, Ask);
    assert_eq!(judged(&bench, "rg KEY docs").await, Allow);
}

#[tokio::test]
async fn r8_3_everyday_commands_on_folders_without_links_stay_free() {
    let bench = with_docs(workspace(Bench::new()));
    bench.grants.set_mode(Mode::Workspace);
    open(&bench, &["cp -r docs copy", "grep -rn x docs", "diff -r docs empty", "ls -lR docs"]).await;
}

#[tokio::test]
async fn r8_3_folders_are_told_of_beside_one_that_holds_more_files_than_are_looked_at() {
    let harmless = ["ls *", "ls -la *", "ls -R *", "ls -d *", "ls -ld -- *", "ls -dLR *", "du -sh *", "du -s [a-z]*"];
    let shown = ["du -shL *", "ls -LR *", "ls -LR node_modules", "ls -LR -I -d *", "ls -LR -- * -d", "tree -l *"];
    for bench in [everything(), workspace(Bench::new())] {
        large(&bench, "/w/node_modules");
        bench.disk.take(&path("/w/id_rsa"));
        open(&bench, &harmless).await;
        shut(&bench, &shown).await;
        bench.put("/w/-L", "x\n");
        shut(&bench, &["du -sh *", "ls -R *"]).await;
    }
    let bench = with_docs(everything());
    bench.disk.put_link(&path("/w/docs/link"), "/home/user/work2");
    for secret in ["/w/id_rsa", "/w/sub/.env"] {
        bench.disk.take(&path(secret));
    }
    open(&bench, &["grep -v KEY *", "rg KEY *", "du -s *", "grep -r KEY *"]).await;
    for option in ["-LR", "-R", "--follow", "--dereference"] {
        bench.put(&format!("/w/{option}"), "x\n");
        for command in ["grep -r KEY *", "rg KEY *", "du -s *", "grep -e KEY *", "ls *"] {
            assert_eq!(judged(&bench, command).await, Ask, "{command}");
            let asked = bench.client.asks().pop().map(|ask| ask.reason).unwrap_or_default();
            assert!(asked.contains("outside of the workspace into /home/user/work2"), "{command}: {asked}");
        }
        bench.disk.take(&path(&format!("/w/{option}")));
    }
}

/// What a program is told by an option may be anything, whoever has put a file of that name there.
#[tokio::test]
async fn r5_5_r8_3_a_file_with_the_name_of_an_option_makes_no_pattern_free() {
    let commands =
        ["find *", "find -- *", "rm *", "tar cf a.tar *", "sort *", "grep KEY *", "ls *", "cd sub && find *"];
    for crowded in [false, true] {
        let all = ["read", "edit", "external_directory"];
        let bench = all.into_iter().fold(everything(), |bench, permission| bench.rule(permission, "*", Allow));
        if crowded {
            large(&bench, "/w");
        }
        for secret in ["/w/id_rsa", "/w/sub/.env"] {
            bench.disk.take(&path(secret));
        }
        shut(&bench, &["echo > -delete; find *", "touch -- -delete && find *"]).await;
        open(&bench, &["ls *", "find *", "find -- *", "grep KEY *", "cd sub && find *"]).await;
        for option in ["-delete", "--checkpoint-action=exec=x", "-rf"] {
            bench.put(&format!("/w/{option}"), "x\n").put(&format!("/w/sub/{option}"), "x\n");
            for command in commands {
                assert_eq!(judged(&bench, command).await, Ask, "{command} beside {option}");
            }
            open(&bench, &["ls -- *", "find ./*", "grep KEY ./*"]).await;
            bench.disk.take(&path(&format!("/w/{option}")));
            bench.disk.take(&path(&format!("/w/sub/{option}")));
        }
    }
}
