use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::config::{Config, EditorSays, load};
use crate::message::{Finish, PromptPart};
use crate::permission::Origin;
use crate::testing::{FakeEnvironment, FakeHttp, FakeModel, World};
use crate::workbench::Bench;

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

const APP: &str = "/home/user/project/app";

/// The session's folder is `/home/user/project/app`, the worktree is `/home/user/project`.
struct Project {
    world: World,
    ports: Ports,
    facts: Facts,
}

impl Project {
    async fn new<const N: usize>(files: &[(&str, &str)], vars: [(&str, &str); N]) -> Self {
        let world = World::new(FakeModel::new().0);
        for (name, text) in files {
            world.disk.put(&path(name), *text);
        }
        world.disk.put_folder(&path(APP));
        let ports = Ports { environment: FakeEnvironment::new(vars), ..world.ports.clone() };
        let engine = world.engine(crate::registry::Registry::new([]));
        let facts = engine.place(path(APP), vec![path(APP)]).await.facts;
        Self { world, ports, facts }
    }

    async fn config(&self) -> Config {
        load(&self.ports, &self.facts, EditorSays::default()).await
    }

    async fn found(&self) -> Skills {
        let settings = self.config().await.skills;
        let fetched = fetch(&self.ports, &settings).await;
        Skills::find(&self.ports, &self.facts, &settings, &fetched).await
    }
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Use it when: {name}\n---\n\n# {name}\n\nDo it.\n")
}

fn names(skills: &Skills) -> Vec<&str> {
    skills.allowed(&[]).map(|skill| skill.name.as_str()).collect()
}

#[tokio::test]
async fn skills_are_found_in_every_usual_folder() {
    let places = [
        ("a", "/home/user/.claude/skills/a/SKILL.md"),
        ("b", "/home/user/.agents/skills/deep/er/b/SKILL.md"),
        ("c", "/home/user/project/.claude/skills/c/SKILL.md"),
        ("d", "/home/user/project/app/.agents/skills/d/SKILL.md"),
        ("e", "/home/user/.config/opencode/skill/e/SKILL.md"),
        ("f", "/home/user/.config/copydesk/skills/f/SKILL.md"),
        ("g", "/home/user/.opencode/skills/g/SKILL.md"),
        ("h", "/home/user/project/.opencode/skills/h/SKILL.md"),
        ("i", "/home/user/project/app/.copydesk/skill/i/SKILL.md"),
        ("j", "/home/user/more/j/SKILL.md"),
        ("k", "/home/user/project/app/own/SKILL.md"),
        ("l", "/given/skills/l/SKILL.md"),
        ("-", "/home/user/project/skills/no/SKILL.md"),
    ];
    let texts: Vec<(String, &str)> = places.iter().map(|(name, file)| (skill(name), *file)).collect();
    let mut files: Vec<(&str, &str)> = texts.iter().map(|(text, file)| (*file, text.as_str())).collect();
    files.push(("/home/user/.config/copydesk/copydesk.jsonc", r#"{"skills": ["~/more", "own"]}"#));
    let project = Project::new(&files, [("OPENCODE_CONFIG_DIR", "/given")]).await;
    let found = project.found().await;
    assert_eq!(names(&found), ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]);
    assert_eq!(found.problems(), Vec::<String>::new());

    let vars = [("OPENCODE_DISABLE_CLAUDE_CODE_SKILLS", "1"), ("OPENCODE_DISABLE_PROJECT_CONFIG", "true")];
    let found = Project::new(&files, vars).await.found().await;
    assert_eq!(names(&found), ["b", "e", "f", "g", "j", "k"]);
    let found = Project::new(&files, [("OPENCODE_DISABLE_EXTERNAL_SKILLS", "1")]).await.found().await;
    assert_eq!(names(&found), ["e", "f", "g", "h", "i", "j", "k"]);
}

#[tokio::test]
async fn what_is_no_skill_is_told_and_the_later_of_one_name_is_taken() {
    let project = Project::new(
        &[
            ("/home/user/.claude/skills/a/SKILL.md", "no head"),
            ("/home/user/.claude/skills/b/SKILL.md", "---\nname: [1]\n---\n"),
            ("/home/user/.claude/skills/c/SKILL.md", "---\nname: c: d\n---\n"),
            ("/home/user/.claude/skills/same/SKILL.md", &skill("same")),
            ("/home/user/project/.opencode/skills/same/SKILL.md", &skill("same")),
        ],
        [],
    )
    .await;
    let found = project.found().await;
    assert_eq!(names(&found), ["c: d", "same"]);
    insta::assert_snapshot!(found.problems().join("\n"), @"
    skills: /home/user/.claude/skills/a/SKILL.md is left out: its head must say the `name` of the skill, in YAML between two lines `---`
    skills: /home/user/.claude/skills/b/SKILL.md is left out: its head must say the `name` of the skill, in YAML between two lines `---`
    skills: /home/user/project/.opencode/skills/same/SKILL.md takes the place of /home/user/.claude/skills/same/SKILL.md, which has the same name
    ");
    let taken = found.allowed(&[]).last().unwrap();
    assert!(taken.file.to_string().starts_with("/home/user/project") && taken.within.is_some());
}

/// A repository is not trusted: its links stay in it, and its configuration names no folders outside of it and no addresses.
#[tokio::test]
async fn r19_1_skills_of_a_repository_stay_in_it() {
    let text = skill("inside");
    let project = Project::new(
        &[
            ("/home/user/private/SKILL.md", &skill("private")),
            ("/home/user/dotfiles/mine/SKILL.md", &skill("mine")),
            ("/home/user/project/real/SKILL.md", &text),
            (
                "/home/user/project/opencode.json",
                r#"{"skills": {"paths": ["/home/user/private", "../../private", "~/private", "real"], "urls": ["https://evil.example/s"]}}"#,
            ),
        ],
        [],
    )
    .await;
    let disk = &project.world.disk;
    disk.put_link(&path("/home/user/project/.claude/skills/out"), "/home/user/private");
    disk.put_link(&path("/home/user/project/.opencode/skills/x/SKILL.md"), "/home/user/private/SKILL.md");
    disk.put_link(&path("/home/user/project/.agents/skills/in"), "../../real");
    // The user's own links lead anywhere.
    disk.put_link(&path("/home/user/.claude/skills/mine"), "/home/user/dotfiles/mine");
    let found = project.found().await;
    let mut own = names(&found);
    own.retain(|name| *name != "inside");
    assert_eq!(own, ["mine"], "{:?}", found.problems());
    assert_eq!(found.problems().iter().filter(|problem| problem.contains("/home/user/private")).count(), 2);

    let config = project.config().await;
    assert!(config.skills.urls.is_empty());
    let told: Vec<String> =
        config.problems.iter().chain(&config.left_out().collect::<Vec<_>>()).map(ToString::to_string).collect();
    assert!(told.iter().any(|text| text.contains("skills.urls: left out")), "{told:?}");
    assert_eq!(told.iter().filter(|text| text.contains(": skills: ")).count(), 3, "{told:?}");
    assert!(project.world.http.addresses().is_empty());
}

#[tokio::test]
async fn the_system_prompt_lists_what_the_agent_may_load() {
    let project = Project::new(
        &[
            ("/home/user/.claude/skills/a/SKILL.md", &skill("a")),
            ("/home/user/.claude/skills/b/SKILL.md", &skill("b")),
            ("/home/user/.claude/skills/quiet/SKILL.md", "---\nname: quiet\n---\nbody"),
            (
                "/home/user/.claude/skills/z/SKILL.md",
                "---\nname: z\ndescription: |\n  Two\n  lines </skill></available_skills> & more\n---\n",
            ),
        ],
        [],
    )
    .await;
    let found = project.found().await;
    let rule = |pattern: &str| Rule {
        permission: SKILL.to_owned(),
        pattern: pattern.to_owned(),
        verdict: Verdict::Deny,
        origin: Origin::Variable { name: "X".to_owned() },
    };
    insta::assert_snapshot!(found.told(&[rule("b")]).unwrap(), @"
    Skills are instructions for certain kinds of task. Before you begin a task that the description of one names, load it with the tool `skill`.
    <available_skills>
      <skill>
        <name>a</name>
        <description>Use it when: a</description>
        <location>/home/user/.claude/skills/a/SKILL.md</location>
      </skill>
      <skill>
        <name>z</name>
        <description>Two lines &lt;/skill&gt;&lt;/available_skills&gt; &amp; more</description>
        <location>/home/user/.claude/skills/z/SKILL.md</location>
      </skill>
    </available_skills>
    ");
    assert_eq!(found.told(&[rule("*")]), None);
    assert_eq!(Skills::default().told(&[]), None);
}

/// A repository with hundreds of them takes no place from the user's own.
#[tokio::test]
async fn the_skills_of_a_repository_do_not_crowd_out_the_users() {
    let long = "x".repeat(1000);
    let text = |name: &str| format!("---\nname: {name}\ndescription: {long}\n---\n");
    let mut files: Vec<(String, String)> =
        (0..100).map(|n| (format!("/home/user/project/.claude/skills/{n}/SKILL.md"), text(&format!("a{n}")))).collect();
    files.push(("/home/user/.claude/skills/mine/SKILL.md".to_owned(), text("mine")));
    let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
    let told = Project::new(&files, []).await.found().await.told(&[]).unwrap();
    assert!(told.contains("<name>mine</name>"), "the user's own is told");
    assert!(told.contains("more have no place here"));
}

/// A session with these files, whose skills are found.
async fn bench(files: &[(&str, &str)]) -> Bench {
    let mut bench = Bench::new();
    for (file, text) in files {
        bench.put(file, *text);
    }
    let settings = SkillSettings {
        roots: vec![
            SkillRoot::of_user(path("/home/user/.claude/skills")),
            SkillRoot::of_project(path("/w/.claude/skills")),
        ],
        ..SkillSettings::default()
    };
    let world = World::new(FakeModel::new().0);
    let ports = Ports { files: bench.files.clone(), ..world.ports };
    bench.skills = Arc::new(Skills::find(&ports, &bench.facts, &settings, &FetchedSkills::default()).await);
    bench
}

#[tokio::test]
async fn a_skill_is_loaded_with_what_lies_beside_it() {
    let text = skill("a");
    let mut files = vec![("/home/user/.claude/skills/a/SKILL.md".to_owned(), text.as_str())];
    files.push(("/home/user/.claude/skills/a/.hidden".to_owned(), ""));
    files.extend((0..12).map(|n| (format!("/home/user/.claude/skills/a/scripts/{n:02}.sh"), "")));
    let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (file.as_str(), *text)).collect();
    let bench = bench(&files).await;
    let outcome = bench.call("skill", json!({"name": "a"})).await;
    assert_eq!(outcome.result.metadata, json!({"name": "a", "dir": "/home/user/.claude/skills/a"}));
    assert_eq!(outcome.result.title, "Load skill a");
    insta::assert_snapshot!(outcome.result.text, @r#"
    <skill_content name="a">
    # Skill: a

    # a

    Do it.

    Base directory for this skill: /home/user/.claude/skills/a
    Paths in it (such as scripts/ and reference/) are relative to that directory.
    The list of files may not be whole.

    <skill_files>
    <file>/home/user/.claude/skills/a/.hidden</file>
    <file>/home/user/.claude/skills/a/scripts/00.sh</file>
    <file>/home/user/.claude/skills/a/scripts/01.sh</file>
    <file>/home/user/.claude/skills/a/scripts/02.sh</file>
    <file>/home/user/.claude/skills/a/scripts/03.sh</file>
    <file>/home/user/.claude/skills/a/scripts/04.sh</file>
    <file>/home/user/.claude/skills/a/scripts/05.sh</file>
    <file>/home/user/.claude/skills/a/scripts/06.sh</file>
    <file>/home/user/.claude/skills/a/scripts/07.sh</file>
    <file>/home/user/.claude/skills/a/scripts/08.sh</file>
    </skill_files>
    </skill_content>
    "#);
    let text = bench.failed("skill", json!({"name": "x"})).await;
    assert_eq!(text, "There is no skill \"x\". Skills: a.");
}

#[tokio::test]
async fn rules_deny_and_ask_for_skills_by_name() {
    let text = skill("deploy");
    let files = [("/home/user/.claude/skills/d/SKILL.md", text.as_str())];
    let denied = bench(&files).await.rule("skill", "dep*", Verdict::Deny);
    assert!(denied.failed("skill", json!({"name": "deploy"})).await.contains("denied by rule skill"));
    let asked = bench(&files).await.rule("skill", "*", Verdict::Ask);
    let answer = async {
        let ask = asked.client.next_ask().await;
        let label = &ask.ask.options[1].label;
        assert!(label.contains("the skill deploy"), "{label}");
        ask.select(crate::ports::OptionKind::AllowAlways, None);
    };
    let (text, ()) = tokio::join!(asked.done("skill", json!({"name": "deploy"})), answer);
    assert!(text.contains("# Skill: deploy"), "{text}");
    asked.done("skill", json!({"name": "deploy"})).await;
}

/// Under the name of a skill no file is told that would be asked for under its own.
#[tokio::test]
async fn c61_a_link_of_a_repository_makes_no_skill_of_a_secret() {
    let mut bench = bench(&[("/w/.env", "---\nname: s\n---\nKEY=secret")]).await;
    bench.disk.put_link(&path("/w/.claude/skills/s/SKILL.md"), "/w/.env");
    let settings =
        SkillSettings { roots: vec![SkillRoot::of_project(path("/w/.claude/skills"))], ..SkillSettings::default() };
    let world = World::new(FakeModel::new().0);
    let ports = Ports { files: bench.files.clone(), ..world.ports };
    let skills = Skills::find(&ports, &bench.facts, &settings, &FetchedSkills::default()).await;
    bench.skills = Arc::new(skills);
    let text = bench.failed("skill", json!({"name": "s"})).await;
    assert!(text.contains("is not read unasked: rule read") && !text.contains("secret"), "{text}");
}

const URL: &str = "https://skills.example/s";

async fn with_urls(http: &FakeHttp, index: &str) {
    http.answer(&format!("{URL}/index.json"), 200, &[], index);
}

#[tokio::test]
async fn skills_of_addresses_are_fetched_once_and_kept() {
    let user = r#"{"skills": {"urls": ["https://skills.example/s"]}}"#;
    let project = Project::new(&[("/home/user/.config/copydesk/copydesk.jsonc", user)], []).await;
    let http = &project.world.http;
    let index = |version: &str| {
        json!({"skills": [
            {"name": "a", "files": ["SKILL.md", "ref/x.md"], "version": version},
            {"name": "../up", "files": ["SKILL.md"]},
            {"name": "climbs", "files": ["SKILL.md", "../../x"]},
            {"name": "empty", "files": ["x.md"]},
            {"name": "gone", "files": ["SKILL.md"]},
        ]})
        .to_string()
    };
    with_urls(http, &index("1")).await;
    http.answer(&format!("{URL}/a/SKILL.md"), 200, &[], skill("a"));
    http.answer(&format!("{URL}/a/ref/x.md"), 200, &[], "x");
    let found = project.found().await;
    assert_eq!(names(&found), ["a"], "{:?}", found.problems());
    assert_eq!(found.problems().len(), 4);
    let file = found.allowed(&[]).next().unwrap().file.clone();
    assert!(file.to_string().starts_with("/home/user/.cache/copydesk/skills/"), "{file}");

    let before = http.addresses().len();
    project.found().await;
    let again: Vec<_> = http.addresses().split_off(before);
    assert!(
        !again.iter().any(|address| address.ends_with("/a/SKILL.md")),
        "the same version is not fetched again: {again:?}"
    );
    with_urls(http, &index("2")).await;
    http.answer(&format!("{URL}/a/SKILL.md"), 200, &[], skill("new"));
    assert_eq!(names(&project.found().await), ["new"]);
    // Without the network what was fetched is there.
    http.answer(&format!("{URL}/index.json"), 500, &[], "");
    let found = project.found().await;
    assert_eq!(names(&found), ["new"]);
    assert!(found.problems()[0].ends_with("what was fetched earlier is used"), "{:?}", found.problems());
}

/// What was interrupted while it was put into the cache is fetched again, whether the index names a version or not.
#[tokio::test]
async fn a_skill_that_was_kept_in_part_is_fetched_again() {
    for version in [json!("1"), Value::Null] {
        let user = r#"{"skills": {"urls": ["https://skills.example/s"]}}"#;
        let project = Project::new(&[("/home/user/.config/copydesk/copydesk.jsonc", user)], []).await;
        let http = &project.world.http;
        let index = json!({"skills": [{"name": "a", "files": ["SKILL.md", "ref/x.md"], "version": version}]});
        with_urls(http, &index.to_string()).await;
        http.answer(&format!("{URL}/a/SKILL.md"), 200, &[], skill("a"));
        http.answer(&format!("{URL}/a/ref/x.md"), 200, &[], "x");
        let cache = project.config().await.skills.cache.unwrap();
        let kept = cache.join(format!("{:?}", copydesk_workspace::hash::ContentHash::of(URL.as_bytes())));
        project.world.disk.put(&kept.join("a/SKILL.md"), skill("a"));
        assert_eq!(names(&project.found().await), ["a"]);
        let text = project.ports.files.read(kept.join("a/ref/x.md")).await;
        assert_eq!(text.ok().as_deref(), Some(b"x".as_slice()), "{version}");
        let before = http.addresses().len();
        project.found().await;
        assert_eq!(http.addresses().len(), before + 1, "{version}: but for the index nothing is fetched again");
    }
}

/// One skill that brings a whole library with it hides no other.
#[tokio::test]
async fn a_skill_with_thousands_of_files_beside_it_hides_no_other() {
    let mut files: Vec<(String, String)> =
        ["a", "m", "z"].map(|name| (format!("/home/user/.claude/skills/{name}/SKILL.md"), skill(name))).to_vec();
    for name in ["a", "m", "z"] {
        let library = format!("/home/user/.claude/skills/{name}/.venv/lib");
        files.extend((0..1500).map(|n| (format!("{library}/{n}.py"), String::new())));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
    let found = Project::new(&files, []).await.found().await;
    assert_eq!(names(&found), ["a", "m", "z"], "{:?}", found.problems());
}

/// `~/.agents/skills` is often a link to `~/.claude/skills`, or single skills in it are: nothing takes the place of another there.
#[tokio::test]
async fn one_skill_under_two_names_is_no_conflict() {
    let project = Project::new(&[("/home/user/.claude/skills/a/SKILL.md", &skill("a"))], []).await;
    let disk = &project.world.disk;
    disk.put_link(&path("/home/user/.agents/skills"), "/home/user/.claude/skills");
    disk.put_link(&path("/home/user/.config/copydesk/skills/a"), "/home/user/.claude/skills/a");
    let found = project.found().await;
    assert_eq!((names(&found), found.problems()), (vec!["a"], [].as_slice()));
}

#[tokio::test]
async fn what_lies_beside_a_skill_of_the_user_is_read_without_a_question() {
    let project = Project::new(&[], []).await;
    let config = project.config().await;
    let check = |folder: &str, expected: Verdict| {
        let pattern = format!("{folder}/*");
        let rules = &config.agents["build"].rules;
        assert_eq!(permission::decide("external_directory", &[pattern], rules, &[]).verdict, expected, "{folder}");
    };
    check("/home/user/.claude/skills/a/scripts", Verdict::Allow);
    check("/home/user/.config/copydesk/skills/a", Verdict::Allow);
    check("/home/user/.claude", Verdict::Ask);
}

/// The model is told of skills with the first request, and gets the tool only where there is something to load.
#[tokio::test]
async fn a_run_tells_of_skills_and_offers_the_tool_for_them() {
    let (model, mut player) = FakeModel::new();
    let world = World::new(model);
    world.disk.put(&path("/home/user/project/.claude/skills/a/SKILL.md"), skill("a"));
    let engine = world.engine(crate::registry::Registry::builtin());
    let with = Config {
        skills: SkillSettings {
            roots: vec![SkillRoot::of_project(path("/home/user/project/.claude/skills"))],
            ..SkillSettings::default()
        },
        ..crate::testing::config()
    };
    for (config, is_told) in [(with, true), (crate::testing::config(), false)] {
        let session = world.session(&engine, config).await.unwrap();
        let end = session.prompt(vec![PromptPart::Text { text: "hello".to_owned() }]).unwrap();
        let reply = player.next_request().await;
        assert_eq!(reply.request.system.contains("<name>a</name>"), is_told);
        assert_eq!(reply.request.tools.iter().any(|tool| tool.name == SKILL), is_told);
        reply.text("hi");
        reply.finish(Finish::Stop);
        end.await;
    }
}
