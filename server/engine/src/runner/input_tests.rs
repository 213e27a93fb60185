//! What a program is given as its input, and commands that run in another place.

use super::evasion_tests::{allowing, everything, judged, open, shut};
use crate::permission::Verdict::{Allow, Ask, Deny};

const READERS: [&str; 40] = [
    "sqlite3",
    "psql",
    "mysql",
    "mariadb",
    "m4",
    "gdb",
    "lldb",
    "osascript",
    "redis-cli",
    "duckdb",
    "dc",
    "ssh",
    "at",
    "crontab",
    "python3",
    "node",
    "perl",
    "ruby",
    "php",
    "lua",
    "Rscript",
    "julia",
    "vim",
    "ftp",
    "sftp",
    "gnuplot",
    "docker",
    "kubectl",
    "lxc",
    "cat",
    "echo",
    "env",
    "timeout",
    "bash",
    "sh",
    "unshare",
    "fakeroot",
    "xargs",
    "find",
    "exec",
];

#[tokio::test]
async fn r8_1_what_a_pipe_or_a_file_gives_to_a_program_that_runs_it_is_asked() {
    let bench = allowing(&READERS);
    let takers = [
        "sqlite3 a.db",
        "sqlite3 -json a.db",
        "sqlite3 -separator , a.db",
        "psql -d a",
        "psql -qAt a",
        "mysql -u root a",
        "mysql -uenv a",
        "mariadb a",
        "m4",
        "m4 -P -",
        "m4 -D X a -",
        "gdb ./a",
        "lldb a",
        "osascript",
        "osascript -l JavaScript",
        "redis-cli",
        "redis-cli -h h -n 1",
        "duckdb a.db",
        "dc",
        "ssh h",
        "ssh -p 22 h",
        "ssh h sh",
        "ssh h bash -s",
        "at now",
        "crontab -",
        "crontab",
        "python3",
        "python3.12 -",
        "python3 -u -",
        "python3 -i a.py",
        "python3 -W ignore",
        "node",
        "node -r ./a -",
        "perl",
        "perl -w -",
        "ruby",
        "php",
        "lua -",
        "Rscript -",
        "julia",
        "vim -es",
        "ftp",
        "sftp h",
        "gnuplot",
        "docker exec -i c sh",
        "docker exec -i c bash -s",
        "docker --context x exec -i c sh",
        "docker compose -f a.yml exec -T c psql",
        "docker run -i --rm image",
        "docker run -i --rm image sqlite3 a.db",
        "kubectl exec -i pod -- sh",
        "kubectl -n x exec -i pod -c y -- sh",
        "lxc exec c -- sh",
        "unshare -r",
        "fakeroot",
    ];
    for taker in takers {
        for text in [
            format!("cat a | {taker}"),
            format!("{taker} < a"),
            format!("{taker} 0<a"),
            format!("{taker} <<< \"$x\""),
            format!("cat a | timeout 5 {taker}"),
            format!("cat a | env {taker}"),
            format!("{{ {taker}; }} < a"),
            format!("cat a | while :; do {taker}; done"),
            format!("cat a | (echo; {taker})"),
            format!("cat a | bash -c '{taker}'"),
            format!("exec < a; {taker}"),
            format!("echo > >({taker})"),
            format!("{taker} <<< 'select 1' <&3"),
        ] {
            assert_eq!(judged(&bench, &text).await, Ask, "{text}");
        }
    }
    shut(&bench, &["find . -exec sqlite3 a.db ';' < a", "xargs -a b sqlite3 a.db < a", "cat a | xargs sqlite3"]).await;
}

#[tokio::test]
async fn r8_1_programs_that_are_given_their_code_otherwise_may_be_given_input() {
    let bench = allowing(&READERS);
    let harmless = [
        "cat a | sqlite3 a.db 'select 1'",
        "sqlite3 a.db",
        "sqlite3 a.db <<< 'select 1'",
        "sqlite3 a.db < /dev/null",
        "cat a | psql -c 'select 1'",
        "cat a | mysql -e 'select 1'",
        "cat a | gdb -batch ./a",
        "cat a | redis-cli get x",
        "cat a | python3 -c 'import sys'",
        "cat a | python3 -m json.tool",
        "cat a | python3 open",
        "cat a | node -e 1",
        "cat a | perl -ne print",
        "cat a | perl -pe s/a/b/",
        "cat a | ruby -ne 'puts 1'",
        "cat a | ssh h cat",
        "cat a | docker exec -i c cat",
        "cat a | kubectl exec -i pod -- cat",
        "cat a | docker ps",
        "python3 <<'E'\nprint(1)\nE",
        "cat <<'E' | cat\nx\nE",
    ];
    open(&bench, &harmless).await;
}

#[tokio::test]
async fn r8_1_a_text_that_is_given_as_input_is_read_whichever_redirect_gives_it() {
    let bench = allowing(&READERS);
    let commands = [
        "sqlite3 a.db <<< '.shell x'",
        "sqlite3 a.db <<< '.shell x' 3< open",
        "sqlite3 a.db 3< open <<< '.system x'",
        "sqlite3 a.db <<'A' 3<<'B'\n.shell x\nA\nselect 1\nB",
        "sqlite3 a.db <<< 'select 1' 00< open",
        "at now <<< 'touch x'",
    ];
    shut(&bench, &commands).await;
    assert_eq!(judged(&bench, "at now <<< 'rm x'").await, Deny);
    open(&bench, &["sqlite3 a.db <<< 'select 1' 3< open"]).await;
}

#[tokio::test]
async fn r8_1_commands_in_containers_and_pods_are_judged_by_their_own_words() {
    let bench = allowing(&READERS);
    let denied = [
        "docker exec c rm x",
        "docker exec -it -w /x c rm -rf x",
        "docker --context y exec c rm x",
        "docker container exec c rm x",
        "docker compose exec c rm x",
        "docker compose -f a.yml run --rm c rm x",
        "docker run --rm -v a:/b image rm x",
        "docker run image sh -c 'rm x'",
        "kubectl exec pod -- rm x",
        "kubectl -n x exec -it pod -c y -- rm x",
        "kubectl exec pod rm x",
        "lxc exec c -- rm x",
    ];
    for text in denied {
        assert_eq!(judged(&bench, text).await, Deny, "{text}");
    }
    let asked = [
        "docker exec c touch x",
        "docker exec c \"$x\"",
        "docker run --entrypoint x image",
        "docker run --strange image",
    ];
    for text in asked {
        assert_eq!(judged(&bench, text).await, Ask, "{text}");
    }
    open(&bench, &["docker exec c cat open", "docker run image", "kubectl exec pod -- cat open"]).await;
}

#[tokio::test]
async fn r8_1_a_told_text_is_judged_where_the_program_runs_commands_of_a_shell_from_it() {
    let others = [
        "newgrp",
        "sg",
        "nix-shell",
        "batch",
        "su",
        "parallel",
        "script",
        "ghci",
        "ipython",
        "virsh",
        "debugfs",
        "telnet",
        "lftp",
        "nvim",
        "sqlite",
        "sqlcmd",
        "openssl",
        "cqlsh",
        "git",
    ];
    let bench = allowing(&[&READERS[..], &others].concat());
    let asked = [
        "gdb <<< 'shell rm x'",
        "gdb <<'E'\nshell touch x\nE",
        "lldb a <<< 'platform shell touch x'",
        "vim -es <<< ':!rm x'",
        "nvim -es <<< ':!rm x'",
        "sftp h <<< '!rm x'",
        "ftp h <<< '!rm x'",
        "lftp h <<< '!rm x'",
        "telnet h <<< '!rm x'",
        "duckdb a.db <<< '.shell rm x'",
        "sqlite a.db <<< '.shell rm x'",
        "sqlcmd <<< '!!rm x'",
        "cqlsh <<< \"SOURCE 'x'\"",
        "gnuplot <<< '!rm x'",
        "ghci <<< ':!rm x'",
        "ipython <<< '!rm x'",
        "virsh <<< 'cd /'",
        "debugfs <<< '!rm x'",
        "openssl <<< 'engine ./x.so'",
        "crontab - <<< '* * * * * rm x'",
        "crontab <<'E'\n* * * * * rm x\nE",
        "sg g -c 'touch x'",
        "newgrp -c 'touch x'",
        "sg g 'touch x'",
    ];
    for text in asked {
        assert_eq!(judged(&bench, text).await, Ask, "{text}");
    }
    for shell in ["nix develop", "nix shell nixpkgs#hello", "poetry shell", "pipenv shell"] {
        let bench = allowing(&["nix", "poetry", "pipenv", "git", "echo"]);
        assert_eq!(judged(&bench, &format!("{shell} <<< 'rm x'")).await, Deny, "{shell}");
        shut(&bench, &[&format!("{shell} <<< 'touch x'"), &format!("echo a | {shell}")]).await;
        open(&bench, &[&format!("{shell} <<< 'git log'"), shell]).await;
    }
    for shell in
        ["at now", "batch", "newgrp", "newgrp g", "sg g", "nix-shell", "nix-shell -p x", "su", "parallel", "script"]
    {
        let text = format!("{shell} <<< 'rm x'");
        assert_eq!(judged(&bench, &text).await, Deny, "{text}");
        let text = format!("{shell} <<'E'\ngit log\nrm x\nE");
        assert_eq!(judged(&bench, &text).await, Deny, "{text}");
        shut(&bench, &[&format!("{shell} <<< 'touch x'"), &format!("echo a | {shell}")]).await;
    }
    let open_ones = [
        "newgrp <<< 'git log'",
        "nix-shell <<< 'git log'",
        "at now <<< 'git log'",
        "python3 <<< 'print(1)'",
        "node <<< 1",
        "perl <<< 1",
        "ruby <<< 1",
        "php <<< 1",
        "lua - <<< 1",
        "Rscript - <<< 1",
        "julia <<< 1",
        "osascript <<< 1",
        "redis-cli <<< 'get x'",
        "psql <<< 'select 1'",
        "mysql <<< 'select 1'",
        "m4 <<< 'define(a, b)'",
        "dc <<< '1 2 + p'",
    ];
    open(&bench, &open_ones).await;
}

#[tokio::test]
async fn r8_3_commands_in_containers_that_share_the_home_folder_touch_its_files() {
    let bench = everything().rule("bash", "rm *", Deny).rule("edit", "kept/*", Deny);
    let starters = [
        "toolbox run",
        "toolbox run -c x",
        "toolbox --verbose run --container x",
        "distrobox enter x --",
        "distrobox enter -n x --",
        "distrobox enter --name x --",
        "distrobox-enter x --",
        "distrobox-host-exec",
        "host-spawn",
        "flatpak-spawn --host",
        "flatpak-spawn",
        "limactl shell default",
        "lima",
        "distrobox ephemeral --",
        "colima ssh --",
        "apptainer exec a.sif",
        "singularity exec --bind a:b a.sif",
    ];
    for starter in starters {
        for reading in [
            "sh -c 'cat /home/user/.ssh/id_rsa; true'",
            "sh -c 'cat id_rsa; true'",
            "bash -c 'cd ..; cat x'",
            "sh -c 'cat ../x > /dev/null'",
            "cat ../x",
        ] {
            let text = format!("{starter} {reading}");
            assert_eq!(judged(&bench, &text).await, Ask, "{text}");
        }
        for denied in ["tee kept/a", "sh -c 'echo x > kept/a'", "rm x", "sh -c 'rm x'"] {
            let text = format!("{starter} {denied}");
            assert_eq!(judged(&bench, &text).await, Deny, "{text}");
        }
        let text = format!("{starter} cat open");
        assert_eq!(judged(&bench, &text).await, Allow, "{text}");
    }
    let elsewhere = [
        "flatpak-spawn --host --directory=/etc cat hostname",
        "limactl shell --workdir /etc default cat hostname",
        "toolbox enter <<< 'touch x'",
        "toolbox enter < open",
        "toolbox run --strange cat a",
    ];
    shut(&bench, &elsewhere).await;
    // Their own files are others.
    open(&bench, &["docker exec c sh -c 'cat ../x; true'"]).await;
}
