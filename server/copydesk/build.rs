//! Asks the linker to write the relocations of the program in a compact form, which is smaller by megabytes on the disk and in memory. Builds nothing.

#![expect(clippy::disallowed_methods, reason = "a build script asks its surroundings")]

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if is_for_this_machine() && glibc().is_some_and(|version| version >= (2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// What runs here need not run elsewhere.
fn is_for_this_machine() -> bool {
    let variable = |name| std::env::var(name).unwrap_or_default();
    variable("HOST") == variable("TARGET") && variable("TARGET").ends_with("-linux-gnu")
}

/// The first one whose loader reads that form is 2.36. A program in it is refused by an older one.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
