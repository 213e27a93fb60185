//! Any text through the analysis of commands: it ends without a panic, finds something to judge or to ask in every text, and its spans lie in it.
#![no_main]

use copydesk_engine::permission::shell::{Surroundings, analyse};
use copydesk_workspace::path::AbsPath;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (Some(folder), Some(home)) = (AbsPath::new("/w"), AbsPath::new("/home/u")) else { return };
    let analysis = analyse(text, Surroundings { folder: &folder, home: &home });
    assert!(!analysis.commands.is_empty() || !analysis.unknown.is_empty());
    let commands = analysis.commands.iter().map(|command| &command.span);
    let files = analysis.files.iter().map(|used| &used.span);
    let unknown = analysis.unknown.iter().map(|unknown| &unknown.span);
    for span in commands.chain(files).chain(unknown) {
        assert!(text.get(span.clone()).is_some(), "{span:?} is not within the text");
    }
});
