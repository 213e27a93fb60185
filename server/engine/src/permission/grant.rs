//! What an answer or a command of the user's has allowed for longer than once: exactly what it said, for the agent it named. Kept nowhere here.

use std::fmt;

use copydesk_workspace::path::AbsPath;
use serde::{Deserialize, Serialize};

use super::{Origin, Rule, Verdict};
use crate::ids::Millis;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    pub agents: Agents,
    /// Its whole name; no wildcard.
    pub permission: String,
    pub cover: Cover,
}

/// For whom it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agents {
    Only(String),
    Every,
}

/// Which values of the permission. Characters that are wildcards in rules are none here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cover {
    /// This value and no other.
    Exact(String),
    /// A command with whatever arguments follow: `git log` and `git log -p`, not `git logx`.
    Prefix(String),
    /// All values below a folder or an origin of addresses, which is written without a slash at its end.
    Under(String),
    All,
}

/// Where a grant that outlives its session holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    /// The real path of the root of the work tree.
    Project(AbsPath),
    /// Every project of the user.
    User,
}

/// A grant that outlives its session. A field that is not known might narrow it: such a grant is not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptGrant {
    pub id: String,
    pub scope: GrantScope,
    pub grant: Grant,
    pub given: Millis,
}

impl Grant {
    /// The rule that it is for one value, where it covers it.
    pub fn rule_for(&self, agent: &str, permission: &str, value: &str) -> Option<Rule> {
        let is_meant = match &self.agents {
            Agents::Only(name) => name == agent,
            Agents::Every => true,
        };
        (is_meant && self.permission == permission && self.cover.covers(value)).then(|| Rule {
            permission: permission.to_owned(),
            pattern: self.cover.pattern(),
            verdict: Verdict::Allow,
            origin: Origin::Grant,
        })
    }
}

impl Cover {
    pub fn covers(&self, value: &str) -> bool {
        let goes_on = |start: &str, with: char| value.strip_prefix(start).is_some_and(|rest| rest.starts_with(with));
        match self {
            Self::Exact(exact) => value == exact,
            Self::Prefix(command) => value == command || goes_on(command, ' '),
            Self::Under(folder) => goes_on(folder, '/'),
            Self::All => true,
        }
    }

    /// As a rule would be written; it matches all that is covered.
    fn pattern(&self) -> String {
        match self {
            Self::Exact(value) => value.clone(),
            Self::Prefix(command) => format!("{command} *"),
            Self::Under(folder) => format!("{folder}/*"),
            Self::All => "*".to_owned(),
        }
    }

    /// What a user means by a value on the command line: `*`, `git log *` and `/etc/*`, or the very value.
    pub fn parse(permission: &str, text: &str) -> Self {
        let owned = |text: &str| text.to_owned();
        match (text, text.strip_suffix(" *"), text.strip_suffix("/*")) {
            ("*", ..) => Self::All,
            (_, Some(command), _) if permission == "bash" && !command.trim().is_empty() => Self::Prefix(owned(command)),
            (_, _, Some(folder)) if matches!(permission, "external_directory" | "webfetch") => {
                Self::Under(owned(folder))
            }
            _ => Self::Exact(owned(text)),
        }
    }
}

/// For people: `bash "git log" with any arguments (agent build)`.
impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let permission = &self.permission;
        match &self.cover {
            Cover::Exact(value) => write!(f, "{permission} {value:?}")?,
            Cover::Prefix(command) => write!(f, "{permission} {command:?} with any arguments")?,
            Cover::Under(folder) => write!(f, "{permission}: everything below {folder:?}")?,
            Cover::All => write!(f, "{permission}: everything")?,
        }
        match &self.agents {
            Agents::Only(agent) => write!(f, " (agent {agent})"),
            Agents::Every => f.write_str(" (every agent)"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

    use proptest::prelude::*;

    use super::*;
    use crate::permission::wildcard_match;

    fn grant(agents: Agents, cover: Cover) -> Grant {
        Grant { agents, permission: "bash".to_owned(), cover }
    }

    #[test]
    fn r9_1_a_grant_covers_what_it_says_and_no_more() {
        let check = |cover: Cover, covered: &[&str], others: &[&str]| {
            covered.iter().for_each(|value| assert!(cover.covers(value), "{cover:?} {value}"));
            others.iter().for_each(|value| assert!(!cover.covers(value), "{cover:?} {value}"));
        };
        check(Cover::Exact("git *".to_owned()), &["git *"], &["git", "git log", "git  *"]);
        check(Cover::Prefix("git log".to_owned()), &["git log", "git log -p"], &["git", "git logx", "sudo git log"]);
        check(Cover::Under("/a".to_owned()), &["/a/*", "/a/b/c"], &["/a", "/ab/c", "/b/a/c"]);
        check(Cover::All, &["", "x"], &[]);
    }

    #[test]
    fn r9_1_a_grant_holds_for_its_agent_and_its_permission_alone() {
        let build = grant(Agents::Only("build".to_owned()), Cover::All);
        assert!(build.rule_for("build", "bash", "ls").is_some());
        assert!(build.rule_for("plan", "bash", "ls").is_none());
        assert!(build.rule_for("build", "bash_unconfined", "ls").is_none());
        assert!(grant(Agents::Every, Cover::All).rule_for("plan", "bash", "ls").is_some());
    }

    #[test]
    fn a_value_of_the_command_line_means_what_it_looks_like() {
        let check = |permission, text, expected| assert_eq!(Cover::parse(permission, text), expected, "{text}");
        check("bash", "git log *", Cover::Prefix("git log".to_owned()));
        check("bash", "git log", Cover::Exact("git log".to_owned()));
        check("bash", " *", Cover::Exact(" *".to_owned()));
        check("edit", "a *", Cover::Exact("a *".to_owned()));
        check("external_directory", "/etc/*", Cover::Under("/etc".to_owned()));
        check("edit", "src/*", Cover::Exact("src/*".to_owned()));
        check("edit", "*", Cover::All);
    }

    #[test]
    fn a_kept_grant_reads_what_it_writes_and_refuses_what_might_narrow_it() {
        let kept = KeptGrant {
            id: "grt_1".to_owned(),
            scope: GrantScope::Project(AbsPath::new("/w").unwrap()),
            grant: grant(Agents::Only("build".to_owned()), Cover::Prefix("git log".to_owned())),
            given: Millis(5),
        };
        let mut json = serde_json::to_value(&kept).unwrap();
        insta::assert_json_snapshot!(json, @r#"
        {
          "id": "grt_1",
          "scope": {
            "project": "/w"
          },
          "grant": {
            "agents": {
              "only": "build"
            },
            "permission": "bash",
            "cover": {
              "prefix": "git log"
            }
          },
          "given": 5
        }
        "#);
        assert_eq!(serde_json::from_value::<KeptGrant>(json.clone()).unwrap(), kept);
        json["grant"]["until"] = 7.into();
        assert!(serde_json::from_value::<KeptGrant>(json).is_err());
    }

    proptest! {
        #[test]
        fn the_rule_of_a_grant_matches_what_it_covers(start in "[a*? ./\\\\]{0,4}", value in "[a*? ./\\\\]{0,7}") {
            for cover in [Cover::Exact(start.clone()), Cover::Prefix(start.clone()), Cover::Under(start.clone()), Cover::All] {
                let values = [value.clone(), start.clone(), format!("{start} {value}"), format!("{start}/{value}")];
                for value in values.iter().filter(|value| cover.covers(value)) {
                    prop_assert!(wildcard_match(value, &cover.pattern()), "{cover:?} {value}");
                }
            }
        }
    }
}
