//! Whole commands in the sandbox of the kernel that runs the tests. Where it has none, each checks that a confined command is refused, not run.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use copydesk_engine::ports::{
    CommandEnd, Confinement, OutputSink, SandboxPolicy, SandboxSupport, Shell as _, ShellCommand, ShellError,
    ShellOutcome,
};
use copydesk_workspace::path::AbsPath;
use tokio_util::sync::CancellationToken;

use crate::os::environment::Variables;
use crate::os::shell::OsShell;
use crate::os::supervisor::tests::launch;

/// A workspace, a temporary folder, a home with secrets, and a folder of others.
struct Cell {
    shell: OsShell,
    root: tempfile::TempDir,
    policy: SandboxPolicy,
}

impl Cell {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["ws", "outside", "home/.ssh", "home/.config/gh", "home/.config/app", "home/data/tool-output"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for (file, text) in [
            ("ws/own", "own"),
            ("outside/theirs", "theirs"),
            ("home/.ssh/id", "SECRET"),
            ("home/.config/gh/hosts", "SECRET"),
            ("home/.config/app/settings", "harmless"),
            ("home/.profile", "harmless"),
            ("home/data/auth.json", "SECRET"),
            ("home/data/auth.json.damaged-1", "SECRET"),
            ("home/data/tool-output/1", "shown"),
        ] {
            fs::write(root.path().join(file), text).unwrap();
        }
        let path = |name: &str| AbsPath::new(root.path().join(name)).unwrap();
        let policy = SandboxPolicy {
            writable: vec![path("ws")],
            unreadable: vec![path("home/.ssh"), path("home/.config/gh"), path("home/.netrc"), path("home/data")],
            readable: vec![path("home/data/tool-output")],
            network: false,
            temp: path("temp"),
        };
        let process = Variables::of_process();
        let real_home = PathBuf::from(process.get("HOME").unwrap());
        let mut all: Vec<_> = process.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"), ("PYENV_ROOT", ".pyenv")] {
            if process.get(name).is_none() {
                all.push((name.into(), real_home.join(folder).into()));
            }
        }
        // Those who run the tests may build elsewhere.
        all.retain(|(name, _)| name != "CARGO_TARGET_DIR");
        all.push(("HOME".into(), path("home").as_path().into()));
        all.push(("ACME_API_KEY".into(), "sk-of-the-daemon".into()));
        Self { shell: OsShell::new(all.into_iter().collect(), launch()), root, policy }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Exit code and output, in the workspace; `$R` is the folder of everything.
    async fn run(&self, text: &str) -> (i32, String) {
        let outcome = self.outcome(text).await;
        let CommandEnd::Exited(code) = outcome.end else { panic!("{outcome:?}") };
        (code, outcome.output.head + &outcome.output.tail)
    }

    async fn outcome(&self, text: &str) -> ShellOutcome {
        let folder = AbsPath::new(self.path("ws")).unwrap();
        let command = ShellCommand {
            command: format!("R={}; {text}", self.root.path().display()),
            overflow: folder.join("../overflow"),
            folder,
            timeout: Some(Duration::from_secs(120)),
            hidden_vars: vec!["ACME_API_KEY".to_owned()],
            passed_vars: Vec::new(),
            confinement: Confinement::Sandbox(self.policy.clone()),
        };
        self.shell.run(command, OutputSink::nowhere(), CancellationToken::new()).await.unwrap()
    }

    async fn done(&self, text: &str) -> String {
        let (code, output) = self.run(text).await;
        assert_eq!(code, 0, "{text}: {output}");
        output
    }

    async fn refused(&self, text: &str) -> String {
        let (code, output) = self.run(text).await;
        assert_ne!(code, 0, "{text}: {output}");
        output
    }

    fn has(&self, program: &str) -> bool {
        Variables::of_process().find_program(program).is_some()
    }
}

/// A cell, or `None` where the system has no sandbox: then nothing may run as if it had one.
async fn cell() -> Option<Cell> {
    let cell = Cell::new();
    let SandboxSupport::Missing { reason } = cell.shell.sandbox() else { return Some(cell) };
    assert!(!reason.is_empty());
    let folder = AbsPath::new(cell.path("ws")).unwrap();
    let command = ShellCommand {
        command: "touch ran".to_owned(),
        overflow: folder.join("overflow"),
        folder,
        timeout: Some(Duration::from_secs(10)),
        hidden_vars: Vec::new(),
        passed_vars: Vec::new(),
        confinement: Confinement::Sandbox(cell.policy.clone()),
    };
    let ran = cell.shell.run(command, OutputSink::nowhere(), CancellationToken::new()).await;
    assert!(matches!(ran, Err(ShellError::Sandbox(_))), "{ran:?}");
    assert!(!cell.path("ws/ran").exists());
    None
}

/// Asks the kernel in its own way, so that no fault of what asks for the sandbox can leave all of the tests below out.
#[test]
fn r8_5_where_the_kernel_has_landlock_commands_are_confined() {
    const ASKS_FOR_THE_VERSION: u32 = 1;
    #[expect(unsafe_code, reason = "no crate asks for the version")]
    // SAFETY: with this flag the kernel reads no attributes.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0usize, ASKS_FOR_THE_VERSION)
    };
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").unwrap_or_default();
    let has_filters = actions.split_whitespace().any(|action| action == "errno");
    let support = Cell::new().shell.sandbox();
    // The first version that guards against emptying a file.
    assert_eq!(support.is_enforced(), version >= 3 && has_filters, "Landlock {version}, {actions}: {support:?}");
    if let SandboxSupport::Enforced { by, gaps } = support {
        assert_eq!(by, format!("Landlock {version} and seccomp"));
        assert_eq!(gaps.len(), usize::from(version < 5) + usize::from(version < 6), "{gaps:?}");
    }
}

#[tokio::test]
async fn r8_5_files_outside_cannot_be_changed() {
    let Some(cell) = cell().await else { return };
    let outside = fs::metadata(cell.path("outside")).unwrap().modified().unwrap();
    for attempt in [
        "echo x > $R/outside/new",
        "echo x >> $R/outside/theirs",
        ": > $R/outside/theirs",
        "truncate -s 0 $R/outside/theirs",
        "rm $R/outside/theirs",
        "mkdir $R/outside/folder",
        "mkfifo $R/outside/fifo",
        "ln -s x $R/outside/link",
        "mv $R/outside/theirs $R/outside/other",
        // Across the border, both ways.
        "mv -f $R/outside/theirs own",
        "mv own $R/outside/own",
        "ln own $R/outside/own",
        "ln $R/outside/theirs theirs && echo x > theirs",
        // By another name.
        "echo x > ../outside/new",
        "echo x > $R/ws/../outside/new",
        "ln -sfn $R/outside link && echo x > link/new",
        "ln -sf $R/outside/theirs link2 && echo x > link2",
        "echo x > /proc/self/root/$R/outside/new",
        "cd $R/outside && echo x > new",
        "exec 5< $R/outside/theirs && echo x > /proc/self/fd/5",
        "cp own $HOME/.bashrc",
        "mknod -m 666 disk b 8 0",
        // By a process of its own that it leaves behind, and one of that.
        "(setsid bash -c 'bash -c \"echo x > $0/outside/new\"' $R) & wait $!",
    ] {
        let output = cell.refused(attempt).await;
        let named = ["Permission denied", "cross-device", "Operation not permitted", "cannot create"];
        assert!(named.iter().any(|words| output.contains(words)), "{attempt}: {output}");
    }
    assert_eq!(cell.text("outside/theirs"), "theirs");
    assert_eq!(fs::metadata(cell.path("outside")).unwrap().modified().unwrap(), outside);
    assert_eq!(fs::read_dir(cell.path("outside")).unwrap().count(), 1);
}

#[tokio::test]
async fn workspace_temp_and_plain_devices_are_at_its_disposal() {
    let Some(cell) = cell().await else { return };
    cell.done(
        "echo a > new && mkdir -p a/b && mv new a/b/ && ln a/b/new hard && ln -s hard soft && : > soft && rm -r a",
    )
    .await;
    cell.done("test \"$TMPDIR\" = $R/temp && f=$(mktemp) && echo x > $f && mv $f $R/ws/from-temp && test -s from-temp")
        .await;
    cell.done("echo x > /dev/null && head -c 8 /dev/urandom > random && test -s random").await;
    cell.done("echo x > /dev/shm/copydesk-test-$$ && rm /dev/shm/copydesk-test-$$").await;
    cell.done("cat <<< here && cat < <(echo there) && echo err > /dev/stderr && ls / /etc $HOME > /dev/null").await;
    let mode = fs::metadata(cell.path("temp")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn c61_secrets_cannot_be_read_by_any_road() {
    let Some(cell) = cell().await else { return };
    for attempt in [
        "cat $HOME/.ssh/id",
        "cat < $HOME/.ssh/id",
        "cp -r $HOME/.ssh copy && cat copy/id",
        "ln -s $HOME/.ssh link && cat link/id",
        "ln $HOME/.ssh/id hard && cat hard",
        "mv $HOME/.ssh . && cat .ssh/id",
        "mv $HOME/.ssh $HOME/other",
        "cat $R/ws/../home/./.ssh/id",
        "cat /proc/self/root/$HOME/.ssh/id",
        "cat $HOME/.config/gh/hosts",
        "cat $HOME/data/auth.json",
        "cat $HOME/data/*.damaged-1",
        "cat $HOME/data/tool-output/../auth.json",
        "cd $HOME/.ssh && cat id",
        "bash -c 'bash -c \"cat ~/.ssh/id\"'",
        "grep -r SECRET $HOME/.ssh",
        // Those of the daemon, which is the parent.
        "cat /proc/$PPID/environ",
        "cat /proc/$PPID/maps",
        "head -c 1 /proc/$PPID/mem",
        "ls -l /proc/$PPID/fd/",
        "ls /proc/$PPID/root/",
        // A disk has all of it.
        "for disk in /dev/[hsvx]d* /dev/nvme* /dev/mem /dev/kmsg; do test -e $disk && head -c 1 $disk | grep -q . && exit 0; done; exit 1",
    ] {
        let output = cell.refused(attempt).await;
        assert!(!output.contains("SECRET"), "{attempt}: {output}");
    }
    let own = cell.done("cat /proc/self/environ | tr '\\0' '\\n'; env").await;
    assert!(own.contains("PATH=") && !own.contains("sk-of-the-daemon"), "{own}");
    assert_eq!(cell.done("cat $HOME/data/tool-output/1; grep -rl . $HOME/data/tool-output | wc -l").await, "shown1\n");
    // What stands beside them can.
    assert_eq!(cell.done("cat $HOME/.config/app/settings $HOME/.profile; ls $HOME/.ssh").await, "harmlessharmlessid\n");
}

#[tokio::test]
async fn other_processes_are_out_of_reach() {
    let Some(cell) = cell().await else { return };
    let SandboxSupport::Enforced { gaps, .. } = cell.shell.sandbox() else { panic!() };
    if !gaps.iter().any(|gap| gap.contains("signals")) {
        cell.refused("kill -0 $PPID").await;
    }
    cell.refused("prlimit --pid $PPID --cpu=1000").await;
    if cell.has("strace") {
        cell.refused("strace -o /dev/null -p $PPID").await;
        // Its own it may trace.
        cell.done("strace -o /dev/null true").await;
    }
    cell.done("sleep 30 & kill $!").await;
}

/// Of others; the command's own can be changed by itself.
#[tokio::test]
async fn priority_and_processors_of_other_processes_stay_as_they_are() {
    let Some(cell) = cell().await else { return };
    for (program, other, own) in [
        ("renice", "renice -n 5 -p $PPID", "nice -n 5 true"),
        ("renice", "renice -n 5 -u $(id -u)", "true"),
        ("taskset", "taskset -p 1 $PPID", "taskset 1 true"),
        ("chrt", "chrt -b -p 0 $PPID", "chrt -b 0 true"),
        ("ionice", "ionice -c 3 -p $PPID", "ionice -c 3 true"),
        ("ionice", "ionice -c 3 -u $(id -u)", "true"),
    ] {
        if cell.has(program) {
            let told = cell.refused(other).await;
            assert!(told.contains("Operation not permitted"), "{other}: {told}");
            cell.done(own).await;
        }
    }
}

#[tokio::test]
async fn the_network_is_off_unless_the_policy_allows_it() {
    let Some(mut cell) = cell().await else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = format!("echo hello > /dev/tcp/127.0.0.1/{}", listener.local_addr().unwrap().port());
    assert!(cell.refused(&text).await.contains("Operation not permitted"));
    cell.refused("echo hello > /dev/udp/127.0.0.1/9").await;
    cell.policy.network = true;
    cell.done(&text).await;
    let mut heard = String::new();
    listener.accept().unwrap().0.read_to_string(&mut heard).unwrap();
    assert_eq!(heard, "hello\n");
}

/// Through a socket of the machine a container daemon or the session bus would act for the command.
#[tokio::test]
async fn sockets_of_the_machine_are_refused_with_the_network_and_without() {
    let Some(mut cell) = cell().await else { return };
    let path = cell.path("ws/socket");
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    for network in [false, true] {
        cell.policy.network = network;
        let script = "use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0) or die \"socket: $!\"; \
             connect(S, sockaddr_un(q(socket))) or die \"connect: $!\"";
        assert!(cell.refused(&format!("perl -e '{script}'")).await.contains("Operation not permitted"));
        let pair = |kind: &str| format!("perl -MSocket -e 'socketpair(A, B, AF_UNIX, {kind}, 0) or die $!'");
        cell.done(&pair("SOCK_STREAM")).await;
        cell.refused(&pair("SOCK_DGRAM")).await;
        cell.refused(&pair("SOCK_RAW")).await;
    }
}

#[tokio::test]
async fn descriptors_of_the_daemon_do_not_come_along() {
    let Some(cell) = cell().await else { return };
    let file = fs::File::options().append(true).open(cell.path("outside/theirs")).unwrap();
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&file);
    cell.refused(&format!("echo x >&{number}")).await;
    assert_eq!(cell.text("outside/theirs"), "theirs");
}

/// Each call by its number, with arguments that only the filter could refuse in this way.
#[tokio::test]
async fn calls_that_no_build_needs_are_refused() {
    let Some(mut cell) = cell().await else { return };
    let numbers: Vec<(libc::c_long, &str, i32)> = vec![
        (libc::SYS_add_key, "0, 0, 0, 0, 0", libc::EPERM),
        (libc::SYS_bpf, "99, 0, 0", libc::EPERM),
        (libc::SYS_keyctl, "0, 0", libc::EPERM),
        (libc::SYS_mount, "0, 0, 0, 0, 0", libc::EPERM),
        (libc::SYS_perf_event_open, "0, 0, 0, 0, 0", libc::EPERM),
        (libc::SYS_process_vm_readv, "$$, 0, 0, 0, 0, 0", libc::EPERM),
        (libc::SYS_setns, "-1, 0", libc::EPERM),
        (libc::SYS_userfaultfd, "-1", libc::EPERM),
        (libc::SYS_unshare, "0x10000000", libc::EPERM),
        (libc::SYS_unshare, "0x80", libc::EPERM),
        (libc::SYS_unshare, "0", 0),
        (libc::SYS_clone, "0x10000000, 0, 0, 0, 0", libc::EPERM),
        (libc::SYS_clone3, "0, 0", libc::ENOSYS),
        (libc::SYS_io_uring_setup, "0, 0", libc::ENOSYS),
        (libc::SYS_ioctl, "0, 0x5412, 0", libc::EPERM),
        // The kernel looks at the lower half alone.
        (libc::SYS_ioctl, "0, 0x100005412, 0", libc::EPERM),
        (libc::SYS_socket, "1, 1, 0", libc::EPERM),
        (libc::SYS_socket, "40, 1, 0", libc::EPERM),
        #[cfg(target_arch = "x86_64")]
        (0x4000_0000 + libc::SYS_getpid, "", libc::ENOSYS),
    ];
    for network in [false, true] {
        cell.policy.network = network;
        for (number, arguments, expected) in &numbers {
            let comma = if arguments.is_empty() { "" } else { "," };
            let script = format!("$! = 0; syscall({number}{comma} {arguments}); print $! + 0");
            assert_eq!(cell.done(&format!("perl -e '{script}'")).await, expected.to_string(), "{script}");
        }
    }
}

/// What holds a command holds whatever it becomes: nothing is gained by a program that changes its user.
#[tokio::test]
async fn nothing_is_gained_by_another_program() {
    let Some(cell) = cell().await else { return };
    let state = cell.done("grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status").await;
    assert_eq!(state.split_whitespace().collect::<Vec<_>>(), ["NoNewPrivs:", "1", "Seccomp:", "2"]);
    let bounding = cell.done("grep CapBnd /proc/self/status").await;
    let bits = u64::from_str_radix(bounding.split_whitespace().last().unwrap(), 16).unwrap();
    if rustix::process::getuid().is_root() {
        const SYS_ADMIN: u64 = 1 << 21;
        assert_eq!(bits & SYS_ADMIN, 0, "{bounding}");
    }
}

/// The home folder opened as a workspace: what is in it can be changed, the secrets in it not even moved.
#[tokio::test]
async fn secrets_inside_of_a_writable_folder_stay_hidden() {
    let Some(mut cell) = cell().await else { return };
    cell.policy.writable = vec![AbsPath::new(cell.path("home")).unwrap()];
    cell.done("echo x >> $HOME/.profile && echo x > $HOME/.config/app/new && mkdir $HOME/.config/app/more").await;
    for attempt in [
        "cat $HOME/.ssh/id",
        "echo x > $HOME/.ssh/id",
        "echo x > $HOME/.ssh/rc",
        "rm -rf $HOME/.ssh",
        "mv $HOME/.ssh $HOME/other",
        "mv $HOME/.config $HOME/other",
        "mv $HOME/.config/gh $HOME/.config/app/",
        "ln -s $HOME/.config/app $HOME/.netrc",
        // What the daemon keeps, what of it is not there yet, and what can only be read.
        "echo x > $HOME/data/grants.json",
        "echo x > $HOME/data/auth.json",
        "echo x > $HOME/data/tool-output/1",
        "mv $HOME/data $HOME/other",
    ] {
        cell.refused(attempt).await;
    }
    assert_eq!(cell.text("home/.ssh/id"), "SECRET");
}

/// Settings that are kept in a repository: the secret's place is a link into the workspace.
#[tokio::test]
async fn a_link_into_the_workspace_does_not_split_it() {
    let Some(cell) = cell().await else { return };
    std::os::unix::fs::symlink(cell.path("ws/own"), cell.path("home/.netrc")).unwrap();
    assert_eq!(cell.done("touch new && cat own").await, "own");
}

#[tokio::test]
async fn a_secret_behind_a_link_is_hidden_where_it_lies() {
    let Some(cell) = cell().await else { return };
    std::os::unix::fs::symlink(cell.path("outside/theirs"), cell.path("home/.netrc")).unwrap();
    cell.refused("cat $HOME/.netrc").await;
    cell.refused("cat $R/outside/theirs").await;
}

/// What one command puts in the place of a writable folder must not be what the next may write to.
#[tokio::test]
async fn a_folder_in_the_workspace_cannot_be_traded_for_one_outside() {
    let Some(mut cell) = cell().await else { return };
    cell.policy.writable.push(AbsPath::new(cell.path("ws/build")).unwrap());
    cell.done("ln -s $R/outside build").await;
    cell.refused("echo x > build/new").await;
    assert!(!cell.path("outside/new").exists());
}

#[tokio::test]
async fn a_temporary_folder_of_somebody_else_is_not_used() {
    let Some(cell) = cell().await else { return };
    std::os::unix::fs::symlink(cell.path("outside"), cell.path("temp")).unwrap();
    let refused = |cell: &Cell| super::temp::make(cell.policy.temp.as_path()).unwrap_err();
    assert!(refused(&cell).contains("remove it"), "{}", refused(&cell));
    fs::remove_file(cell.path("temp")).unwrap();
    fs::create_dir(cell.path("temp")).unwrap();
    fs::set_permissions(cell.path("temp"), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(refused(&cell).contains("you alone"));
}

/// The tools of a day's work, as far as they are here.
#[tokio::test]
async fn builds_and_their_tools_run() {
    let Some(cell) = cell().await else { return };
    let cases = [
        (
            "git",
            "git init -q repo && cd repo && git config user.email a@b && git config user.name n && echo a > a && git add a && \
             git commit -qm first && git log --oneline | grep -q first && git status --short && git stash list && git gc -q",
        ),
        ("gcc", "printf 'int main(){return 0;}' > m.c && gcc -o m m.c && ./m"),
        ("make", "printf 'all: a b\\na b:\\n\\ttouch $@\\n' > Makefile && make -j2 -s && test -e a"),
        (
            "cargo",
            "cargo new -q --vcs none made && cd made && cargo test -q --offline 2>&1 | grep -q 'test result: ok'",
        ),
        ("node", "node -e 'require(\"child_process\").execSync(\"echo x > by-node\")' && test -e by-node"),
        (
            "npm",
            "mkdir -p pkg && cd pkg && printf '{\"name\":\"p\",\"scripts\":{\"test\":\"node -e process.exit\"}}' > package.json && npm test",
        ),
        (
            "python3",
            "python3 -c 'import multiprocessing as m; p = m.get_context(\"fork\").Pool(2); print(p.map(abs, [-1, -2])); p.close(); p.join()' | grep -q '1, 2'",
        ),
        (
            "python3",
            "python3 -c 'import asyncio, subprocess, tempfile; asyncio.run(asyncio.sleep(0)); subprocess.run([\"true\"], check=True); tempfile.TemporaryFile()'",
        ),
        (
            "java",
            "printf 'class A { public static void main(String[] a) { System.out.print(1); } }' > A.java && java A.java",
        ),
    ];
    let mut ran = 0;
    for (program, text) in cases {
        if cell.has(program) {
            cell.done(text).await;
            ran += 1;
        }
    }
    assert!(ran > 0, "none of the tools is here");
}

/// Rules have an end, and what comes behind it is closed.
#[tokio::test]
async fn behind_the_last_rule_nothing_is_open() {
    let Some(cell) = cell().await else { return };
    let made = super::linux::files::rules_within(&cell.policy, landlock::ABI::V3, 0).unwrap();
    assert!(made.left_out.iter().any(|line| line.contains(" entries of / are hidden too")), "{:?}", made.left_out);
    let jail = super::linux::Jail::of_files(made.ruleset);
    let mut command = std::process::Command::new("cat");
    command.arg(Path::new("/etc/passwd"));
    #[expect(unsafe_code, reason = "as the shell does it")]
    // SAFETY: system calls alone.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(&mut command, move || jail.enter());
    }
    assert_eq!(command.output().unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
}

/// The files beside a secret are more than there are rules.
#[tokio::test]
async fn a_crowd_beside_a_secret_hides_some_of_itself_and_nothing_else() {
    let Some(cell) = cell().await else { return };
    let crowd = cell.path("home/.config");
    for number in 0..20_500 {
        fs::write(crowd.join(format!("file{number:05}")), "harmless").unwrap();
    }
    let (code, output) = cell.run("cat own $R/outside/theirs $R/home/.profile $R/home/.config/app/settings").await;
    assert_eq!((code, output.as_str()), (0, "owntheirsharmlessharmless"), "folders, and what is elsewhere");
    cell.done("cat $R/home/.config/file00000").await;
    cell.refused("cat $R/home/.config/file20499").await;
    for secret in ["home/.config/gh/hosts", "home/.ssh/id"] {
        assert!(!cell.refused(&format!("cat $R/{secret}")).await.contains("SECRET"));
    }
    let left_out = cell.outcome("false").await.left_out;
    let place = fs::canonicalize(&crowd).unwrap();
    let [line] = &left_out[..] else { panic!("{left_out:?}") };
    assert!(line.contains(&format!(" of the 20501 entries of {} are hidden too", place.display())), "{line}");
    assert_eq!(Cell::new().outcome("false").await.left_out, Vec::<String>::new(), "where there is room for all");
}
