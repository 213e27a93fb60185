#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use copydesk_workspace::disk::{DirEntry, Disk, DiskError, Expected, MemoryDisk, Stat};
use copydesk_workspace::hash::ContentHash;
use copydesk_workspace::path::AbsPath;
use serde_json::json;

use crate::message::ToolStatus;
use crate::permission::{Verdict, own_configuration};
use crate::ports::{Ask, OptionKind};
use crate::testing::DiskFiles;
use crate::workbench::{Bench, path};

/// What the user rejects, one ask a call.
async fn rejected(bench: &Bench, tool: &str, input: serde_json::Value) -> Ask {
    bench.client.answer_all(OptionKind::RejectOnce);
    let before = bench.client.asks().len();
    let outcome = bench.call(tool, input.clone()).await;
    assert_eq!(outcome.result.status, ToolStatus::Failed, "{tool} {input}: {}", outcome.result.text);
    assert!(!outcome.result.text.contains("TOKEN"), "{}", outcome.result.text);
    let asks = bench.client.asks();
    assert_eq!(asks.len(), before + 1, "{tool} {input}: {}", outcome.result.text);
    asks.last().unwrap().clone()
}

fn patch(body: &str) -> serde_json::Value {
    json!({"patchText": format!("*** Begin Patch\n{body}\n*** End Patch")})
}

/// A session with a secret under several names.
fn with_secret() -> Bench {
    let bench = Bench::trusting();
    bench.put("/w/.env", "TOKEN=1\n").put("/w/.ENV", "TOKEN=2\n").put("/w/foo/a", "x\n");
    bench.disk.put_link(&path("/w/notes.txt"), ".env");
    bench.disk.put_link(&path("/w/sub"), "/w");
    bench
}

const SPELLINGS: [&str; 9] =
    [".env", "/w/.env", ".ENV", "foo/../.env", "./.env", ".env/", "notes.txt", "sub/.env", "file:///w/%2Eenv"];

#[tokio::test]
async fn c61_a_secret_is_asked_by_every_spelling_that_leads_to_it() {
    for spelling in SPELLINGS {
        let bench = with_secret().rule("read", "*", Verdict::Allow);
        for (tool, input) in
            [("read", json!({"filePath": spelling})), ("grep", json!({"pattern": "TOKEN", "path": spelling}))]
        {
            let ask = rejected(&bench, tool, input).await;
            assert!(ask.reason.contains("guard secrets"), "{spelling}: {}", ask.reason);
        }
    }
}

#[tokio::test]
async fn c61_a_denied_secret_is_denied_by_every_spelling_that_leads_to_it() {
    for spelling in SPELLINGS.into_iter().filter(|spelling| *spelling != ".ENV") {
        let bench = with_secret().rule("read", "**/.env*", Verdict::Deny).rule("read", ".env*", Verdict::Deny);
        bench.client.answer_all(OptionKind::AllowAlways);
        for (tool, input) in
            [("read", json!({"filePath": spelling})), ("grep", json!({"pattern": "TOKEN", "path": spelling}))]
        {
            let text = bench.failed(tool, input).await;
            assert!(text.contains("denied by rule read") && !text.contains("TOKEN"), "{spelling}: {text}");
        }
        assert_eq!(bench.client.asks(), [], "{spelling}");
    }
}

#[tokio::test]
async fn c61_searches_open_no_secret_and_name_no_denied_one() {
    let bench = with_secret().rule("read", ".env*", Verdict::Deny).rule("read", "*", Verdict::Allow);
    bench.put("/w/server.pem", "TOKEN\n");
    bench.client.answer_all(OptionKind::AllowAlways);
    let text = bench.done("grep", json!({"pattern": "TOKEN"})).await;
    assert!(!text.contains("Line"), "{text}");
    let denied = with_secret().rule("read", ".env*", Verdict::Deny);
    let found = denied.done("glob", json!({"pattern": "**/.env*"})).await;
    assert!(!found.contains("/w/.env"), "{found}");
    assert_eq!(denied.client.asks(), []);
}

/// Names that only look alike are other files, with rules of their own.
#[tokio::test]
async fn c61_names_that_look_alike_are_other_files() {
    let bench = with_secret();
    for other in [".\u{435}nv", ".env\u{200b}x", ".env.", "..env.example"] {
        bench.put(&format!("/w/{other}"), "x\n");
    }
    bench.client.answer_all(OptionKind::RejectOnce);
    let text = bench.done("read", json!({"filePath": ".\u{435}nv"})).await;
    assert!(text.contains("1: x"), "{text}");
    rejected(&bench, "read", json!({"filePath": ".env."})).await;
}

#[tokio::test]
async fn c61_an_edit_tells_nothing_of_a_file_that_may_not_be_read() {
    let bench = with_secret().rule("read", ".env", Verdict::Deny);
    bench.client.answer_all(OptionKind::AllowAlways);
    for (tool, input) in [
        ("edit", json!({"filePath": ".env", "oldString": "TOKEN=9", "newString": "x"})),
        ("edit", json!({"filePath": "notes.txt", "oldString": "OKEN=", "newString": "OKEN="})),
        ("write", json!({"filePath": ".env", "content": "x"})),
    ] {
        let text = bench.failed(tool, input).await;
        assert!(!text.contains("TOKEN") && !text.contains("=1"), "{tool}: {text}");
    }
}

#[tokio::test]
async fn c61_the_environment_and_the_memory_of_processes_are_closed() {
    let bench =
        Bench::trusting().rule("external_directory", "*", Verdict::Allow).rule("read", "/proc/*", Verdict::Allow);
    bench.disk.put_link(&path("/proc/self"), "4711");
    bench.put("/proc/4711/environ", "TOKEN=1").put("/proc/4711/task/4711/environ", "TOKEN=1").put("/etc/hosts", "h\n");
    bench.disk.put_link(&path("/proc/4711/cwd"), "/w");
    bench.disk.put_link(&path("/proc/4711/root"), "/");
    bench.put("/w/.env", "TOKEN=1\n");
    bench.disk.put_link(&path("/w/e"), "/proc/self/environ");
    bench.disk.put_link(&path("/dev/fd"), "/proc/self/fd");
    bench.disk.put_link(&path("/proc/4711/fd/3"), "/w/.env");
    bench.client.answer_all(OptionKind::AllowAlways);
    for file in [
        "/proc/self/environ",
        "/proc/4711/environ",
        "/proc/self/task/4711/environ",
        "/proc/self/root/proc/self/environ",
        "e",
    ] {
        let text = bench.failed("read", json!({"filePath": file})).await;
        assert!(text.contains("denied by rule read \"/proc/*/environ\": deny (guard own_files"), "{file}: {text}");
    }
    for file in ["/proc/self/cwd/.env", "/proc/self/root/w/.env", "/dev/fd/3"] {
        rejected(&bench, "read", json!({"filePath": file})).await;
    }
}

#[tokio::test]
async fn what_the_daemon_keeps_for_itself_is_closed_whatever_rules_and_answers_say() {
    let bench = Bench::trusting().rule("*", "*", Verdict::Allow).rule("read", "/data/auth.json", Verdict::Allow);
    bench.disk.put_folder(&path("/data"));
    bench.put("/data/auth.json", "TOKEN").put("/data/tool-output/1", "out\n").put("/data/plans/a.md", "plan\n");
    bench.disk.put_link(&path("/w/a"), "/data/auth.json");
    bench.disk.put_link(&path("/w/d"), "/data");
    bench.client.answer_all(OptionKind::AllowAlways);
    for file in ["/data/auth.json", "a", "d/auth.json"] {
        for (tool, input) in [
            ("read", json!({"filePath": file})),
            ("write", json!({"filePath": file, "content": "x"})),
            ("edit", json!({"filePath": file, "oldString": "TOKEN", "newString": "x"})),
            ("grep", json!({"pattern": "TOKEN", "path": file})),
        ] {
            let text = bench.failed(tool, input).await;
            assert!(text.contains("guard own_files"), "{tool} {file}: {text}");
        }
    }
    let text = bench.done("grep", json!({"pattern": "TOKEN|out|plan", "path": "/data"})).await;
    assert!(!text.contains("auth.json"), "{text}");
    assert_eq!(bench.text("/data/auth.json"), "TOKEN");
    for file in ["/data/tool-output/1", "/data/plans/a.md"] {
        bench.done("read", json!({"filePath": file})).await;
    }
}

/// The data folder by the name that it has behind a link.
#[tokio::test]
async fn what_the_daemon_keeps_for_itself_is_closed_by_its_other_names() {
    let bench = Bench::trusting().rule("*", "*", Verdict::Allow);
    bench.put("/disk/copydesk/auth.json", "TOKEN").disk.put_link(&path("/data"), "/disk/copydesk");
    let text = bench.failed("read", json!({"filePath": "/disk/copydesk/auth.json"})).await;
    assert!(text.contains("guard own_files"), "{text}");
    let text = bench.done("grep", json!({"pattern": "TOKEN", "path": "/disk"})).await;
    assert!(!text.contains("Line"), "{text}");
}

#[tokio::test]
async fn edits_of_the_users_own_configuration_are_asked_each_time() {
    let bench = Bench::trusting()
        .rule("*", "*", Verdict::Allow)
        .guarded(own_configuration(["/home/user/.config/copydesk/*".to_owned()]));
    let file = "/home/user/.config/copydesk/copydesk.jsonc";
    bench.put(file, "{}\n").disk.put_link(&path("/w/c"), file);
    bench.open(file, 1, "{}\n");
    for name in [file, "c", file] {
        let ask =
            rejected(&bench, "edit", json!({"filePath": name, "oldString": "{}", "newString": "{\"a\": 1}"})).await;
        assert!(ask.reason.contains("guard own_files"), "{}", ask.reason);
        let kinds: Vec<OptionKind> = ask.options.iter().map(|option| option.kind).collect();
        assert_eq!(kinds, [OptionKind::AllowOnce, OptionKind::RejectOnce], "no answer stands for good");
    }
    assert_eq!(bench.text(file), "{}\n");
}

/// Swaps the folder `/w/d` for a link out of the workspace after so many of its operations: between a check and what follows it.
struct Swapping {
    disk: Arc<MemoryDisk>,
    left: AtomicUsize,
}

impl Swapping {
    fn tick(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.disk.take(&path("/w/d"));
            self.disk.put_link(&path("/w/d"), "/outside");
        }
    }

    /// An operation, behind which the swap may come.
    fn ticking<T>(&self, result: T) -> T {
        self.tick();
        result
    }
}

impl Disk for Swapping {
    fn read(&self, path: &AbsPath) -> Result<Vec<u8>, DiskError> {
        self.ticking(self.disk.read(path))
    }
    fn read_range(&self, path: &AbsPath, offset: u64, len: usize) -> Result<Vec<u8>, DiskError> {
        self.ticking(self.disk.read_range(path, offset, len))
    }
    fn stat(&self, path: &AbsPath) -> Result<Stat, DiskError> {
        self.ticking(self.disk.stat(path))
    }
    fn list(&self, folder: &AbsPath) -> Result<Vec<DirEntry>, DiskError> {
        self.ticking(self.disk.list(folder))
    }
    // As a disk of the system does it: without a gap.
    fn read_real(&self, real: &AbsPath) -> Result<Vec<u8>, DiskError> {
        self.ticking(self.disk.read_real(real))
    }
    fn read_range_real(&self, real: &AbsPath, offset: u64, len: usize) -> Result<Vec<u8>, DiskError> {
        self.ticking(self.disk.read_range_real(real, offset, len))
    }
    fn list_real(&self, real: &AbsPath) -> Result<Vec<DirEntry>, DiskError> {
        self.ticking(self.disk.list_real(real))
    }
    fn real_path(&self, path: &AbsPath) -> Result<AbsPath, DiskError> {
        self.ticking(self.disk.real_path(path))
    }
    fn write(&self, path: &AbsPath, bytes: &[u8], expected: Expected) -> Result<(), DiskError> {
        self.ticking(self.disk.write(path, bytes, expected))
    }
    fn write_real(&self, real: &AbsPath, bytes: &[u8], expected: Expected) -> Result<(), DiskError> {
        self.ticking(self.disk.write_real(real, bytes, expected))
    }
    fn create_real(&self, real: &AbsPath, bytes: &[u8], mode: u32) -> Result<(), DiskError> {
        self.ticking(self.disk.create_real(real, bytes, mode))
    }
    fn set_mode_real(&self, real: &AbsPath, mode: u32) -> Result<(), DiskError> {
        self.ticking(self.disk.set_mode_real(real, mode))
    }
    fn remove_folder_real(&self, real: &AbsPath) -> Result<(), DiskError> {
        self.ticking(self.disk.remove_folder_real(real))
    }
    fn remove(&self, path: &AbsPath, expected: ContentHash) -> Result<(), DiskError> {
        self.ticking(self.disk.remove(path, expected))
    }
    fn remove_real(&self, real: &AbsPath, expected: ContentHash) -> Result<(), DiskError> {
        self.ticking(self.disk.remove_real(real, expected))
    }
    fn rename_real(&self, from: &AbsPath, to: &AbsPath, expected: ContentHash) -> Result<(), DiskError> {
        self.ticking(self.disk.rename_real(from, to, expected))
    }
}

#[tokio::test]
async fn c63_a_folder_that_becomes_a_link_at_any_moment_leads_no_call_outside() {
    for (tool, input, done) in [
        ("read", json!({"filePath": "d/f"}), "1: inside"),
        ("read", json!({"filePath": "d"}), "inner/"),
        ("write", json!({"filePath": "d/new", "content": "x\n"}), "d/new"),
        ("edit", json!({"filePath": "d/f", "oldString": "side", "newString": "other"}), "d/f"),
        ("apply_patch", json!({"patchText": "*** Begin Patch\n*** Delete File: d/f\n*** End Patch"}), "d/f"),
        (
            "apply_patch",
            json!({"patchText": "*** Begin Patch\n*** Update File: d/f\n*** Move to: d/g\n@@\n-inside\n+x\n*** End Patch"}),
            "d/g",
        ),
    ] {
        let mut swapped_in_time = 0;
        for moment in 1.. {
            let mut bench = Bench::trusting();
            bench.put("/w/d/f", "inside\n").put("/w/d/inner/x", "x\n");
            bench.put("/outside/f", "outside\n").put("/outside/only", "outside\n");
            let disk = Arc::new(Swapping { disk: bench.disk.clone(), left: AtomicUsize::new(moment) });
            bench.files = DiskFiles::new(disk.clone());
            bench.client.answer_all(OptionKind::RejectOnce);
            let text = bench.call(tool, input.clone()).await.result.text;
            assert!(
                !text.contains("outside\n") && !text.contains("1: outside") && !text.contains("only"),
                "{tool} {moment}: {text}"
            );
            let outside: Vec<String> =
                bench.disk.list(&path("/outside")).unwrap().into_iter().map(|entry| entry.name).collect();
            assert_eq!(
                (outside, bench.text("/outside/f")),
                (vec!["f".to_owned(), "only".to_owned()], "outside\n".to_owned()),
                "{tool} {moment}"
            );
            if bench.disk.stat(&path("/w/d/inner")).is_ok() {
                assert!(text.contains(done), "{tool}: {text}");
                break;
            }
            swapped_in_time += 1;
        }
        assert!(swapped_in_time >= 4, "{tool}: {swapped_in_time}");
    }
}

#[tokio::test]
async fn c62_every_tool_is_asked_for_what_a_link_leads_to_outside() {
    for (tool, input) in [
        ("read", json!({"filePath": "out/f"})),
        ("read", json!({"filePath": "doc.txt"})),
        ("grep", json!({"pattern": "TOKEN", "path": "out"})),
        ("glob", json!({"pattern": "*", "path": "out"})),
        ("edit", json!({"filePath": "out/f", "oldString": "TOKEN", "newString": "x"})),
        ("write", json!({"filePath": "out/new.txt", "content": "x"})),
        ("write", json!({"filePath": "dangling", "content": "x"})),
        ("multiedit", json!({"filePath": "out/f", "edits": [{"oldString": "TOKEN", "newString": "x"}]})),
        ("apply_patch", patch("*** Add File: out/n\n+x")),
        ("apply_patch", patch("*** Update File: out/f\n@@\n-TOKEN\n+x")),
        ("apply_patch", patch("*** Delete File: out/f")),
        ("apply_patch", patch("*** Update File: d\n*** Move to: out/f2\n@@\n-d\n+x")),
        ("apply_patch", patch("*** Update File: out/f\n*** Move to: inside\n@@\n-TOKEN\n+x")),
    ] {
        let bench = Bench::trusting();
        bench.put("/tmp/outside/f", "TOKEN\n").put("/w/d", "d\n");
        bench.disk.put_link(&path("/w/out"), "/tmp/outside");
        bench.disk.put_link(&path("/w/doc.txt"), "/tmp/outside/f");
        bench.disk.put_link(&path("/w/dangling"), "/tmp/outside/not-yet");
        let ask = rejected(&bench, tool, input.clone()).await;
        assert!(ask.reason.contains("is a link, its target is /tmp/outside"), "{tool} {input}: {}", ask.reason);
        assert_eq!(bench.disk.list(&path("/tmp/outside")).unwrap().len(), 1, "{tool} {input}");
        assert_eq!((bench.text("/tmp/outside/f"), bench.text("/w/d")), ("TOKEN\n".to_owned(), "d\n".to_owned()));
        assert!(bench.disk.read(&path("/w/inside")).is_err(), "{input}");
    }
    // A search of the workspace does not follow it.
    let bench = Bench::trusting();
    bench.put("/tmp/outside/f", "TOKEN\n").disk.put_link(&path("/w/out"), "/tmp/outside");
    let text = bench.done("grep", json!({"pattern": "TOKEN"})).await;
    assert!(!text.contains("Line"), "{text}");
}
