//! What a loop's body may change for its own next round: folder and variables. Too much is said rather than too little.

use super::expansion::Scope;
use super::syntax::{List, Simple, Statement, Value, Word};

/// `scope` without what any of `lists` may change.
pub(super) fn without_touched<'a>(
    lists: impl IntoIterator<Item = &'a (impl AsRef<[Statement]> + ?Sized + 'a)>,
    mut scope: Scope,
) -> Scope {
    let mut touched = Touched::default();
    for list in lists {
        touched.list(list.as_ref());
    }
    if touched.folder {
        scope.folders = None;
    }
    scope.variables.retain(|name| !touched.all && !touched.names.iter().any(|touched| touched == name));
    scope
}

/// Whether a word or a command as written may set a variable while it is expanded: `${x:=value}`, `$((x = 1))`, `${a[x++]}`, `a[x = 1]=2`.
pub(super) fn sets_within(raw: &str) -> bool {
    let sets = raw.contains('=') || raw.contains("++") || raw.contains("--");
    raw.contains("$((") || sets && raw.contains("${") || sets && raw.contains('[')
}

/// Nothing is known of any variable but of the home folder, whose change asks anyway.
pub(super) fn without_variables(mut scope: Scope) -> Scope {
    scope.variables.retain(|name| name == "HOME");
    scope
}

#[derive(Default)]
struct Touched {
    folder: bool,
    all: bool,
    names: Vec<String>,
}

impl Touched {
    fn list(&mut self, list: &[Statement]) {
        for statement in list {
            self.statement(statement);
        }
    }

    fn lists<'a>(&mut self, lists: impl IntoIterator<Item = &'a List>) {
        for list in lists {
            self.list(list);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Simple(simple) => self.simple(simple),
            Statement::Pipeline(list) | Statement::Subshell(list) | Statement::Group(list) => self.list(list),
            Statement::And(left, right) | Statement::Or(left, right) => {
                self.statement(left);
                self.statement(right);
            }
            Statement::Not(inner) | Statement::Background(inner) | Statement::Redirected(inner, _) => {
                self.statement(inner);
            }
            Statement::If(arms, rest) => {
                self.lists(arms.iter().flat_map(|(condition, body)| [condition, body]));
                self.list(rest);
            }
            Statement::While(condition, body) => self.lists([condition, body]),
            Statement::For(loops) => {
                self.names.push(loops.variable.clone());
                self.words(loops.values.iter().flatten());
                self.list(&loops.body);
            }
            Statement::Arithmetic(arithmetic) => self.names.extend(arithmetic.names.iter().cloned()),
            Statement::Test(test) => self.words(&test.words),
            Statement::Case(subject, arms) => {
                self.words([subject]);
                self.lists(arms.iter().map(|(_, list)| list));
            }
            Statement::Function(_) => {}
        }
    }

    fn simple(&mut self, simple: &Simple) {
        const SETTERS: [&str; 17] = [
            "read",
            "mapfile",
            "readarray",
            "getopts",
            "printf",
            "declare",
            "typeset",
            "local",
            "export",
            "readonly",
            "unset",
            "let",
            "set",
            "shift",
            "wait",
            "trap",
            "exec",
        ];
        const ALL: [&str; 5] = ["eval", ".", "source", "builtin", "command"];
        self.names.extend(simple.assignments.iter().map(|assignment| assignment.name.clone()));
        self.words(&simple.words);
        self.words(simple.assignments.iter().filter_map(|assignment| match &assignment.value {
            Value::Word(word) => Some(word),
            Value::Array(_) => None,
        }));
        let Some(first) = simple.words.first() else { return };
        let name = first.raw.as_str();
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./+".contains(&byte));
        let runs_anything = !is_plain || ALL.contains(&name);
        self.folder |= runs_anything || matches!(name, "cd" | "pushd" | "popd");
        self.all |= runs_anything || SETTERS.contains(&name);
    }

    fn words<'a>(&mut self, words: impl IntoIterator<Item = &'a Word>) {
        self.all |= words.into_iter().any(|word| sets_within(&word.raw));
    }
}
