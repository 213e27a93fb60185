//! What version control and package managers bring in a text before a path is used there, and what git writes because its words say so.

use super::evasion_tests::{allowing, judged, open, shut, workspace};
use crate::permission::Verdict::{Allow, Ask, Deny};
use crate::workbench::Bench;

#[tokio::test]
async fn c62_paths_are_unknown_once_another_commit_a_patch_or_a_package_may_have_brought_links() {
    let bench =
        allowing(&["git", "gh", "hg", "svn", "npm", "pnpm", "yarn", "bun", "cat", "echo", "cd", "./tool", "touch"]);
    let bringing = [
        "git checkout x",
        "git checkout -b y origin/x",
        "git switch x",
        "git pull",
        "git -C . pull",
        "git merge x",
        "git cherry-pick x",
        "git revert x",
        "git apply a",
        "git am a",
        "git submodule update",
        "git worktree add ../w2/x",
        "git read-tree x",
        "gh pr checkout 1",
        "gh --repo x pr checkout 1",
        "hg update x",
        "svn update",
        "git \"$x\"",
    ];
    for text in bringing {
        for used in ["cat sub/b", "echo a > sub/new", "./tool", "cat *", "cd sub && cat b"] {
            let text = format!("{text} && {used}");
            assert_eq!(judged(&bench, &text).await, Ask, "{text}");
        }
    }
    let asked = [
        "cd sub && git checkout x; cat ../open",
        "npm ci && cat node_modules/x/y",
        "npm --silent install && cat node_modules/.bin/x",
        "yarn && cat node_modules/x",
        "git clone u && cat u/x",
        "git clone u d && cat d/x",
        "git worktree add d && cat d/x",
        "git worktree add -b kept d && cat d/x",
        "git clone --jobs 4 u d && cat d/x",
        "git -C sub clone u && cat sub/u/x",
        "git -C sub clone u d && cat sub/d/x",
        "git -C sub worktree add d && cat sub/d/x",
        "gh repo clone a/u && cat u/x",
        "gh repo clone a/u d && cat d/x",
        "npm isntall-clean && cat node_modules/x/y",
        "npm cit && cat node_modules/x/y",
        "npm it && cat node_modules/x/y",
        "npm publ; npm inst x && cat node_modules/x/y",
        "pnpm up && cat node_modules/x/y",
        "for i in 1 2; do cat open; git pull; done",
    ];
    shut(&bench, &asked).await;
    let harmless = [
        "cat open && git pull",
        "git fetch && cat open",
        "git checkout -b new && cat open",
        "git switch -c new && cat open",
        "git apply --check a && cat open",
        "git status && cat sub/b",
        "git worktree list && cat open",
        "npm ci && cat package.json",
        "npm test && cat open",
        "gh pr view && cat open",
        "git clone --branch kept --origin empty u d && cat kept/a",
        "git worktree add -b kept d && cat kept/a",
    ];
    open(&bench, &harmless).await;
}

#[tokio::test]
async fn r8_3_what_git_writes_because_its_words_say_so_is_judged_as_written() {
    let bench =
        allowing(&["git", "file"]).rule("edit", "*", Allow).rule("edit", "kept/*", Deny).rule("edit", "kept", Deny);
    let written = [
        "git worktree add PATH",
        "git worktree add PATH branch",
        "git worktree add -b new PATH",
        "git worktree add -b new PATH main",
        "git worktree add --detach PATH main",
        "git worktree move a PATH",
        "git bundle create PATH main",
        "git bundle create --version=3 PATH --all",
        "git archive -o PATH HEAD",
        "git archive -oPATH HEAD",
        "git archive -vo PATH HEAD",
        "git archive --output=PATH HEAD",
        "git archive --outp PATH HEAD",
        "git format-patch -o PATH main",
        "git format-patch -ko PATH main",
        "git format-patch -oPATH main",
        "git format-patch --output-directory PATH main",
        "git diff --output=PATH",
        "git diff --output PATH",
        "git log -p --output=PATH",
        "git show --outp=PATH",
        "git stash show -p --output=PATH",
        "git clone u PATH",
        "git clone --depth 1 u PATH",
        "git init PATH",
        "git init --separate-git-dir PATH",
        "git submodule add u PATH",
        "git checkout-index --prefix=PATH/ a",
        "git merge-file PATH a b",
        "git mailinfo PATH a",
        "git fast-export --export-marks=PATH main",
        "git init --initial-branch main PATH",
        "git init -b main PATH",
        "git init --object-format sha1 PATH",
        "git init --ref-format files PATH",
        "git init --shared PATH",
        "git init --strange x PATH",
        "git clone -j 4 u PATH",
        "git clone --jobs 4 u PATH",
        "git clone --job 4 u PATH",
        "git clone --filter blob:none u PATH",
        "git clone --branch x -o y u PATH",
        "git clone --revision x u PATH",
        "git clone --ref-format files u PATH",
        "git clone --shallow-since x u PATH",
        "git clone --shallow-exclude x u PATH",
        "git clone --server-option x u PATH",
        "git clone --reference-if-able x u PATH",
        "git clone --separate-git-dir new u PATH",
        "git clone --bundle-uri x u PATH",
        "git clone --recurse-submodules --no-tags u PATH",
        "git clone --strange x u PATH",
        "git clone --strange x y/PATH",
        "git worktree add --reason x --lock PATH main",
        "git worktree add --strange x PATH",
        "git submodule add --branch x --name y u PATH",
        "git submodule add --ref-format files u PATH",
        "git submodule add --strange x u PATH",
        "git bundle create --strange x PATH main",
        "git bundle create PATH --since 1 main",
        "git merge-file -L a PATH b c",
        "git merge-file --marker-size 5 PATH a b",
        "git mailinfo --encoding x PATH a",
        "git pack-objects --window 5 PATH",
        "git pack-objects PATH --window 5",
    ];
    for text in written {
        let outside = text.replace("PATH", "../outside");
        assert_eq!(judged(&bench, &outside).await, Ask, "{outside}");
        let denied = text.replace("PATH", "kept");
        assert_eq!(judged(&bench, &denied).await, Deny, "{denied}");
        let inside = text.replace("PATH", "new");
        assert_eq!(judged(&bench, &inside).await, Allow, "{inside}");
    }
    shut(
        &bench,
        &[
            "cd .. && git format-patch main",
            "git -C .. format-patch main",
            "file -C -m ../x",
            "file -Cm a:../b",
            "cd ..; file -C",
        ],
    )
    .await;
    let harmless = [
        "git worktree list",
        "git bundle verify a",
        "git archive HEAD",
        "git diff --stat",
        "git format-patch --stdout main",
        "git clone --branch kept u new",
        "git clone --jobs 4 --filter kept u new",
        "git init --initial-branch kept new",
        "git worktree add -b kept new",
        "git bundle create new kept",
    ];
    open(&bench, &harmless).await;
}

#[tokio::test]
async fn r8_3_files_that_a_list_names_may_be_any() {
    let bench = workspace(Bench::new().rule("bash", "*", Allow)).rule("read", "kept/*", Deny);
    let commands = [
        "sort --files0-from=a",
        "sort --files0-f a",
        "wc --files0-from=a",
        "du --files0-from a",
        "tar cf - -T a",
        "tar -cT a -f x",
        "tar cf x --files-from=a",
        "rsync --files-from=a sub d",
        "zip x -@ < a",
        "cpio -o < a",
        "file -f a",
    ];
    for text in commands {
        assert_eq!(judged(&bench, text).await, Ask, "{text}");
    }
}

#[tokio::test]
async fn r8_3_words_that_git_lists_are_names_of_tracked_files() {
    let bench = || allowing(&["git", "xargs", "wc", "cat", "rm", "bash", "sed"]).rule("read", "kept/*", Deny);
    let counted = [
        "git ls-files | xargs wc -l",
        "git ls-files -z -- sub | xargs -0 wc -l",
        "git ls-files '*.rs' | xargs env wc -l",
    ];
    open(&bench(), &counted).await;
    // What they hold is judged.
    assert_eq!(judged(&bench(), "git ls-files | xargs cat").await, Deny);
    let asked = [
        "git ls-files -o | xargs wc -l",
        "git ls-files --others | xargs wc -l",
        "git ls-files | sed s/a/b/ | xargs wc -l",
        "git ls-files | xargs wc -l < a",
        "git ls-files | xargs -a a wc -l",
        "git ls-files | xargs -I{} wc {}",
        "git ls-files > a | xargs wc -l",
        "git ls-files | xargs bash -c 'cat \"$@\"'",
        "git ls-files | xargs wc -l $(xargs cat < a)",
        "git ls-files | { xargs wc -l; } < a",
        "cd \"$x\"; git ls-files | xargs wc -l",
        "cat a | xargs wc -l",
    ];
    shut(&bench(), &asked).await;
    for name in ["x --files0-from=.env", "--files0-from=.env", "a\\b", "it's", "sub/c\td"] {
        let bench = bench();
        bench.put(&format!("/w/{name}"), "x\n");
        assert_eq!(judged(&bench, "git ls-files | xargs wc -l").await, Ask, "{name}");
    }
    let bench = bench();
    bench.put("/w/.git/refs/x y", "x\n");
    open(&bench, &["git ls-files | xargs wc -l"]).await;
}

#[tokio::test]
async fn r8_5_hidden_files_that_a_search_leaves_out_are_not_asked() {
    let bench = allowing(&["rg", "grep", "cat"]);
    let reading = [
        "rg --hidden KEY sub",
        "rg -. KEY sub",
        "rg -uu KEY sub",
        "rg --unrestricted KEY sub",
        "rg --hid KEY sub",
        "rg -g .env KEY sub",
        "rg --iglob='.e*' KEY sub",
        "rg KEY",
        "rg --no-ignore KEY sub",
        "rg KEY .env",
        "rg KEY sub .env",
        "rg KEY \"$x\"",
        "cat a | xargs rg KEY",
        "grep -r KEY .",
    ];
    shut(&bench, &reading).await;
    open(&bench, &["rg KEY sub", "cd sub && rg KEY", "cd sub && rg KEY .", "rg -l KEY sub open"]).await;

    for rule in ["!.env", "!*.env", "!**/.e*", "!/sub/.env", "!.{env,x}", "! \n!.[e]nv", "!sub/*"] {
        for file in [".gitignore", "sub/.ignore", ".rgignore", "../.ignore"] {
            let bench = allowing(&["rg"]);
            bench.put(&format!("/w/{file}").replace("/w/..", ""), format!("target\n{rule}\n"));
            assert_eq!(judged(&bench, "rg KEY sub").await, Ask, "{rule} in {file}");
        }
    }
    let bench = allowing(&["rg"]);
    bench.put("/w/.gitignore", ".env\n!.env.example\n!.github/\n#!.env\n");
    open(&bench, &["rg KEY sub"]).await;
}

#[tokio::test]
async fn r8_5_a_search_that_leaves_ignored_folders_out_is_not_asked_for_their_files() {
    let bench = |rules: &str| {
        let bench = allowing(&["rg"]).rule("read", "*/id_rsa", Ask);
        bench.put("/w/sub/node_modules/id_rsa", "x\n").put("/w/sub/.gitignore", rules.to_owned());
        bench.put("/w/sub/.hidden/id_rsa", "x\n");
        bench
    };
    for rules in ["node_modules", "target\nnode_modules/\n*.log\n!keep"] {
        open(&bench(rules), &["rg KEY sub"]).await;
    }
    for rules in
        ["", "/x/node_modules", "#node_modules", "node_modules\n!node_modules", "node_modules\n!**/n*", "node*"]
    {
        assert_eq!(judged(&bench(rules), "rg KEY sub").await, Ask, "{rules}");
    }
    for repository in ["HEAD", ""] {
        let another = bench("node_modules");
        another.put(format!("/w/sub/deep/.git/{repository}").trim_end_matches('/'), "x\n");
        another.put("/w/sub/deep/node_modules/id_rsa", "x\n");
        assert_eq!(judged(&another, "rg KEY sub").await, Ask, "another repository");
    }
    let nested = bench("node_modules");
    nested.put("/w/sub/deep/.ignore", "!node_modules\n").put("/w/sub/deep/node_modules/id_rsa", "x\n");
    assert_eq!(judged(&nested, "rg KEY sub").await, Ask);
}
