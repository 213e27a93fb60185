//! What the daemon does before `initialize` is answered, counted instead of timed: files, threads, bytes. It stands in for the times that `cargo xtask
//! bench` measures where no other program disturbs.

use std::path::PathBuf;

use copydesk_tests::daemon::Home;
use copydesk_tests::raw_client::RawClient;

/// The main thread, two of the runtime, one each for standard input and output, and one that the runtime starts where a thread of its pool has done its work
/// and does not yet wait for more.
const THREADS: usize = 6;

/// Standard streams, a duplicate of one, and what the runtime waits with.
const DESCRIPTORS: usize = 16;

/// The heads of the shared libraries, a few files of `/proc` and `/sys` by which the runtime counts processors, and our request.
const BYTES_READ: u64 = 24 << 10;
const READS: u64 = 40;

/// A number of `/proc/PID/FILE`, by the name that its line begins with.
fn number(process: u32, file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/{file}")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn before_initialize_is_answered_next_to_nothing_is_opened_started_or_read() {
    let home = Home::new();
    home.use_model("http://127.0.0.1:9/v1");
    // At this level alone the process lets itself be looked at.
    let mut daemon = RawClient::start(home.command(&["serve"]).env("COPYDESK_LOG", "debug"));
    daemon.initialize().await;
    let process = daemon.id();
    let (read, reads) = (number(process, "io", "rchar:"), number(process, "io", "syscr:"));
    let threads = usize::try_from(number(process, "status", "Threads:")).unwrap();
    let open: Vec<PathBuf> = std::fs::read_dir(format!("/proc/{process}/fd"))
        .unwrap()
        // One may be closed meanwhile.
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .collect();
    let measured = format!("{threads} threads, {read} bytes in {reads} reads, open: {open:#?}");
    assert!(threads <= THREADS, "{measured}");
    assert!(open.len() <= DESCRIPTORS, "{measured}");
    assert!(read <= BYTES_READ && reads <= READS, "{measured}");
    // The log's file is there for the lines that this level wants.
    let is_ours = |path: &PathBuf| path.starts_with(home.path()) && path.extension().is_none_or(|end| end != "log");
    assert!(!open.iter().any(is_ours), "{measured}");
    assert!(!home.data().join("copydesk/copydesk.db").exists());
    daemon.finish().await;
}

#[tokio::test]
async fn without_a_line_to_log_nothing_is_written_before_the_first_session() {
    let home = Home::new();
    let mut daemon = RawClient::start(home.command(&["serve"]).env_remove("COPYDESK_LOG"));
    daemon.initialize().await;
    daemon.finish().await;
    assert!(!home.data().join("copydesk").exists());
}
