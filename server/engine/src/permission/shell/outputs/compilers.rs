//! What compilers write that words of theirs name, beside the one output of `-o`.

use crate::permission::shell::options::Arg;

/// What compilers pass on to the linker and the assembler, a word a comma, and what they write beside.
pub(super) fn by_parts(arg: &Arg) -> Vec<Arg> {
    let text = arg.text.as_deref().unwrap_or_default();
    let file = |path: &str| Arg::literal(path, arg.span.clone());
    if let Some(path) = ["-MF", "-MJ"].into_iter().find_map(|option| text.strip_prefix(option)) {
        return if path.is_empty() { Vec::new() } else { vec![file(path)] };
    }
    let Some(parts) = ["-Wl,", "-Wa,"].into_iter().find_map(|option| text.strip_prefix(option)) else {
        return Vec::new();
    };
    let parts: Vec<&str> = parts.split(',').collect();
    let attached = parts.iter().filter_map(|part| {
        ["-o", "-Map=", "--Map=", "--output="].into_iter().find_map(|option| part.strip_prefix(option))
    });
    let next = parts.windows(2).filter(|pair| matches!(pair[0], "-o" | "-Map" | "--Map" | "--output"));
    attached.chain(next.map(|pair| pair[1])).filter(|path| !path.is_empty()).map(file).collect()
}

/// `--emit=link=x,dep-info=y`.
pub(super) fn emitted(arg: &Arg) -> Vec<Arg> {
    let text = arg.text.as_deref().unwrap_or_default();
    const KINDS: [&str; 8] = ["asm", "dep-info", "link", "llvm-bc", "llvm-ir", "metadata", "mir", "obj"];
    let fields = text.strip_prefix("--emit=").unwrap_or(text).split(',');
    let named = fields.filter_map(|field| field.split_once('=')).filter(|(kind, _)| KINDS.contains(kind));
    named.map(|(_, path)| Arg::literal(path, arg.span.clone())).collect()
}
