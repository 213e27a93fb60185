//! Programs that run a command of their words in another place, or here: which of their options take a value, and where the command begins. A table.

use crate::permission::shell::options::Spec;

/// A command that stands behind options and operands of another.
pub(super) struct Runner {
    pub(super) programs: &'static [&'static str],
    pub(super) verbs: &'static [&'static [&'static str]],
    pub(super) options: Spec,
    /// Before the command: the container, the pod.
    pub(super) operands: usize,
    pub(super) place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It has files of its own.
    Elsewhere,
    /// It shares the home folder, or is this machine itself.
    SameFiles,
    /// None: it is run as it stands.
    Here,
    /// The same, by a runner of a project: its options are many, and need not be known where the command stands behind `--`.
    OfProject,
}

/// Whose commands and options are alike.
pub(in crate::permission::shell) const CONTAINERS: &[&str] = &["docker", "podman", "nerdctl"];

const RUNNERS: &[Runner] = &[
    Runner {
        programs: CONTAINERS,
        verbs: &[&["exec"], &["container", "exec"]],
        options: Spec {
            short: "de:itu:w:l",
            long: &[
                "detach",
                "detach-keys=",
                "env=",
                "env-file=",
                "interactive",
                "privileged",
                "tty",
                "user=",
                "workdir=",
                "latest",
            ],
        },
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: CONTAINERS,
        verbs: &[&["run"], &["container", "run"], &["create"], &["container", "create"]],
        options: Spec {
            short: "a:c:de:h:il:m:p:Pqtu:v:w:",
            long: &[
                "add-host=",
                "annotation=",
                "attach=",
                "cap-add=",
                "cap-drop=",
                "cgroupns=",
                "cidfile=",
                "cpu-shares=",
                "cpus=",
                "cpuset-cpus=",
                "detach",
                "detach-keys=",
                "device=",
                "dns=",
                "entrypoint=",
                "env=",
                "env-file=",
                "expose=",
                "gpus=",
                "group-add=",
                "hostname=",
                "init",
                "interactive",
                "ipc=",
                "label=",
                "link=",
                "log-driver=",
                "memory=",
                "mount=",
                "name=",
                "network=",
                "net=",
                "pid=",
                "pids-limit=",
                "platform=",
                "privileged",
                "publish=",
                "publish-all",
                "pull=",
                "quiet",
                "read-only",
                "restart=",
                "rm",
                "runtime=",
                "security-opt=",
                "shm-size=",
                "stop-signal=",
                "sysctl=",
                "tmpfs=",
                "tty",
                "ulimit=",
                "user=",
                "userns=",
                "volume=",
                "volumes-from=",
                "workdir=",
            ],
        },
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: CONTAINERS,
        verbs: &[&["compose", "exec"], &["compose", "run"]],
        options: COMPOSE,
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: &["docker-compose", "podman-compose"],
        verbs: &[&["exec"], &["run"]],
        options: COMPOSE,
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: &["kubectl", "oc"],
        verbs: &[&["exec"]],
        options: Spec {
            short: "c:f:in:qts:",
            long: &[
                "container=",
                "context=",
                "filename=",
                "kubeconfig=",
                "namespace=",
                "pod-running-timeout=",
                "quiet",
                "stdin",
                "tty",
            ],
        },
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: &["lxc", "incus"],
        verbs: &[&["exec"]],
        options: Spec {
            short: "Ttn",
            long: &["cwd=", "env=", "user=", "group=", "mode=", "force-interactive", "disable-stdin"],
        },
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: &["multipass"],
        verbs: &[&["exec"]],
        options: Spec { short: "d:n", long: &["working-directory="] },
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: &["adb"],
        verbs: &[&["shell"], &["exec-out"], &["exec-in"]],
        options: Spec { short: "e:ntTx", long: &[] },
        operands: 0,
        place: Place::Elsewhere,
    },
    Runner {
        programs: &["limactl"],
        verbs: &[&["shell"]],
        options: Spec { short: "", long: &["workdir=", "shell="] },
        operands: 1,
        place: Place::SameFiles,
    },
    Runner {
        programs: &["lima", "distrobox-host-exec", "host-spawn"],
        verbs: &[&[]],
        options: NONE,
        operands: 0,
        place: Place::SameFiles,
    },
    Runner { programs: &["toolbox"], verbs: &[&["run"]], options: TOOLBOX, operands: 0, place: Place::SameFiles },
    Runner { programs: &["toolbox"], verbs: &[&["enter"]], options: TOOLBOX, operands: 1, place: Place::SameFiles },
    Runner { programs: &["distrobox"], verbs: &[&["enter"]], options: DISTROBOX, operands: 1, place: Place::SameFiles },
    Runner { programs: &["distrobox-enter"], verbs: &[&[]], options: DISTROBOX, operands: 1, place: Place::SameFiles },
    Runner {
        programs: &["distrobox"],
        verbs: &[&["ephemeral"]],
        options: DISTROBOX,
        operands: 0,
        place: Place::SameFiles,
    },
    Runner {
        programs: &["colima"],
        verbs: &[&["ssh"]],
        options: Spec { short: "p:", long: &["layer", "profile="] },
        operands: 0,
        place: Place::SameFiles,
    },
    // Before the command stands the image.
    Runner {
        programs: &["apptainer", "singularity"],
        verbs: &[&["exec"]],
        options: Spec {
            short: "B:CcefinpS:uwW:",
            long: &[
                "bind=",
                "cleanenv",
                "contain",
                "containall",
                "env=",
                "fakeroot",
                "nv",
                "rocm",
                "scratch=",
                "writable-tmpfs",
            ],
        },
        operands: 1,
        place: Place::SameFiles,
    },
    Runner {
        programs: &["flatpak-spawn"],
        verbs: &[&[]],
        options: Spec { short: "v", long: &["host", "clear-env", "watch-bus", "directory=", "env="] },
        operands: 0,
        place: Place::SameFiles,
    },
];

/// Managers of projects, of tools, of versions and of secrets.
const HERE: &[Runner] = &[
    Runner {
        programs: &["uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "micromamba", "pixi"],
        verbs: &[&["run"]],
        options: NONE,
        operands: 0,
        place: Place::OfProject,
    },
    Runner {
        programs: &["bundle", "npm", "pnpm", "yarn"],
        verbs: &[&["exec"]],
        options: NONE,
        operands: 0,
        place: Place::OfProject,
    },
    // Before the command stands the file.
    Runner { programs: &["flock"], verbs: &[&[]], options: NONE, operands: 1, place: Place::Here },
    Runner {
        programs: &["pixi"],
        verbs: &[&["exec"]],
        options: Spec {
            short: "c:p:qs:vw:",
            long: &["channel=", "force-reinstall", "platform=", "quiet", "spec=", "verbose", "with="],
        },
        operands: 0,
        place: Place::Here,
    },
    Runner {
        programs: &["uv"],
        verbs: &[&["tool", "run"]],
        options: Spec {
            short: "p:qvnU",
            long: &["from=", "isolated", "no-cache", "offline", "python=", "quiet", "refresh", "verbose", "with="],
        },
        operands: 0,
        place: Place::Here,
    },
    Runner {
        programs: &["pyenv", "rbenv", "nodenv", "goenv", "jenv", "phpenv", "plenv"],
        verbs: &[&["exec"]],
        options: NONE,
        operands: 0,
        place: Place::Here,
    },
    Runner {
        programs: &["fnm"],
        verbs: &[&["exec"]],
        options: Spec { short: "", long: &["using=", "using-file"] },
        operands: 0,
        place: Place::Here,
    },
    Runner {
        programs: &["volta"],
        verbs: &[&["run"]],
        options: Spec { short: "", long: &["bundled-npm", "env=", "node=", "no-yarn", "npm=", "pnpm=", "yarn="] },
        operands: 0,
        place: Place::Here,
    },
    Runner { programs: &["jj"], verbs: &[&["util", "exec"]], options: NONE, operands: 0, place: Place::Here },
    // Before the command stands the toolchain.
    Runner {
        programs: &["rustup"],
        verbs: &[&["run"]],
        options: Spec { short: "", long: &["install"] },
        operands: 1,
        place: Place::Here,
    },
    Runner {
        programs: &["opam", "stack", "cabal"],
        verbs: &[&["exec"]],
        options: Spec { short: "vy", long: &["package=", "switch=", "verbose", "yes"] },
        operands: 0,
        place: Place::Here,
    },
    Runner {
        programs: &["podman", "buildah"],
        verbs: &[&["unshare"]],
        options: Spec { short: "", long: &["rootless-netns"] },
        operands: 0,
        place: Place::Here,
    },
    Runner {
        programs: &["op", "doppler", "infisical", "dotenvx"],
        verbs: &[&["run"]],
        options: Spec { short: "c:f:p:", long: &["config=", "env=", "env-file=", "no-masking", "project="] },
        operands: 0,
        place: Place::Here,
    },
    Runner {
        programs: &["aws-vault"],
        verbs: &[&["exec"]],
        options: Spec { short: "d:nj", long: &["duration=", "no-session", "region=", "server"] },
        operands: 1,
        place: Place::Here,
    },
];

/// Commands that containers of a cluster are made with.
const CLUSTERS: &[Runner] = &[
    Runner {
        programs: &["kubectl", "oc"],
        verbs: &[&["run"], &["debug"], &["create", "job"], &["create", "cronjob"], &["create", "deployment"]],
        options: Spec {
            short: "c:il:n:qt",
            long: &[
                "attach",
                "command",
                "container=",
                "context=",
                "copy-to=",
                "dry-run=",
                "env=",
                "image=",
                "image-pull-policy=",
                "labels=",
                "namespace=",
                "port=",
                "profile=",
                "quiet",
                "replicas=",
                "restart=",
                "rm",
                "schedule=",
                "share-processes",
                "stdin",
                "target=",
                "tty",
            ],
        },
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: CONTAINERS,
        verbs: &[&["service", "create"]],
        options: Spec {
            short: "de:l:p:qtu:w:",
            long: &[
                "constraint=",
                "detach",
                "env=",
                "label=",
                "mode=",
                "mount=",
                "name=",
                "network=",
                "publish=",
                "quiet",
                "replicas=",
                "tty",
                "user=",
                "with-registry-auth",
                "workdir=",
            ],
        },
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: &["gcloud"],
        verbs: &[&["compute", "ssh"]],
        options: Spec {
            short: "q",
            long: &["command=", "internal-ip", "project=", "quiet", "ssh-flag=", "tunnel-through-iap", "zone="],
        },
        operands: 1,
        place: Place::Elsewhere,
    },
    Runner {
        programs: &["gh"],
        verbs: &[&["codespace", "ssh"], &["cs", "ssh"]],
        options: Spec { short: "c:dR:", long: &["codespace=", "debug", "repo=", "server-port="] },
        operands: 0,
        place: Place::Elsewhere,
    },
];

const NONE: Spec = Spec { short: "", long: &[] };

const TOOLBOX: Spec = Spec { short: "c:d:r:", long: &["container=", "distro=", "release="] };

const DISTROBOX: Spec = Spec {
    short: "a:dhn:rTv",
    long: &["additional-flags=", "clean-path", "dry-run", "name=", "no-tty", "no-workdir", "root", "verbose"],
};

const COMPOSE: Spec = Spec {
    short: "de:iTtu:w:p:v:l:q",
    long: &[
        "detach",
        "env=",
        "index=",
        "no-TTY",
        "no-tty",
        "privileged",
        "user=",
        "workdir=",
        "build",
        "entrypoint=",
        "interactive",
        "label=",
        "name=",
        "no-deps",
        "publish=",
        "quiet",
        "quiet-pull",
        "rm",
        "remove-orphans",
        "service-ports",
        "use-aliases",
        "volume=",
    ],
};

pub(super) fn all() -> impl Iterator<Item = &'static Runner> {
    [RUNNERS, HERE, CLUSTERS].into_iter().flatten()
}
