#![expect(clippy::unwrap_used, reason = "tests")]

use copydesk_workspace::path::AbsPath;

use super::*;
use crate::config::Config;
use crate::permission::{Origin, Rule, Verdict};
use crate::testing::{FakeModel, World};

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

struct Project {
    world: World,
    facts: Facts,
}

impl Project {
    /// Files by path; the session's folder is `/home/user/project/app`, the worktree is `/home/user/project`.
    async fn new(files: &[(&str, &str)]) -> Self {
        let world = World::new(FakeModel::new().0);
        for (name, text) in files {
            world.disk.put(&path(name), *text);
        }
        let folder = path("/home/user/project/app");
        world.disk.put_folder(&folder);
        let engine = world.engine(crate::registry::Registry::new([]));
        let facts = engine.place(folder.clone(), vec![folder, path("/srv/shared")]).await.facts;
        Self { world, facts }
    }

    async fn instructions(&self, configured: &[&str]) -> Instructions {
        let configured = configured.iter().map(|entry| (*entry).to_owned()).collect();
        let config = Config { instructions: configured, ..Config::default() };
        read_instructions(&self.world.ports, &self.facts, &config).await
    }

    /// The files in their order, without their texts.
    async fn check(&self, configured: &[&str], expected: &[&str]) {
        let found = self.instructions(configured).await;
        let paths: Vec<String> = found.files.iter().map(|file| file.path.to_string()).collect();
        assert_eq!(paths, expected, "{:?}", found.problems);
    }
}

#[tokio::test]
async fn r20_1_the_environment_names_folder_project_and_roots() {
    let project = Project::new(&[]).await;
    insta::assert_snapshot!(environment(&project.world.ports, &project.facts, true), @r"
    <environment>
    Folder, the base of relative paths: /home/user/project/app
    Root of the project: /home/user/project
    Roots of the workspace, by name:
    - app: /home/user/project/app
    - shared: /srv/shared
    Git repository: yes
    Platform: linux
    Today: Mon Nov 30 2026
    </environment>
    ");
}

#[tokio::test]
async fn of_the_global_files_the_first_counts_and_of_the_project_names_too() {
    let project = Project::new(&[
        ("/home/user/.config/opencode/AGENTS.md", "opencode"),
        ("/home/user/.claude/CLAUDE.md", "claude"),
        ("/home/user/AGENTS.md", "above the worktree"),
        ("/home/user/project/AGENTS.md", "outer"),
        ("/home/user/project/CLAUDE.md", "another name"),
        ("/home/user/project/app/AGENTS.md", "inner"),
        ("/home/user/project/app/CONTEXT.md", "another name"),
    ])
    .await;
    let expected =
        ["/home/user/.config/opencode/AGENTS.md", "/home/user/project/AGENTS.md", "/home/user/project/app/AGENTS.md"];
    project.check(&[], &expected).await;
    project.world.disk.put(&path("/home/user/.config/copydesk/AGENTS.md"), "ours");
    project.world.disk.take(&path("/home/user/project/AGENTS.md"));
    project.world.disk.take(&path("/home/user/project/app/AGENTS.md"));
    project.check(&[], &["/home/user/.config/copydesk/AGENTS.md", "/home/user/project/CLAUDE.md"]).await;
}

#[tokio::test]
async fn configured_instructions_are_paths_and_globs() {
    let project = Project::new(&[
        ("/home/user/project/docs/a.md", "a"),
        ("/home/user/project/docs/b.txt", "b"),
        ("/home/user/project/docs/deep/er/c.md", "c"),
        ("/home/user/project/app/docs/d.md", "d"),
        ("/home/user/project/odd[1].md", "literal"),
        ("/home/user/notes/e.md", "e"),
        ("/etc/rules/f.md", "f"),
    ])
    .await;
    project.check(&["docs/*.md"], &["/home/user/project/docs/a.md", "/home/user/project/app/docs/d.md"]).await;
    project.check(&["docs/**/c.md"], &["/home/user/project/docs/deep/er/c.md"]).await;
    project.check(&["odd[1].md"], &["/home/user/project/odd[1].md"]).await;
    project
        .check(&["~/notes/*.md", "/etc/rules/f.md", "/etc/*/f.md"], &["/home/user/notes/e.md", "/etc/rules/f.md"])
        .await;
    let found = project.instructions(&["https://example.com/rules.md", "missing.md", "a[.md"]).await;
    assert_eq!(found.files, vec![]);
    insta::assert_snapshot!(found.problems.join("\n"), @r"
    instructions: https://example.com/rules.md is an address, which is not fetched; save it as a file and name that
    instructions: no file matches missing.md
    instructions: a[.md is no valid pattern: error parsing glob 'a[.md': unclosed character class; missing ']'
    ");
}

#[tokio::test]
async fn instructions_are_capped_one_by_one_and_together() {
    let line = "a line of thirty-two characters\n";
    let big = line.repeat(2 * 1024);
    let files = ["a", "b", "c", "d", "e"].map(|name| format!("/home/user/project/{name}.md"));
    let files: Vec<(&str, &str)> = files.iter().map(|name| (name.as_str(), big.as_str())).collect();
    let project = Project::new(&files).await;
    let found = project.instructions(&["*.md"]).await;
    let total: usize = found.files.iter().map(|file| file.text.len()).sum();
    assert!(total <= 97 * 1024, "{total}");
    assert!(found.files[0].text.len() <= 33 * 1024);
    assert!(
        found.files[0].text.ends_with("of 65536 bytes are shown. Read it for the rest.)"),
        "{}",
        &found.files[0].text[32_700..]
    );
    assert!(found.problems.iter().any(|problem| problem.contains("e.md was left out")), "{:?}", found.problems);
}

#[tokio::test]
async fn a_file_that_is_no_text_is_a_problem() {
    let project = Project::new(&[]).await;
    project.world.disk.put(&path("/home/user/project/AGENTS.md"), vec![0_u8, 1, 2, 3]);
    let found = project.instructions(&[]).await;
    assert_eq!(found.files, vec![]);
    assert_eq!(found.problems, ["instructions: /home/user/project/AGENTS.md: the file is binary"]);
}

#[tokio::test]
async fn the_system_prompt_puts_who_where_and_instructions_together() {
    let project = Project::new(&[("/home/user/project/AGENTS.md", "Use tabs.\n")]).await;
    let instructions = project.instructions(&[]).await;
    let surroundings = Surroundings::new("<environment/>".to_owned(), &instructions);
    let agent = Agent::new("build", None);
    let system = surroundings.system(&agent);
    assert!(system.starts_with("You are Copydesk"), "{system}");
    assert!(
        system.ends_with("<environment/>\n\nInstructions from: /home/user/project/AGENTS.md\nUse tabs."),
        "{system}"
    );
    let own = Agent { prompt: Some("You are a pirate.\n".to_owned()), ..agent.clone() };
    assert_eq!(
        surroundings.system(&own),
        "You are a pirate.\n\n<environment/>\n\nInstructions from: /home/user/project/AGENTS.md\nUse tabs."
    );
    assert_eq!(surroundings.system(&Agent { prompt: Some(" ".to_owned()), ..agent }), system);
}

#[tokio::test]
async fn r19_1_a_project_cannot_have_secrets_or_foreign_files_told_unasked() {
    let project = Project::new(&[
        ("/home/user/.ssh/id_rsa", "secret"),
        ("/home/user/project/.env", "KEY=secret"),
        ("/home/user/project/docs/real.md", "fine"),
    ])
    .await;
    let disk = &project.world.disk;
    disk.put_link(&path("/home/user/project/AGENTS.md"), "../.ssh/id_rsa");
    disk.put_link(&path("/home/user/project/app/AGENTS.md"), "../docs/real.md");
    disk.put_link(&path("/home/user/project/docs/linked.md"), "../.env");
    let found = project.instructions(&[".env", "docs/linked.md"]).await;
    let paths: Vec<String> = found.files.iter().map(|file| file.path.to_string()).collect();
    assert_eq!(paths, ["/home/user/project/app/AGENTS.md"]);
    insta::assert_snapshot!(found.problems.join("\n"), @r#"
    instructions: /home/user/project/AGENTS.md leads out of the project, to /home/user/.ssh/id_rsa; name that in your own configuration
    instructions: /home/user/project/.env is not read unasked: rule read "*.env": ask (built-in default)
    instructions: /home/user/project/docs/linked.md is not read unasked: rule read "*.env": ask (built-in default)
    "#);
    // The user may: by an absolute path.
    project.check(&["~/.ssh/id_rsa"], &["/home/user/project/app/AGENTS.md", "/home/user/.ssh/id_rsa"]).await;
}

#[tokio::test]
async fn c61_instructions_that_rules_keep_from_the_model_are_not_read() {
    let project =
        Project::new(&[("/home/user/project/docs/a.md", "open"), ("/home/user/project/docs/b.md", "TOKEN")]).await;
    let mut config = Config { instructions: vec!["docs/*.md".to_owned()], ..Config::default() };
    for agent in config.agents.values_mut() {
        for (pattern, verdict) in [("*", Verdict::Ask), ("docs/b.md", Verdict::Deny)] {
            let origin = Origin::Variable { name: "X".to_owned() };
            let (permission, pattern) = ("read".to_owned(), pattern.to_owned());
            agent.rules.push(Rule { permission, pattern, verdict, origin });
        }
    }
    let found = read_instructions(&project.world.ports, &project.facts, &config).await;
    assert_eq!(found.files.iter().map(|file| file.text.as_str()).collect::<Vec<_>>(), ["open"]);
    assert!(found.problems[0].contains("docs/b.md is not read unasked: rule read"), "{:?}", found.problems);
}
