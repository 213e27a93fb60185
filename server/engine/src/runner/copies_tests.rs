use std::sync::Arc;

use copydesk_workspace::disk::MemoryDisk;

use super::evasion_tests::{everything, judged, large, many, open, shut, workspace};
use crate::permission::Mode;
use crate::permission::Verdict::{Allow, Ask, Deny};
use crate::testing::DiskFiles;
use crate::workbench::{Bench, path};

fn with_trees(bench: Bench) -> Bench {
    let bench = workspace(bench);
    let files = ["t/.vscode/tasks.json", "t/plain", "plain/x", "plain/deep/y", "t2/config/x", "t2/a", "t3/.git/config"];
    for file in files {
        bench.put(&format!("/w/{file}"), "x\n");
    }
    bench
}

#[tokio::test]
async fn r9_3_no_mode_frees_what_comes_into_a_folder_with_the_folder_that_holds_it() {
    let bench = with_trees(Bench::new());
    bench.grants.set_mode(Mode::Workspace);
    let commands = [
        "cp -r t/. .",
        "cp -r t/./ .",
        "cp -r t/ .",
        "cp -r t/. ./",
        "cp -r t*/. .",
        "cp -rT t .",
        "cp -r --no-target-directory t .",
        "cp -r --no-target-dir t .",
        "cp -rt . t/.",
        "bash -c 'cp -r t/. .'",
        "eval 'cp -r t/. .'",
        "cp -r t new",
        "cp -r t sub",
        "cp -rT t new",
        "cp -r ./t/.vscode/.. .",
        "cp -r . sub",
        "cd t && cp -r . ../sub",
        "mv t new",
        "mv t sub",
        "mv -T t new",
    ];
    shut(&bench, &commands).await;
    let harmless = [
        "cp -r plain new",
        "cp -r plain sub",
        "cp -r plain/. sub",
        "cp -r plain/ sub",
        "cp -rT plain sub",
        "cp -r plain/* .",
        "mv plain empty",
        "mv plain new",
        "mkdir -p t new",
    ];
    open(&bench, &harmless).await;
}

#[tokio::test]
async fn r8_3_rules_for_files_meet_what_comes_with_the_folder_that_holds_it() {
    let rules = |bench: Bench| bench.rule("edit", "*", Allow).rule("edit", "config/*", Deny);
    let bench = with_trees(rules(everything()).rule("edit", "empty/t2/*", Deny));
    let bench = bench.rule("edit", "new/config/*", Deny);
    bench.disk.put_folder(&path("/w/linked"));
    bench.disk.put_link(&path("/w/linked/config"), "/w/t2/config");
    let commands = [
        "cp -r t2/config .",
        "cp -r t2/config/ .",
        "cp -r t2/. .",
        "cp -rT t2 .",
        "cp -r t2/conf* .",
        "cp -r t2/config config",
        "cp -rT t2/config config",
        "cp -rL linked/. .",
        "cp --parents t2/config/x empty",
        "cp --par t2/config/x empty",
        "cp -r --parents t2/config empty",
        "cp --parents t2/*/x empty",
        "cp --parents -t empty t2/a",
        "mv t2/config .",
        "mv t2/config config",
        "git mv t2/config .",
        "git mv t2/config config",
        "rsync -a t2/config .",
        "rsync -a t2/ .",
        "rsync -a t2/config/ config",
        "rsync -a t2/config new",
        "scp -r t2/config .",
        "scp -r t2/config config",
    ];
    for command in commands {
        assert_eq!(judged(&bench, command).await, Deny, "{command}");
    }
    open(&bench, &["cp -r t2/a .", "cp -r plain .", "cp -r plain/. sub", "mv plain sub", "cp -r linked/. sub"]).await;
    assert_eq!(judged(&bench, "rsync -aR t2/a empty").await, Ask);
    // Round and round.
    bench.disk.put_link(&path("/w/linked/up"), "/w/linked");
    bench.disk.put_link(&path("/w/linked/over"), "/w/plain");
    bench.disk.put_link(&path("/w/plain/back"), "/w/linked");
    open(&bench, &["cp -rL linked/. sub", "cp -rL plain sub"]).await;
    assert_eq!(judged(&bench, "cp -rL plain/back/. .").await, Deny);
}

#[tokio::test]
async fn r8_3_what_is_copied_into_a_folder_is_followed_through_the_links_that_stand_there() {
    let bench = with_trees(everything().rule("edit", "*", Allow));
    open(&bench, &["cp plain/x empty", "cp -r plain/. empty"]).await;
    for target in ["/home/user/.bashrc", "/w/kept/a"] {
        let bench = with_trees(everything().rule("edit", "*", Allow).rule("edit", "kept/*", Deny));
        bench.disk.put_link(&path("/w/empty/x"), target);
        shut(&bench, &["cp plain/x empty", "cp -r plain/. empty", "cp -rT plain empty"]).await;
    }
}

#[tokio::test]
async fn r5_5_a_repository_is_written_over_by_no_folder_that_holds_one() {
    let bench = with_trees(everything().rule("edit", "*", Allow));
    for command in ["cp -r t3/. .", "cp -rT t3 .", "cp -r t3/.git ."] {
        assert_eq!(judged(&bench, command).await, Ask, "{command}");
        let asked = bench.client.asks().pop().map(|ask| ask.reason).unwrap_or_default();
        assert!(asked.contains("what would be lost"), "{command}: {asked}");
    }
    open(&bench, &["cp -r t3 sub"]).await;
}

#[tokio::test]
async fn r8_3_names_that_a_program_makes_up_are_judged_as_written() {
    let rules = |bench: Bench, pattern: &str| bench.rule("edit", "*", Allow).rule("edit", pattern, Deny);
    let commands = [
        ("xaa", "split -l 1 open"),
        ("xaa", "split"),
        ("sub/yaa", "split open sub/y"),
        ("sub/yaa", "split --additional-suffix .txt open sub/y"),
        ("xx00", "csplit open 5"),
        ("sub/y00", "csplit -f sub/y open 5"),
        ("sub/y00", "csplit --prefix=sub/y open 5"),
        ("a.tar", "gunzip a.tgz"),
        ("a.tar", "unxz a.txz"),
        ("a.out", "bunzip2 a"),
    ];
    for (name, command) in commands {
        let bench = rules(everything(), name);
        bench.put(&format!("/w/{name}"), "x\n");
        assert_eq!(judged(&bench, command).await, Deny, "{command}");
        let outside = format!("cd ..; {command}");
        assert_ne!(judged(&bench, &outside).await, Allow, "{outside}");
    }
    open(&rules(everything(), "kept/*"), &["split -l 1 open", "split open sub/y", "csplit open 5"]).await;
}

/// That counts what is looked at.
fn counted(mut bench: Bench) -> (Bench, Arc<DiskFiles<MemoryDisk>>) {
    let files = DiskFiles::new(bench.disk.clone());
    bench.files = files.clone();
    (bench, files)
}

#[tokio::test]
async fn r5_5_a_repository_is_written_over_by_no_more_files_than_are_looked_at() {
    let bench = with_trees(everything().rule("edit", "*", Allow));
    // With the two folders, as many as are judged one by one.
    many(&bench, "/w/other", 5_000);
    many(&bench, "/w/backup", 4_998);
    open(&bench, &["cp -R other/. backup/. ."]).await;
    for file in [".git/config", "a", "b", "c"] {
        bench.put(&format!("/w/backup/{file}"), "x\n");
    }
    for mode in [Mode::Ask, Mode::Workspace] {
        bench.grants.set_mode(mode);
        assert_eq!(judged(&bench, "cp -R other/. backup/. .").await, Ask);
        let asked = bench.client.asks().pop().map(|ask| ask.reason).unwrap_or_default();
        assert!(asked.contains("what would be lost"), "{asked}");
    }
    open(&bench, &["cp -R other backup new"]).await;
}

#[tokio::test]
async fn r8_3_names_that_land_count_as_what_lands_with_folders_does() {
    let bench = with_trees(everything().rule("edit", "*", Allow));
    many(&bench, "/w/most", 9_800);
    many(&bench, "/w/rest", 300);
    open(&bench, &["cp -R most/. rest/1?? empty"]).await;
    shut(&bench, &["cp -R most/. rest/* empty"]).await;
}

/// Of what is not told one by one, any may land.
#[tokio::test]
async fn r8_3_what_lands_of_a_pattern_of_too_many_is_held_against_the_rules() {
    let bench = with_trees(everything().rule("edit", "*", Allow).rule("external_directory", "*", Allow));
    let bench = bench.rule("read", "*", Allow).rule("edit", "empty/7", Deny);
    many(&bench, "/w/some", 400);
    many(&bench, "/w/more", 501);
    let copies =
        ["cp some/* empty", "cp more/* empty", "mv more/* empty", "cp \"$x\" empty", "cp $(git ls-files) empty"];
    shut(&bench, &copies).await;
    shut(&bench, &["cp more/* .git", "cp \"$x\" .git"]).await;
}

#[tokio::test]
async fn r8_3_a_command_fills_its_target_with_nothing_of_another_command() {
    let (bench, files) = counted(with_trees(everything().rule("edit", "*", Allow)));
    let bench = bench.rule("edit", "sub/plain/*", Deny).rule("edit", "d1/d0", Deny).rule("edit", "empty/a", Deny);
    for command in ["cp -R plain sub", "cp -R plain empty; cp -R plain sub", "install a empty"] {
        assert_eq!(judged(&bench, command).await, Deny, "{command}");
    }
    let folders: Vec<String> = (0..300).map(|at| format!("d{at}")).collect();
    for folder in &folders {
        bench.disk.put_folder(&path(&format!("/w/{folder}")));
    }
    many(&bench, "/w/big", 300);
    let copies: Vec<String> = (0..300).map(|at| format!("cp big/{at} evil")).collect();
    let commands = [
        format!("mkdir -p {}", folders.join(" ")),
        format!("touch {}", folders.join(" ")),
        copies.join("; "),
        "cp -R plain empty; cp open sub".to_owned(),
        "(cp -R plain empty); cp open sub".to_owned(),
    ];
    for command in &commands {
        let before = files.lookups();
        open(&bench, &[command]).await;
        let lookups = files.lookups() - before;
        assert!(lookups < 10_000, "{lookups}: {}", &command[..20]);
    }
}

#[tokio::test]
async fn r8_3_what_lands_is_walked_once_and_no_further_than_it_is_judged() {
    let (bench, files) = counted(with_trees(everything().rule("edit", "*", Allow)));
    let trees: Vec<String> = (0..10).map(|at| format!("s{at}")).collect();
    for folder in 0..100 {
        for tree in &trees {
            bench.disk.put_folder(&path(&format!("/w/{tree}/{folder}")));
        }
    }
    large(&bench, "/w/large");
    let lookups = async |command: String| {
        let before = files.lookups();
        judged(&bench, &command).await;
        files.lookups() - before
    };
    // Each tree is walked to be read, and for links, unless there may be some anyway.
    let walk = 10 * 101;
    let landed = lookups(format!("cp -R {}/ empty", trees.join("/ "))).await - 2 * walk;
    assert!(landed < walk * 3 / 2, "{landed}");
    let landed = lookups(format!("cp -R large {} empty", trees.join(" "))).await - walk;
    assert!(landed < walk / 2, "{landed}");
}

#[tokio::test]
async fn r8_3_what_is_moved_or_linked_is_itself_filled_with_nothing() {
    let rules = everything().rule("edit", "*", Allow).rule("edit", "t2/config/*", Deny);
    let bench = with_trees(rules.rule("edit", "plain/open", Deny).rule("edit", "plain/sub", Deny));
    open(&bench, &["mv plain open sub", "mv plain open new", "ln -s plain open sub", "git mv plain open evil"]).await;
    // What it holds leaves with it, and is changed by what is written to its further name.
    let commands = ["mv t2 sub", "mv t2 new", "git mv t2 sub", "cp -rl t2 new", "cp -r --link t2 sub", "cp -rs t2 sub"];
    for command in commands {
        assert_eq!(judged(&bench, command).await, Deny, "{command}");
    }
}
