//! Generated texts, put to what judges commands itself: rules, guards, modes and the ask, not the analysis alone.

use choices::Choices;
use serde_json::json;
use shell_texts::text_of;

use super::tests::judged;
use crate::permission::Verdict::{self, Allow, Ask, Deny};
use crate::permission::shell::{Surroundings, analyse};
use crate::workbench::{Bench, path};

#[allow(dead_code, unreachable_pub, reason = "a generator that others use more of")]
#[path = "../../../../tests/src/choices.rs"]
mod choices;
#[allow(dead_code, unreachable_pub, reason = "a generator that others use more of")]
#[path = "../../../../tests/src/shell_texts.rs"]
mod shell_texts;

const TEXTS: u64 = 1_000;
const SEED: u64 = 20_261_130;

/// The strictest of the parts that could run. What is not understood can be asked and no more.
fn strictest(programs: &[&str], is_understood: bool) -> Verdict {
    let of = |program: &&str| match *program {
        "pd" if is_understood => Deny,
        "pd" | "pq" => Ask,
        _ => Allow,
    };
    programs.iter().map(of).max().unwrap_or(Allow)
}

#[tokio::test]
async fn r8_1_no_text_is_judged_milder_than_its_strictest_part() {
    let bench = Bench::trusting()
        .rule("bash", "*", Allow)
        .rule("external_directory", "*", Allow)
        .rule("bash", "pq *", Ask)
        .rule("bash", "pd *", Deny);
    let mut came = [0_u64; 3];
    for number in SEED..SEED + TEXTS {
        let text = text_of(&mut Choices::from_seed(number));
        let (folder, home) = (path("/w"), path("/home/user"));
        let analysis = analyse(&text.text, Surroundings { folder: &folder, home: &home });
        let (verdict, reason) = judged(&bench, json!({ "command": text.text })).await;
        let least = strictest(&text.programs, analysis.unknown.is_empty());
        assert!(verdict >= least, "seed {number}: {verdict:?}, but {least:?} is in it: {reason}\n{}", text.text);
        came[verdict as usize] += 1;
    }
    // What asks about everything, or about nothing, proves nothing.
    assert!(came.iter().all(|count| count * 10 > TEXTS), "{came:?}");
}
