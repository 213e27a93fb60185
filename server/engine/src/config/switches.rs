//! Which tools are switched on and off: by opencode's flags and its old key, by `tools` of a configuration, and by our own variable. What hides a tool by a
//! rule is not here.

use super::raw::RawConfig;
use crate::ports::says_on;
use crate::registry::Switches;

/// opencode's flags, with the tools that each turns on. Those for tools that are on anyway are left out.
const FLAGS: [(&str, &[&str]); 6] = [
    ("OPENCODE_EXPERIMENTAL", &["lsp", "websearch"]),
    ("OPENCODE_EXPERIMENTAL_LSP_TOOL", &["lsp"]),
    ("OPENCODE_ENABLE_EXA", &["websearch"]),
    ("OPENCODE_EXPERIMENTAL_EXA", &["websearch"]),
    ("OPENCODE_ENABLE_PARALLEL", &["websearch"]),
    ("OPENCODE_EXPERIMENTAL_PARALLEL", &["websearch"]),
];

/// Names of tools, separated by commas; one with `-` before it is switched off.
const OURS: &str = "COPYDESK_TOOLS";

/// What the variables say.
#[derive(Default)]
pub(super) struct ToolVariables {
    /// Weaker than any configuration.
    flags: Switches,
    /// Stronger than any.
    ours: Switches,
}

impl ToolVariables {
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let is_on = |name: &str| variable(name).is_some_and(|value| says_on(&value));
        let flagged = FLAGS.iter().filter(|(flag, _)| is_on(flag)).flat_map(|(_, tools)| tools.iter());
        let ours = variable(OURS).unwrap_or_default();
        let names = ours.split(',').map(str::trim).filter(|name| !name.is_empty());
        Self {
            flags: flagged.map(|tool| ((*tool).to_owned(), true)).collect(),
            ours: names.map(|name| (name.trim_start_matches('-').to_owned(), !name.starts_with('-'))).collect(),
        }
    }

    /// Of the agent `name`. `all` is merged already, a project's word in it as far as the user trusts it.
    pub(super) fn over(&self, all: &RawConfig, name: &str) -> Switches {
        let mut switches = self.flags.clone();
        switches.extend(all.experimental.batch_tool.map(|on| ("batch".to_owned(), on)));
        switches.extend(all.tools.clone());
        switches.extend(all.agent.get(name).map(|agent| agent.tools.clone()).unwrap_or_default());
        switches.extend(self.ours.clone());
        switches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_switch_tools() {
        let read = |variables: &[(&str, &str)]| {
            let find =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            ToolVariables::read(find).over(&RawConfig::default(), "build")
        };
        let check = |variables: &[(&str, &str)], expected: &[(&str, bool)]| {
            let expected: Switches = expected.iter().map(|(name, on)| ((*name).to_owned(), *on)).collect();
            assert_eq!(read(variables), expected, "{variables:?}");
        };
        check(&[], &[]);
        check(&[("OPENCODE_EXPERIMENTAL_LSP_TOOL", "1")], &[("lsp", true)]);
        check(&[("OPENCODE_EXPERIMENTAL_LSP_TOOL", "0"), ("OPENCODE_ENABLE_EXA", "TRUE")], &[("websearch", true)]);
        check(&[("OPENCODE_EXPERIMENTAL", "true")], &[("lsp", true), ("websearch", true)]);
        check(
            &[("COPYDESK_TOOLS", "list, -lsp,,"), ("OPENCODE_EXPERIMENTAL_LSP_TOOL", "1")],
            &[("list", true), ("lsp", false)],
        );
    }
}
