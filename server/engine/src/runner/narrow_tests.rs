//! What a rule for one program with whatever arguments does not allow, and what modes leave free.

use super::evasion_tests::{allowing, everything, judged, open, shut, workspace};
use crate::permission::Mode;
use crate::permission::Verdict::{Allow, Deny};
use crate::workbench::Bench;

#[tokio::test]
async fn r8_1_what_stands_before_a_double_dash_is_the_command_that_runs() {
    let bench = allowing(&["uv", "npm", "pnpm", "conda", "poetry", "pixi", "echo"]);
    let commands = [
        "uv run rm x -- echo a",
        "conda run rm x -- echo a",
        "poetry run rm x -- echo a",
        "pixi run rm x -- echo",
        "npm exec rm x -- echo a",
        "uv run --with a rm x -- echo b",
        "npm exec -c 'rm x' -- echo",
        "npm exec --call='rm x' -- echo",
        "npm exec --cal 'rm x' -- echo b",
        "pnpm exec --shell-mode -- echo 'b; rm x'",
        "pnpm exec -c -- echo 'b; rm x'",
        "uv run -m -- echo a",
        "uv run --module -- echo a",
        "uv run --script -- echo a",
    ];
    shut(&bench, &commands).await;
    open(&bench, &["uv run -- echo a", "npm exec --yes -- echo a", "uv run echo a -- b"]).await;
}

#[tokio::test]
async fn r8_1_commands_behind_managers_of_tools_and_versions_are_judged_by_their_own_name() {
    let programs = ["pixi", "uv", "pyenv", "fnm", "nvm", "rustup", "opam", "podman", "op", "aws-vault", "volta"];
    let bench =
        allowing(&[&programs[..], &["echo", "docker", "kubectl", "gh", "hyperfine", "vagrant", "nix"]].concat());
    let commands = [
        "pixi exec rm x",
        "pixi exec -s a rm x",
        "uv tool run rm x",
        "uv tool run --from a rm x",
        "pyenv exec rm x",
        "fnm exec rm x",
        "fnm exec --using=18 rm x",
        "nvm exec 18 rm x",
        "volta run --node 18 rm x",
        "rustup run stable rm x",
        "opam exec -- rm x",
        "podman unshare rm x",
        "podman machine ssh rm x",
        "op run --env-file=a -- rm x",
        "aws-vault exec p -- rm x",
        "kubectl run a --image=b -- rm x",
        "kubectl run a --image=b --command -- rm x",
        "kubectl debug p --image=b -- rm x",
        "kubectl create job a --image=b -- rm x",
        "docker service create --name a b rm x",
        "docker debug -c 'rm x' c",
        "docker sandbox run a rm x",
        "gh codespace ssh -- rm x",
        "gh cs ssh -c a rm x",
        "vagrant ssh -c 'rm x'",
        "nix develop -c rm x",
        "hyperfine echo 'rm x'",
        "hyperfine -p 'rm x' echo",
        "hyperfine --shell=a echo",
    ];
    shut(&bench, &commands).await;
    let allowed = ["pixi exec echo a", "pyenv exec echo a", "rustup run stable echo a", "hyperfine 'echo a' 'echo b'"];
    open(&bench, &allowed).await;
}

#[tokio::test]
async fn r8_3_further_options_name_files_that_are_written() {
    let bench = everything().rule("edit", "kept*", Deny);
    let commands = [
        "docker save -o kept/a i",
        "docker save -okept/a i",
        "docker export --output=kept/a c",
        "docker build -o kept empty",
        "docker build --output type=local,dest=kept empty",
        "docker build --iidfile kept/a empty",
        "docker run --cidfile kept/a i",
        "docker run --mount type=bind,source=./kept,target=/k a ls",
        "docker run --mount=type=bind,src=/w/kept,dst=/h a ls",
        "tar --index-file=kept/a -tvf a",
        "tar --listed-incremental kept/a -cf x a",
        "tar -g kept/a -cf x a",
        "tar --one-top-level=kept -xf a",
        "tar --volno-file=kept/a -cMf x a",
        "tar --remove-files -cf x.tar kept/a",
        "zip -m x.zip kept/a",
        "7z a kept/x a",
        "7z x a -okept",
        "rsync --remove-source-files kept/a b",
        "pip install -t kept x",
        "pip install --target=kept x",
        "pip download -d kept x",
        "pip wheel -wkept x",
        "pip --log kept/a install x",
        "cargo build --target-dir=kept",
        "cargo install --root kept x",
        "cargo new kept/x",
        "cargo vendor kept",
        "npm pack --pack-destination kept",
        "go test -mutexprofile kept/a",
        "go test -blockprofile=kept/a",
        "gh release download -D kept",
        "gh run download --dir=kept",
        "gh release download -O kept/a",
        "curl -w '%output{kept/a}x' x",
        "git apply --directory=kept a",
        "git interpret-trailers --in-place kept/a",
        "sed -i.a p kept",
        "curl -o 'kept/type=a' x",
        "curl -w @a x",
        "docker save -o 'kept/type=a' i",
        "docker build -o '\"dest=kept\",type=local' empty",
        "docker build -o Type=local,Dest=kept empty",
        "docker run --mount=src=./kept,type=bind,dst=/h a ls",
        "docker run --mount 'type=BIND,\"source=./kept\",dst=/h' a ls",
        "docker run -v ./kept:/w/h a ls",
        "docker run -v./kept:/w/h:z a ls",
        "docker run --volume=/w/kept:/w/h a ls",
        "docker run -v ..:/h a ls",
        "docker run -v /:/h a ls",
        "docker run -v ~/.ssh:/h a ls",
        "docker run -v /etc/a:/h:ro a ls",
        "docker run -v=/etc/a:/h a ls",
        "docker run --device /dev/sda:/dev/x a ls",
        "docker run --device=/dev/sda:/dev/x a ls",
        "zip -db kept/a a",
        "zip -ws kept/a a",
        "docker run -v/etc/a:/h a ls",
        "docker run -itv /etc/a:/h a ls",
        "docker create --volume /etc/a:/h a ls",
        "docker compose run -v /etc/a:/h a ls",
        "docker exec a:/b ls ../x",
        "docker cp c:/x kept/a",
        "docker container cp c:/x kept/a",
        "docker compose -p a cp c:/x kept/a",
        "docker context export a kept/a",
        "kubectl -n a cp p:/x kept/a",
        "kubectl cluster-info dump --output-directory=kept",
        "kubectl get pods --profile-output kept/a",
        "helm template a --output-dir kept",
        "helm pull a -d kept",
        "terraform plan -out=kept/a",
        "adb pull /x kept/a",
        "aws --region a s3 cp s3://a/b kept/a",
        "aws s3 sync s3://a kept",
        "aws s3 mv kept/a s3://b",
        "rclone copy r:x kept",
        "gcloud compute scp v:x kept/a",
        "gh repo clone a/b kept/a",
        "gh repo clone a/kept",
        "hyperfine --export-json kept/a echo",
        "tar xCf kept a",
        "tar xfC a kept",
        "tar cgf kept/a x.tar a",
        "zip -O kept/a x.zip a",
        "zip -P p kept/a a",
        "zip --password p kept/a a",
        "zip -x p @ kept/a a",
        "zip -lf kept/a -r x.zip a",
        "7z -y a kept/x a",
        "7z A kept/x a",
        "7z a -sdel x kept/a",
        "cargo --color always new kept/x",
        "psql -o kept/a",
        "psql -L kept/a -c x",
        "pg_dump -f kept/a x",
        "mysqldump -rkept/a x",
        "yq -s .a a",
        "go test --coverprofile kept/a",
        "go build --o=kept/a",
        "terraform plan --out kept/a",
    ];
    shut(&bench, &commands).await;
    let allowed = [
        "docker run --rm -it -e A=o a ls",
        "docker build -t o empty",
        "tar -xf a",
        "zip x.zip a",
        "pip install -r a",
        "cargo build --release",
        "gh pr view -R a",
        "git ls-files --others --directory --exclude-standard",
        "git ls-files --directory kept",
        "git config --global --get user.name",
        "go test -run x",
        "curl -w '%{http_code}' -o /dev/null -s x",
        "docker run --mount type=bind,source=.,target=/w a ls",
        "docker run -v .:/h a ls",
        "docker run --rm -v \"$PWD\":/h a ls",
        "docker run -v ./evil:/w/h:ro a ls",
        "docker run --mount type=bind,src=evil,readonly,dst=/w a ls",
        "docker cp a c:/x",
        "aws s3 cp a s3://b/c",
        "tar --one-top-level -xf a",
        "tar xzf a",
        "zip -r -q x.zip a",
        "cargo test -p x",
        "pg_dump -nfoo x",
        "sqlite3 x 'select 1'",
    ];
    open(&bench, &allowed).await;
}

#[tokio::test]
async fn c61_secrets_of_a_home_folder_and_of_lists_are_not_sent_unasked() {
    let bench = everything();
    let held = everything().rule("read", "kept*", Deny);
    let commands = [
        "docker run -v ./kept/a:/w/h:ro a ls",
        "docker run --mount type=bind,src=kept,readonly,dst=/w a ls",
        "docker build --secret id=x,src=kept/a empty",
        "docker build --secret=src=kept/a,id=x empty",
        "aws lambda invoke --payload fileb://kept/a x",
    ];
    shut(&held, &commands).await;
    shut(&bench, &["curl -n x", "curl -sn x", "curl --netrc x", "curl --netrc-opt x"]).await;
    open(&bench, &["curl -s x", "curl -o n x", "curl --next x"]).await;
}

#[tokio::test]
async fn r8_1_addresses_by_which_git_runs_a_program_are_asked_wherever_they_are_given() {
    let bench = allowing(&["git"]);
    let commands = [
        "git archive --remote='ext::sh -c rm% x' HEAD",
        "git remote add x 'ext::sh -c rm% x'",
        "git remote set-url x 'ext::sh -c a'",
        "git submodule add 'ext::sh -c a' b",
    ];
    shut(&bench, &commands).await;
    open(&bench, &["git remote add x https://h/a"]).await;
}

#[tokio::test]
async fn r9_2_rules_meet_things_of_containers_that_are_removed_by_another_word() {
    let rules = ["docker rm *", "docker volume rm *", "docker network rm *", "docker stack rm *"];
    let bench = workspace(
        rules.iter().fold(Bench::new().rule("bash", "docker *", Allow), |bench, rule| bench.rule("bash", rule, Deny)),
    );
    let denied = [
        "docker container remove x",
        "docker --context c container remove x",
        "docker volume remove x",
        "docker network remove x",
        "docker stack down x",
    ];
    for text in denied {
        assert_eq!(judged(&bench, text).await, Deny, "{text}");
    }
    open(&bench, &["docker volume ls", "docker container ls"]).await;
}

#[tokio::test]
async fn r9_3_the_workspace_mode_frees_no_further_roads_to_what_is_sensitive() {
    let bench = workspace(Bench::new());
    bench.put("/w/plain/.e", "x\n");
    bench.grants.set_mode(Mode::Workspace);
    let commands = [
        "awk 'BEGIN{SYMTAB[\"AR\" \"GV\"][1]=\".e\" \"nv\"} 1' a",
        "mkdir -p d/workflows && cp hook d/workflows/x.yml && mv d .github",
        "cp -r evil .github/workflows",
        "sed -i.env p a",
        "sed -i.bak -i.env p a",
        "sed -i --in-place=.env p a",
        "cp -b -S .env hook a",
        "cp -bS.env hook a",
        "mv --backup --suffix=.env hook a",
        "mv --suf=.env -b hook a",
        "cp -b -S .env sub/b empty",
        "cp -b -S .env -t empty sub/b",
        "cp -rb -S nvrc plain empty",
        "cp -b -S \"$x\" hook a",
        "ln -b -S .env hook a",
        "SIMPLE_BACKUP_SUFFIX=.env cp -b hook a",
    ];
    shut(&bench, &commands).await;
    open(
        &bench,
        &[
            "sed -i.bak p a",
            "cp -b -S .bak hook a",
            "cp -rb -S .bak plain empty",
            "cp -b hook a",
            "mkdir -p .github/ISSUE_TEMPLATE",
        ],
    )
    .await;
}

#[tokio::test]
async fn r9_3_everyday_commands_are_free() {
    let bench = workspace(Bench::new());
    open(&bench, &["ls sub 2>/dev/null || true", "grep -rn x sub/b --include=*.rs"]).await;
    bench.grants.set_mode(Mode::Workspace);
    let commands = [
        "for f in sub/*; do echo $f; done",
        "echo $((1+2))",
        "export A=1; echo $A",
        "n=$(wc -l < a); echo $n",
        "echo \"$(cat a)\"",
        "while read -r l; do echo \"$l\"; done < a",
        "basename $(pwd)",
        "echo $PATH",
        "which cargo",
        "command -v cargo",
        "uptime",
    ];
    open(&bench, &commands).await;
    // A file of this name is an option.
    bench.put("/w/--include=x.rs", "x");
    shut(&bench, &["grep -rn y sub/b --include=*.rs", "echo $(rm a)", "command -v $(rm a)"]).await;
}

#[tokio::test]
async fn r8_2_where_variables_hold_too_much_they_are_not_known() {
    let bench = allowing(&["cat", "echo"]);
    let doubled = format!("a=rm; {} $a x", "a=$a$a; ".repeat(40));
    let many: String = (0..300).map(|at| format!("a{at}=echo; ")).collect();
    let behind = format!("b=kept/a; x={}; {} cat $b", "y".repeat(4_000), "echo $x; ".repeat(40));
    shut(&bench, &[&doubled, &format!("{many} $a299 x"), &behind]).await;
    open(&bench, &["a=echo; $a x", &format!("echo {} $HOME", "y".repeat(9_000))]).await;
}

#[tokio::test]
async fn r8_1_commands_behind_too_many_options_of_a_container_are_asked() {
    let bench = allowing(&["docker", "echo"]);
    let text = format!("docker {}{}echo a", "-a compose ".repeat(20), "-a exec ".repeat(20));
    shut(&bench, &[&text]).await;
}

#[tokio::test]
async fn r8_1_words_and_options_are_code_in_further_programs() {
    let programs = ["sqlite3", "curl", "gh", "yq", "gcc", "clang", "helm", "kubectl", "docker", "cmake", "ctest"];
    let bench = allowing(&[&programs[..], &["nodemon", "gcloud"]].concat());
    let commands = [
        "sqlite3 x '.sh rm x'",
        "sqlite3 x .sys\\ rm",
        "sqlite3 -batch x '.o kept/a'",
        "sqlite3 x ' .once kept/a'",
        "sqlite3 x 'vacuum into \'kept/a\''",
        "sqlite3 x \"VACUUM main INTO 'kept/a'\"",
        "sqlite3 x -Ax a",
        "sqlite3 x <<< '.sh rm x'",
        "sqlite3 x 'select 1;\n.sh rm x'",
        "curl --variable a=kept/a --expand-output '{{a}}' x",
        "gh repo clone a/b -- -c core.sshCommand='rm x'",
        "gh repo clone a/b -- --upload-pack='rm x'",
        "gh repo clone a/b c -- -u 'rm x'",
        "gh repo fork a/b --clone -- --config a=b",
        "gh config set pager 'rm x'",
        "gh config set -h a editor 'rm x'",
        "yq 'load(\"/etc/a\")' a",
        "gcc -Bevil a.c",
        "gcc -B evil a.c",
        "clang -fuse-ld=./evil a.c",
        "clang --ld-path=./evil a.c",
        "clang -fpass-plugin=./evil a.c",
        "helm template a --post-renderer ./evil",
        "helm template a --post-renderer=./evil",
        "kubectl --kubeconfig evil get pods",
        "docker --config evil ps",
        "docker --context c debug -c 'rm x' d",
        "cmake -E rm x",
        "cmake -E env rm x",
        "ctest --test-command rm x",
        "nodemon -x 'rm x'",
        "nodemon --exec='rm x'",
        "gcloud compute ssh v --zone a -- rm x",
        "gcloud compute ssh v --command='rm x'",
    ];
    shut(&bench, &commands).await;
    let allowed = [
        "sqlite3 x .tables",
        "sqlite3 ./x '.schema a'",
        "sqlite3 x '.header on' '.mode csv'",
        "sqlite3 .x.db 'select 1'",
        "sqlite3 -header -csv x 'select 1'",
        "curl -s x",
        "gh config set git_protocol ssh",
        "clang -fuse-ld=lld a.c",
        "gcc -O2 -Wall -c a.c",
        "kubectl get pods -n a",
        "docker ps",
        "cmake --build b -j 4",
        "yq .a a",
    ];
    open(&bench, &allowed).await;
}

#[tokio::test]
async fn r8_1_settings_behind_which_a_program_stands_are_asked() {
    let programs = ["ssh", "scp", "make", "strace", "hg", "svn", "jj", "go", "mvn", "aws", "npm", "yarn", "cmake"];
    let bench = allowing(&[&programs[..], &["true", "pip", "gradle", "mysql", "cargo", "kubectl", "ccache"]].concat());
    let commands = [
        "ssh -o 'ProxyCommand=rm x #UserKnownHostsFile=/dev/null' h",
        "scp -o 'ProxyCommand=rm x #UserKnownHostsFile=/dev/null' h:a b",
        "make 'X!=rm x'",
        "strace -o '|rm x' true",
        "strace -o '!rm x' true",
        "strace --output='|rm x' true",
        "hg --config hooks.pre-log='rm x' log",
        "hg --config=extensions.x=evil.py log",
        "hg clone -e 'rm x' a b",
        "hg bisect -c 'rm x'",
        "hg merge --tool rm",
        "svn diff --diff-cmd rm",
        "svn --config-option config:helpers:diff-cmd=rm diff",
        "jj --config ui.pager=rm log",
        "jj util exec rm x",
        "jj util exec -- rm x",
        "jj diff --tool rm",
        "go env -w CC=rm",
        "mvn exec:exec -Dexec.executable=rm",
        "aws configure set credential_process 'rm x'",
        "npm config set git ./evil/x",
        "npm config set editor=rm",
        "yarn config set yarnPath evil/x",
        "cmake -DCMAKE_C_COMPILER_LAUNCHER=rm b",
        "cmake -DCMAKE_CXX_COMPILER:FILEPATH=./evil/x b",
        "pip --python ./evil/x list",
        "gradle -I evil/x build",
        "gradle --init-script evil/x build",
        "mysql --defaults-file=evil/x",
        "mysql -e 'tee kept/a'",
        "cargo rustc -- -C linker=./evil/x",
        "kubectl config set-credentials a --exec-command=rm",
        "KUBECTL_EXTERNAL_DIFF=rm kubectl diff -k b",
        "GOAUTH='rm x' go get a",
        "GOCACHEPROG='rm x' go build",
        "CMAKE_C_COMPILER_LAUNCHER=rm cmake b",
        "CCACHE_PREFIX=rm ccache true",
    ];
    shut(&bench, &commands).await;
    let allowed = [
        "ssh -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no h",
        "make X=1 all",
        "strace -o /dev/null true",
        "hg log -l 3",
        "svn log -l 3",
        "jj log -n 3",
        "go env GOPATH",
        "go test ./...",
        "mvn -q test",
        "aws configure set region eu",
        "npm config get registry",
        "npm run build",
        "cmake -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_BUILD_TYPE=Debug -B b",
        "pip list",
        "gradle build",
        "cargo build",
        "kubectl diff -k b",
    ];
    open(&bench, &allowed).await;
}

#[tokio::test]
async fn r5_5_an_option_that_takes_back_another_is_seen() {
    let bench = everything().rule("edit", "*", Allow).rule("read", "*", Allow);
    let commands = [
        "git clean -n -f --no-dry-run",
        "git clean --dry-run -f --no-dry",
        "git rm -f --cached --no-cached a",
        "git restore --staged --no-staged -W a",
        "git restore --staged --no-staged a",
        "git apply -R --check --no-check a",
        "git apply -R --stat --no-stat a",
        "git switch -m x",
        "git switch --merge x",
        "git switch --conflict=merge x",
        "git checkout --conflict=merge x",
        "git pull --rebase origin +a:b",
        "git pull -r -f",
    ];
    shut(&bench, &commands).await;
    let allowed =
        ["git clean -n", "git restore --staged a", "git apply -R --check a", "git switch x", "git pull --rebase"];
    open(&bench, &allowed).await;
}

#[tokio::test]
async fn r8_3_files_of_settings_that_git_writes_are_judged() {
    let bench = everything().rule("edit", "*", Allow).rule("edit", "kept*", Deny);
    let commands = [
        "git config -f kept/a user.name x",
        "git config -fkept/a user.name x",
        "git config --file=kept/a user.name x",
        "git config --file kept/a --unset user.name",
        "git config --fil kept/a user.name x",
        "git config set --file kept/a user.name x",
        "git config -f kept/a user.name x -l",
        "git config -fkept/a user.name --getx",
        "cd kept && docker run -v .:/h a ls",
        "cd kept && docker run -v \"$PWD\":/h a ls",
    ];
    shut(&bench, &commands).await;
    // Behind its first operand git takes no option: these are values, and patterns of values.
    let set = [
        "git config core.sshCommand evil --get",
        "git config core.sshCommand evil get",
        "git config core.hooksPath hooks -l",
        "git config core.pager evil --unset",
        "git config --type path core.pager evil --get-all",
        "git config set core.pager evil --list",
        "git config alias.x '-c core.pager=evil log'",
    ];
    shut(&allowing(&["git"]), &set).await;
    let asked =
        ["git config --get core.pager", "git config get core.pager", "git config --type path --get core.pager x"];
    open(&allowing(&["git"]), &asked).await;
    // It looks like a mount, and is a path.
    let copied = ["docker cp ./x:/../.env c:/k", "docker cp /w/x:/../.env c:/k", "docker compose cp ./x:/../.env c:/k"];
    shut(&everything(), &copied).await;
    shut(&allowing(&["git"]), &["git credential fill"]).await;
    open(&bench, &["git config -f kept/a --list", "git config -f kept/a --get user.name", "git config user.name x"])
        .await;
}

#[tokio::test]
async fn r8_1_what_the_shell_itself_runs_is_judged_wherever_it_stands() {
    let programs = ["echo", "printf", "read", "mapfile", "readarray", "unset", "declare", "export", "test", "true"];
    let bench = allowing(&[&programs[..], &["typeset", "local", "wait", "getopts", "let", "cat", "set", "["]].concat());
    let commands = [
        "mapfile -C 'rm x' -c 1 a <<< b",
        "mapfile -C'rm x' -c1 a <<< b",
        "readarray -t -C 'rm x' a <<< b",
        "printf -v 'a[$(rm x)]' 1",
        "printf -v'a[$(rm x)]' 1",
        "read 'a[$(rm x)]' <<< b",
        "read -a 'a[$(rm x)]' <<< b",
        "unset 'a[$(rm x)]'",
        "test -v 'a[$(rm x)]'",
        "[ -v 'a[$(rm x)]' ]",
        "[[ -v a[\\$(rm\\ x)] ]]",
        "x='a[$(rm x)]'; [[ $x -eq 1 ]]",
        "x='a[$(rm x)]'; [[ x -eq 1 ]]",
        "x='a[$(rm x)]'; (( x ))",
        "x='a[$(rm x)]'; echo $((x))",
        "x='a[$(rm x)]'; echo ${y[x]}",
        "x='a[$(rm x)]'; echo ${y:x}",
        "x='a[$(rm x)]'; echo ${!x}",
        "x='a[$(rm x)]'; y[x]=1",
        "declare -n r='a[$(rm x)]'; echo $r",
        "declare -i r='a[$(rm x)]'",
        "declare -i r; r='a[$(rm x)]'",
        "declare 'a[$(rm x)]=1'",
        "export -n 'a[$(rm x)]'",
        "x='$(rm x)'; echo \"${x@P}\"",
        "wait -p 'a[$(rm x)]'",
        "getopts a 'a[$(rm x)]' -a",
        "let 'a[$(rm x)]=1'",
        "eval 'echo $(rm x)'",
        "eval echo '$(rm x)'",
        "echo $(<a) `rm x`",
        "echo ${x:-$(rm x)}",
        "echo \"${x:-`rm x`}\"",
        "cat << E\n$(rm x)\nE",
        "cat <<-E\n\t${x:-$(rm x)}\n\tE",
        "cat <<< $(rm x)",
        "cat <(rm x)",
        "echo a > >(rm x)",
        "echo a >$(rm x)",
        "set -- $(rm x)",
        "true $[ $(rm x) ]",
        "x=$(rm x) true",
        "x[$(rm x)]=1",
        "x=([$(rm x)]=1)",
        "for x in $(rm x); do true; done",
        "case $(rm x) in a) true;; esac",
        "case a in $(rm x)) true;; esac",
        "true {a}>$(rm x)",
        "trap 'rm x' EXIT",
        "PS4='$(rm x)' true",
        "coproc rm x",
        "time rm x",
        "! rm x",
        "function f { rm x; }; f",
        "command_not_found_handle() { rm x; }; nothing",
    ];
    shut(&bench, &commands).await;
    let held = everything().rule("edit", "*", Allow).rule("edit", "kept*", Deny).rule("read", "kept*", Deny);
    let commands = [
        "exec {a}>kept/a",
        "echo x {a}>kept/a",
        "echo a 3>kept/a",
        "echo a >&kept/a",
        "echo a >& kept/a",
        "echo a &>>kept/a",
        "echo a 2>&1 >kept/a",
        "echo a 1<>kept/a",
        "echo a >|kept/a",
        "echo \"$(<kept/a)\"",
        "echo `<kept/a`",
        "cat <&3 3<kept/a",
        "while read -r a; do echo $a; done < kept/a",
        "{ cat; } < kept/a",
        "mapfile a < kept/a",
        ". kept/a",
    ];
    shut(&held, &commands).await;
    open(&bench, &["x=b; echo ${x:0:1} ${#x} $((1 + 2))", "mapfile -t a <<< b", "printf -v a %s b"]).await;
}

#[tokio::test]
async fn r8_3_what_is_attached_to_options_of_one_dash_is_written() {
    let bench = everything().rule("edit", "*", Allow).rule("edit", "kept*", Deny);
    let commands = [
        "awk -okept/a 1 a",
        "gawk -pkept/a 1 a",
        "awk -dkept/a 1 a",
        "awk --profile=kept/a 1 a",
        "gcc -MF kept/a -MD -c a.c",
        "gcc -MFkept/a -MD -c a.c",
        "clang -MJ kept/a -c a.c",
        "gcc -Wl,-o,kept/a a.c",
        "gcc -Wl,-Map=kept/a a.c",
        "g++ -Wl,--gc-sections,-Map,kept/a a.c",
        "gcc -Wa,-okept/a -c a.c",
        "gcc -aux-info kept/a a.c",
        "rustc --emit=link=kept/a a.rs",
        "rustc --emit metadata,dep-info=kept/a a.rs",
    ];
    shut(&bench, &commands).await;
    let allowed = [
        "awk -F, '{print $1}' a",
        "awk -v x=1 1 a",
        "gcc -MMD -MF o.d -Wl,-rpath,/w/kept -c a.c",
        "rustc --emit=metadata a.rs",
        "ls -laZ evil",
    ];
    open(&bench, &allowed).await;
}
