//! macOS: a profile for `sandbox-exec`, in the language of sandbox(7): of the rules that match the last wins. The profile is text, and tested as text on every
//! system; it was never run.

use std::path::{Path, PathBuf};

#[cfg(target_os = "macos")]
pub(super) use running::{Jail, support};

/// What programs need to start, to look up users and to tell the time. Not among it: starting applications, the clipboard, the keychain, AppleScript.
const BASE: &str = r#"(version 1)
(deny default)
(allow process-exec process-fork)
(allow process-info* signal (target same-sandbox))
(allow sysctl-read user-preference-read)
(allow ipc-posix-sem ipc-posix-shm)
(allow mach-lookup
    (global-name "com.apple.system.opendirectoryd.libinfo")
    (global-name "com.apple.system.opendirectoryd.membership")
    (global-name "com.apple.system.logger")
    (global-name "com.apple.system.notification_center"))
(allow file-read*)
(deny file-read* file-write* (subpath "/dev"))
(allow file-read-metadata (subpath "/dev"))
(allow file-read* file-write* file-ioctl
    (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/tty") (subpath "/dev/fd"))
"#;

/// Sockets of the machine itself are not among it, except that of the resolver.
const NETWORK: &str = r#"(allow network-outbound (remote ip))
(allow network-inbound network-bind (local ip))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow system-socket (socket-domain AF_INET) (socket-domain AF_INET6) (socket-domain AF_ROUTE))
(allow mach-lookup
    (global-name "com.apple.SystemConfiguration.configd")
    (global-name "com.apple.SystemConfiguration.DNSConfiguration")
    (global-name "com.apple.trustd.agent"))
"#;

/// All are real paths.
pub(super) fn profile(writable: &[PathBuf], unreadable: &[PathBuf], readable: &[PathBuf], network: bool) -> String {
    let below = |verdict: &str, path: &Path| format!("({verdict} (subpath {}))\n", quoted(path));
    let mut text = BASE.to_owned();
    text.extend(writable.iter().map(|path| below("allow file-write*", path)));
    for path in unreadable {
        // The names can be seen, as on Linux.
        text.push_str(&below("deny file-read-data file-read-xattr file-write*", path));
        // A folder on the way that is renamed would take what is in it out of the rule.
        let on_the_way = path.ancestors().skip(1).filter(|folder| folder.parent().is_some());
        text.extend(on_the_way.map(|folder| format!("(deny file-write-unlink (literal {}))\n", quoted(folder))));
    }
    text.extend(readable.iter().map(|path| below("allow file-read*", path)));
    if network {
        text.push_str(NETWORK);
    }
    text
}

/// Paths that are not UTF-8 do not exist on this system.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

#[cfg(target_os = "macos")]
mod running {
    use std::fs;
    use std::io;
    use std::path::{Path, PathBuf};

    use copydesk_engine::ports::{SandboxPolicy, SandboxSupport};
    use copydesk_workspace::path::AbsPath;

    const PROGRAM: &str = "/usr/bin/sandbox-exec";

    pub(in super::super) fn support() -> SandboxSupport {
        if !Path::new(PROGRAM).exists() {
            return SandboxSupport::Missing { reason: format!("{PROGRAM} is not there") };
        }
        let gaps = vec!["it was never run on macOS by the project's tests".to_owned()];
        SandboxSupport::Enforced { by: "sandbox-exec".to_owned(), gaps }
    }

    pub(in super::super) struct Jail {
        profile: String,
    }

    impl Jail {
        pub(in super::super) fn new(policy: &SandboxPolicy) -> Result<Self, String> {
            let real = |paths: &mut dyn Iterator<Item = &AbsPath>| -> Vec<PathBuf> {
                paths.filter_map(|path| fs::canonicalize(path.as_path()).ok()).collect()
            };
            let writable = real(&mut policy.writable.iter().chain([&policy.temp]));
            let unreadable = real(&mut policy.unreadable.iter());
            let readable = real(&mut policy.readable.iter());
            Ok(Self { profile: super::profile(&writable, &unreadable, &readable, policy.network) })
        }

        pub(in super::super) fn launcher(&self) -> Vec<String> {
            vec![PROGRAM.to_owned(), "-p".to_owned(), self.profile.clone()]
        }

        pub(in super::super) fn left_out(&self) -> &[String] {
            &[]
        }

        /// The launcher does it.
        pub(in super::super) fn enter(&self) -> io::Result<()> {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Word for word: none of these rules goes, comes or changes its place unseen.
    #[test]
    fn r8_5_the_profile_says_the_policy() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let text = |network| {
            let writable = paths(&["/w", "/odd \"name\\"]);
            profile(&writable, &paths(&["/Users/u/.ssh"]), &paths(&["/Users/u/.ssh/shown"]), network)
        };
        let without = r#"(version 1)
(deny default)
(allow process-exec process-fork)
(allow process-info* signal (target same-sandbox))
(allow sysctl-read user-preference-read)
(allow ipc-posix-sem ipc-posix-shm)
(allow mach-lookup
    (global-name "com.apple.system.opendirectoryd.libinfo")
    (global-name "com.apple.system.opendirectoryd.membership")
    (global-name "com.apple.system.logger")
    (global-name "com.apple.system.notification_center"))
(allow file-read*)
(deny file-read* file-write* (subpath "/dev"))
(allow file-read-metadata (subpath "/dev"))
(allow file-read* file-write* file-ioctl
    (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/tty") (subpath "/dev/fd"))
(allow file-write* (subpath "/w"))
(allow file-write* (subpath "/odd \"name\\"))
(deny file-read-data file-read-xattr file-write* (subpath "/Users/u/.ssh"))
(deny file-write-unlink (literal "/Users/u"))
(deny file-write-unlink (literal "/Users"))
(allow file-read* (subpath "/Users/u/.ssh/shown"))
"#;
        assert_eq!(text(false), without);
        let of_the_network = r#"(allow network-outbound (remote ip))
(allow network-inbound network-bind (local ip))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow system-socket (socket-domain AF_INET) (socket-domain AF_INET6) (socket-domain AF_ROUTE))
(allow mach-lookup
    (global-name "com.apple.SystemConfiguration.configd")
    (global-name "com.apple.SystemConfiguration.DNSConfiguration")
    (global-name "com.apple.trustd.agent"))
"#;
        assert_eq!(text(true), format!("{without}{of_the_network}"));
    }

    /// A text that is not balanced is refused as a whole, and with it every command.
    #[test]
    fn every_parenthesis_is_closed() {
        for network in [false, true] {
            let text = profile(&[PathBuf::from("/w")], &[PathBuf::from("/s")], &[PathBuf::from("/s/r")], network);
            let count = |of: char| text.matches(of).count();
            assert_eq!(count('('), count(')'));
            assert_eq!(count('"') % 2, 0);
        }
    }
}
