//! Rules and commands whose options stand before what they do.

use super::evasion_tests::{judged, workspace};
use crate::permission::Verdict::{self, Allow, Ask, Deny};
use crate::workbench::Bench;

const RULES: [(&str, Verdict); 14] = [
    ("*", Allow),
    ("npm publish *", Deny),
    ("npm run deploy*", Deny),
    ("git push *", Deny),
    ("git remote add *", Deny),
    ("docker rm *", Deny),
    ("docker compose down*", Deny),
    ("kubectl delete *", Deny),
    ("cargo publish *", Deny),
    ("gh pr merge *", Deny),
    ("terraform apply*", Ask),
    ("tar *", Deny),
    ("tar -tf *", Allow),
    ("aws s3 rm *", Deny),
];

fn bench() -> Bench {
    workspace(RULES.iter().fold(Bench::new(), |bench, (pattern, verdict)| bench.rule("bash", pattern, *verdict)))
}

#[tokio::test]
async fn r9_2_rules_that_deny_or_ask_meet_commands_with_options_before_what_they_do() {
    let bench = bench();
    let denied = [
        "npm --silent publish",
        "npm -s publish --tag x",
        "npm --prefix d publish",
        "npm --registry=http://x publish",
        "npm --loglevel silent --prefix d publish",
        "'npm' --silent \"publish\"",
        "/usr/bin/npm --silent publish",
        "npm run --silent deploy",
        "npm --prefix d run --silent deploy:x",
        "git -c user.name=x push",
        "git -C d push origin",
        "git remote -v add x u",
        "docker --context c rm x",
        "docker -c x --debug rm y",
        "docker compose -f a.yml -p x down",
        "docker --context c compose --file a.yml down -v",
        "kubectl -n prod delete pod x",
        "kubectl --namespace=prod delete pod x",
        "cargo +nightly publish",
        "cargo --offline -Z x publish",
        "gh --repo x pr -R y merge 1",
        "aws --profile p s3 --no-progress rm s3://x",
        "timeout 5 npm --silent publish",
        "bash -c 'npm --silent publish'",
        "echo x | xargs npm --silent publish",
    ];
    for text in denied {
        assert_eq!(judged(&bench, text).await, Deny, "{text}");
    }
    let asked = [
        "terraform -chdir=d apply",
        "npm --silent p*",
        "npm --silent \"$x\"",
        "echo publish | xargs npm --silent",
        "docker --context \"$x\" \"$y\"",
    ];
    for text in asked {
        assert_eq!(judged(&bench, text).await, Ask, "{text}");
    }
    // In more ways than are looked at.
    let many = format!("npm {} publish", "--a b ".repeat(200));
    assert_eq!(judged(&bench, &many).await, Ask);
    let allowed = [
        "npm --silent test",
        "docker --context c ps",
        "git -c user.name=x log",
        "tar -tf a.tar",
        "kubectl -n x get pods",
    ];
    for text in allowed {
        assert_eq!(judged(&bench, text).await, Allow, "{text}");
    }
}

#[tokio::test]
async fn r9_2_leaving_options_out_allows_nothing() {
    let bench = workspace(
        Bench::new().rule("bash", "npm test *", Allow).rule("bash", "npm *", Ask).rule("bash", "npm ci", Allow),
    );
    for text in ["npm --silent test", "npm --prefix ../x ci", "npm --prefix ci"] {
        assert_eq!(judged(&bench, text).await, Ask, "{text}");
    }
    assert_eq!(judged(&bench, "npm ci").await, Allow);
}

#[tokio::test]
async fn r9_2_rules_that_deny_or_ask_meet_commands_under_their_other_names() {
    let rules = [
        ("*", Allow),
        ("npm publish *", Deny),
        ("npm install *", Deny),
        ("npm run deploy*", Deny),
        ("cargo test *", Deny),
        ("docker rm *", Deny),
        ("docker image rm *", Deny),
        ("docker container stop *", Deny),
        ("pip install *", Deny),
        ("git push *", Deny),
        ("git add *", Deny),
        ("rm *", Deny),
    ];
    let bench =
        workspace(rules.iter().fold(Bench::new(), |bench, (pattern, verdict)| bench.rule("bash", pattern, *verdict)));
    let denied = [
        "npm publi",
        "npm publis --tag x",
        "npm i x",
        "npm --silent add x",
        "npm isntall x",
        "npm run-script deploy",
        "npm rum --silent deploy",
        "npm --prefix d urn deploy",
        "cargo t",
        "cargo +nightly t --all",
        "docker container rm x",
        "docker --context c container rm -f x",
        "docker rmi x",
        "docker stop x",
        "docker -c y stop x",
        "python3 -m pip install x",
        "python -um pip install x",
        "python3.12 -W ignore -m pip --quiet install x",
        "python3 -mpip install x",
        "corepack npm publish",
        "/usr/lib/git-core/git-push origin",
        "git-push origin",
        "git stage a",
        "RM x",
        "/bin/RM x",
        "Rm -rf x",
        "NPM publish",
    ];
    for text in denied {
        assert_eq!(judged(&bench, text).await, Deny, "{text}");
    }
    let asked = [
        "ENV rm x",
        "Bash -c 'rm x'",
        "/usr/lib/git-core/git-reset --hard",
        "git-stash drop",
        "GIT reset --hard",
        "Find . -delete",
    ];
    for text in asked {
        assert_ne!(judged(&bench, text).await, Allow, "{text}");
    }
    for text in [
        "npm test",
        "npm run build",
        "cargo build",
        "docker ps",
        "docker container ls",
        "R --version",
        "python3 -m pip list",
    ] {
        assert_eq!(judged(&bench, text).await, Allow, "{text}");
    }
}

#[tokio::test]
async fn r8_1_variables_that_name_programs_or_files_of_settings_are_asked() {
    let bench = workspace(Bench::new().rule("bash", "*", Allow).rule("bash", "rm *", Deny));
    for name in [
        "PSQLRC",
        "HGRCPATH",
        "RSYNC_RSH",
        "SVN_SSH",
        "LESSOPEN",
        "LESSKEYIN",
        "RIPGREP_CONFIG_PATH",
        "ANSIBLE_CONFIG",
        "GTK_MODULES",
    ] {
        for text in [format!("{name}=./x tool"), format!("export {name}=./x; tool"), format!("env {name}=./x tool")] {
            assert_eq!(judged(&bench, &text).await, Ask, "{text}");
        }
    }
}
