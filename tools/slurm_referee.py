#!/usr/bin/env python3
"""A real Slurm on this machine, for tests: python tools/slurm_referee.py

Munge, MariaDB, slurmdbd, slurmctld, slurmrestd and one slurmd per node run in namespaces of their
own (mounts, processes, network, host name): nothing of the machine's configuration is read or
changed, and several of them can run beside each other. Ending the namespaces' first process ends
all of them, which also happens when this process ends in whatever way.

Run as a program it starts a site, opens a shell in it and removes it when the shell ends::

    python tools/slurm_referee.py --nodes 2 --conf "PriorityType=priority/multifactor"

Used from Python::

    with SlurmReferee(SlurmSite(nodes=2)) as slurm:
        slurm.run("sbatch", "--wrap", "hostname", user="ann")
"""

from __future__ import annotations

import argparse
import ctypes
import os
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

T = TypeVar("T")
ADDRESS = "10.9.0.1"
REST_PORT = 6820
#: programs that must be there; `tools/system-packages` installs them on Debian
_PROGRAMS = (
    "slurmctld", "slurmd", "slurmdbd", "slurmrestd", "munged", "mariadbd", "mariadb-install-db",
    "sbatch", "sacct", "ip", "unshare", "nsenter", "setpriv",
)  # fmt: skip
#: run from the machine itself even where Slurm is of another release
_OF_THE_MACHINE = ("mariadbd", "mariadb-install-db", "mariadb-admin")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_CLIENTS = (
    "sacct", "sacctmgr", "salloc", "sbatch", "scancel", "scontrol", "sdiag", "sinfo", "sprio",
    "squeue", "sreport", "srun", "sshare", "sstat", "strigger",
)  # fmt: skip
#: user ids of the site's own users start here
_FIRST_UID = 61_000
_PATIENCE_S = 90.0

_SLURM_CONF = {
    "ClusterName": "referee",
    "SlurmctldHost": f"ctl({ADDRESS})",
    "SlurmUser": "root",
    "SlurmdUser": "root",
    "AuthType": "auth/munge",
    # a requeued job waits until its first credential has expired; 120 s at most sites
    "AuthInfo": "cred_expire=5",
    "AuthAltTypes": "auth/jwt",
    "ProctrackType": "proctrack/cgroup",
    "TaskPlugin": "task/cgroup",
    "JobAcctGatherType": "jobacct_gather/cgroup",
    "JobAcctGatherFrequency": "task=1",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_Core_Memory",
    "SchedulerType": "sched/backfill",
    "SchedulerParameters": "bf_interval=5,sched_interval=5",
    "PriorityType": "priority/basic",
    "GresTypes": "gpu",
    "AccountingStorageType": "accounting_storage/slurmdbd",
    "AccountingStorageHost": ADDRESS,
    "AccountingStorageTRES": "gres/gpu",
    "AccountingStoreFlags": "job_comment",
    "SlurmdParameters": "config_overrides",
    "ReturnToService": "2",
    "MpiDefault": "none",
    "KillWait": "2",
    "SlurmctldDebug": "info",
    "SlurmdDebug": "info",
}


@dataclass(frozen=True)
class SlurmSite:
    """What a site looks like.

    Parameters
    ----------
    nodes, cpus, memory_mib, gpus : int
        Nodes ``n1``, ``n2``, ... and what each of them has. GPUs are devices that do nothing.
    conf : sequence of str
        Lines of slurm.conf; one with the key of a default replaces it.
    node_lines, partitions : sequence of str
        ``NodeName=`` and ``PartitionName=`` lines. Nodes need ``NodeHostname=ctl``,
        ``NodeAddr=10.9.0.1`` and a port each; the default has ``nodes`` equal ones.
    accounts : mapping
        Account -> its users; a user's first account is the default one.
    accounting : sequence of str
        Commands of sacctmgr, run after accounts and users were added (QOS, limits, shares).
    job_submit : Path, optional
        Lua script that sees every submission.
    files : mapping
        Further files of /etc/slurm, name -> text; executable if they start with ``#!``.
    rest : bool, default=False
        Start slurmrestd, too.
    """

    nodes: int = 4
    cpus: int = 8
    memory_mib: int = 32_000
    gpus: int = 4
    conf: tuple[str, ...] = ()
    node_lines: tuple[str, ...] = ()
    partitions: tuple[str, ...] = (
        "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
    )
    accounts: Mapping[str, Sequence[str]] = field(
        default_factory=lambda: {"nlp": ("ann",), "bio": ("bob",)}
    )
    accounting: tuple[str, ...] = ()
    job_submit: Path | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    rest: bool = False

    @property
    def users(self) -> tuple[str, ...]:
        """Return all users, each once."""
        return tuple(dict.fromkeys(user for held in self.accounts.values() for user in held))


class RefereeError(RuntimeError):
    """A part of the site did not start, or a command in it failed."""


def why_not() -> str | None:
    """Say why no site can be started here; None if it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a real Slurm needs root on Linux, for namespaces and cgroups"
    missing = [name for name in _PROGRAMS if shutil.which(name, path=_PATH) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (tools/system-packages installs Slurm)"
    if not _plugin_folder().is_dir():
        return f"no plug-ins of Slurm at {_plugin_folder()}"
    if not os.access("/sys/fs/cgroup", os.W_OK):
        return "cgroups are read-only here"
    tried = subprocess.run(
        ["unshare", "-m", "-p", "-f", "-n", "-u", "--mount-proc", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return None if tried.returncode == 0 else f"no namespaces of its own: {tried.stderr.strip()}"


def _plugin_folder(root: Path | None = None) -> Path:
    top = root or Path("/")
    found = sorted((top / "usr/lib").glob("*/slurm-wlm"))
    return Path("/") / (found[0] if found else top / "usr/lib/slurm").relative_to(top)


def other_release() -> Path | None:
    """Return the system with another release of Slurm that is to be used, if one is named."""
    named = os.environ.get("PROPHASE_SLURM_ROOT")
    if not named:
        return None
    if not (Path(named) / "usr/sbin/slurmctld").exists():
        raise RefereeError(f"{named}: no slurmctld in it. tools/slurm-release makes such a folder.")
    return Path(named)


class SlurmReferee:
    """A running site; use it in a ``with`` statement.

    Attributes
    ----------
    folder : Path
        Configuration, logs and homes of the site, readable for its users. Inside the site
        ``folder / "etc"`` is /etc/slurm.
    root : Path, optional
        A system with another release of Slurm (``tools/slurm-release`` makes one), whose programs
        are used; ``PROPHASE_SLURM_ROOT`` names it for a whole test run.
    bin : Path
        Folder with ``sbatch``, ``sacct``, ... that talk to this site from outside; put it first
        into PATH to try programs that call them.
    """

    def __init__(self, site: SlurmSite | None = None, *, root: Path | None = None) -> None:
        self.site, self.root = site or SlurmSite(), root or other_release()
        self._name = f"prophase-{os.getpid()}-{secrets.token_hex(4)}"
        self.folder = Path(tempfile.gettempdir()) / f"{self._name}"
        self.bin, self.log = self.folder / "bin", self.folder / "log"
        self._first: subprocess.Popen[bytes] | None = None
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._spawned: list[subprocess.Popen[bytes]] = []
        #: process id, seen from outside, of the first process inside
        self.pid = 0

    # -- life

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process of the site and remove its files and cgroups."""
        if self._first is not None:
            assert self._first.stdin is not None
            self._first.stdin.close()
            try:
                self._first.wait(10)
            except subprocess.TimeoutExpired:
                self._first.kill()
                self._first.wait(10)
            self._first = None
        for one in self._spawned:
            with suppress(subprocess.TimeoutExpired):
                one.wait(10)
        self._spawned.clear()
        self._daemons.clear()
        for controller in _cgroup_mounts():
            _remove_cgroup(controller / self._name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self) -> None:
        _remove_left_behind()
        self._write_files()
        self._enter_namespaces()
        self.start("munged")
        self._start_database()
        self.start("slurmdbd")
        self._add_accounts()
        self.start("slurmctld")
        for node in self.node_names:
            self.start(f"slurmd-{node}")
        wanted = len(self.node_names)
        self._wait_for("nodes", lambda: self._idle_nodes() >= wanted)
        if self.site.rest:
            self.start("slurmrestd")

    @property
    def node_names(self) -> list[str]:
        """Return the names of all nodes."""
        lines = [line for line in self._node_lines() if not line.startswith("NodeName=DEFAULT")]
        found: list[str] = []
        for line in lines:
            found += _hosts(line.split()[0].partition("=")[2])
        return found

    # -- commands

    def run(
        self,
        *command: str,
        user: str | None = None,
        check: bool = True,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
        timeout: float = 120,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside, as root or as one of the site's users."""
        done = subprocess.run(
            self.inside(*command, user=user),
            capture_output=True,
            text=True,
            check=False,
            env=self._environment(user, env),
            cwd=self.home(user),
            input=input if input is not None else "",
            timeout=timeout,
        )
        if check and done.returncode:
            raise RefereeError(
                f"{shlex.join(command)} ended with {done.returncode}: {done.stderr or done.stdout}"
            )
        return done

    def spawn(
        self, *command: str, user: str | None = None, env: Mapping[str, str] | None = None,
        log: str = "spawned.log",
    ) -> subprocess.Popen[bytes]:  # fmt: skip
        """Start a program inside that goes on; it ends with the site."""
        with (self.log / log).open("ab") as out:
            made = subprocess.Popen(
                self.inside(*command, user=user),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=self._environment(user, env),
                cwd=self.home(user),
            )
        self._spawned.append(made)
        return made

    def inside(self, *command: str, user: str | None = None) -> list[str]:
        """Return a command that runs another one inside."""
        become = []
        if user is not None:
            become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--"]
        where = self.home(user)
        enter = ["nsenter", "-t", str(self.pid), "-m", "-u", "-n", "-p"]
        if self.root is None or not self._is_in_root(command[0]):
            return [*enter, f"--wd={where}", *become, *command]
        return [*enter, f"--root={self._inner_root}", f"--wdns={where}", *become, *command]

    def _is_in_root(self, program: str) -> bool:
        """Tell whether a program is run from the other release's system."""
        assert self.root is not None
        if program.startswith("/"):
            return (self.root / program[1:]).exists() or program.startswith(str(self.folder))
        return program not in _OF_THE_MACHINE

    @property
    def _inner_root(self) -> str:
        """The other release's system as the first process has mounted it."""
        return f"/proc/{self.pid}/root{self.root}"

    def in_network(self, call: Callable[[], T]) -> T:
        """Return what a function returns when it is called in the network of the site."""

        def entered() -> T:
            with Path(f"/proc/{self.pid}/ns/net").open() as network:
                libc = ctypes.CDLL(None, use_errno=True)
                if libc.setns(network.fileno(), 0):
                    raise OSError(ctypes.get_errno(), "setns")
            return call()

        # a thread of its own: it stays in that network until it ends
        with ThreadPoolExecutor(1) as alone:
            return alone.submit(entered).result()

    def sbatch(self, *options: str, wrap: str, user: str = "ann") -> str:
        """Submit a command and return the job's id."""
        said = self.run("sbatch", "--parsable", *options, "--wrap", wrap, user=user).stdout
        return said.strip().splitlines()[-1].partition(";")[0]

    def wait(self, *jobs: str, seconds: float = _PATIENCE_S) -> dict[str, str]:
        """Wait until jobs (all, if none is named) have ended; return id -> state of accounting."""
        chosen = ["-j", ",".join(jobs)] if jobs else []

        def none_left() -> bool:
            listed = self.run("squeue", "-h", "-a", "-o", "%i", *chosen, check=False).stdout
            return not listed.split()

        self._wait_for("the end of jobs", none_left, seconds=seconds)
        told: dict[str, str] = {}

        # sacct shows no job that was cancelled before it was eligible
        ends = "CD,F,TO,NF,OOM,PR,DL,BF"
        listed = self.run("squeue", "-h", "-a", "-r", "-t", ends, "-o", "%i", *chosen).stdout
        expected = set(listed.split())

        def all_ended() -> bool:
            told.clear()
            told.update(self.states(*jobs))
            # slurmctld tells slurmdbd a little later
            return expected <= set(told) and all(
                end not in ("PENDING", "RUNNING", "REQUEUED") for end in told.values()
            )

        self._wait_for("the accounting of jobs", all_ended, seconds=seconds)
        return told

    def states(self, *jobs: str) -> dict[str, str]:
        """Return id -> state of jobs as accounting has them now."""
        chosen = ["-j", ",".join(jobs)] if jobs else ["-S", "now-1day"]
        said = self.run("sacct", "-a", "-n", "-P", "-X", "-o", "JobID,State", *chosen).stdout
        rows = (line.split("|") for line in said.splitlines() if "|" in line)
        return {job: state.split()[0] for job, state in rows}

    def token(self, user: str, *, lifespan_s: int = 3600) -> str:
        """Return a JWT for a user of slurmrestd."""
        said = self.run("scontrol", "token", f"username={user}", f"lifespan={lifespan_s}")
        return said.stdout.strip().partition("=")[2]

    @property
    def rest_url(self) -> str:
        """Return the address of slurmrestd, inside the site's network."""
        return f"http://{ADDRESS}:{REST_PORT}"

    def home(self, user: str | None) -> Path:
        """Return a user's home, which is also the folder that commands start in."""
        return self.folder / "home" / (user or "root")

    # -- parts

    def start(self, part: str) -> None:
        """Start a daemon (munged, slurmdbd, slurmctld, slurmd-n1, slurmrestd) until it answers."""
        env = None
        commands = {
            "munged": ["munged", "--foreground", "--key-file", "/etc/munge/munge.key"],
            "slurmdbd": ["slurmdbd", "-D"],
            "slurmctld": ["slurmctld", "-D"],
            "slurmrestd": ["slurmrestd", "-a", "rest_auth/jwt", f"{ADDRESS}:{REST_PORT}"],
        }
        if part.startswith("slurmd-"):
            command = ["slurmd", "-D", "-N", part.removeprefix("slurmd-")]
        else:
            command = commands[part]
        user = {"munged": "munge", "slurmrestd": "nobody"}.get(part)
        if user == "munge":
            command = ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups", *command]
        elif user:
            command = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *command]
            env = {"SLURM_JWT": "daemon"}
        self._daemons[part] = self.spawn(*command, env=env, log=f"{part}.out")
        questions = {
            "munged": ("munge", "-n"),
            "slurmdbd": ("sacctmgr", "-n", "show", "cluster"),
            "slurmctld": ("scontrol", "ping"),
        }
        if part in questions:
            self._wait_for(part, lambda: self._answers(*questions[part]))
        elif part == "slurmrestd":
            self._wait_for(part, self._rest_listens)

    def stop(self, part: str) -> None:
        """End a daemon as if its machine had failed."""
        held = self._daemons.pop(part)
        program = part.partition("-")[0]
        # nsenter's child is the daemon; ending nsenter alone would leave it running
        for child in _children(held.pid):
            with suppress(ProcessLookupError):
                os.kill(child, 9)
        held.wait(20)
        self._wait_for(f"the end of {program}", lambda: held.poll() is not None)

    def restart(self, part: str) -> None:
        """End a daemon, start it again and wait until it answers."""
        self.stop(part)
        self.start(part)

    def text_of(self, log: str) -> str:
        """Return the log of a daemon, such as ``slurmctld``."""
        found = [self.log / f"{log}.log", self.log / f"{log}.out"]
        return "".join(one.read_text(errors="replace") for one in found if one.is_file())

    # -- setting up

    def _write_files(self) -> None:
        etc, site = self.folder / "etc", self.site
        for held in (self.folder, etc, self.bin, self.log, self.folder / "home"):
            held.mkdir(mode=0o755)
            held.chmod(0o755)
        for private in ("munge", "state", "spool", "devices"):
            (self.folder / private).mkdir()
        (self.folder / "jwt.key").write_bytes(secrets.token_bytes(32))
        (self.folder / "jwt.key").chmod(0o600)
        key = self.folder / "munge" / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        shutil.chown(key.parent, "munge", "munge")
        shutil.chown(key, "munge", "munge")
        gpus = [self.folder / "devices" / f"gpu{place}" for place in range(site.gpus)]
        for device in gpus:
            os.mknod(device, 0o666 | 0o020000, os.makedev(1, 3))
            device.chmod(0o666)
        gres = [f"Name=gpu File={self.folder}/devices/gpu[0-{site.gpus - 1}]"] if gpus else []
        kind = "v1" if (Path("/sys/fs/cgroup") / "memory").is_dir() else "v2"
        more = [] if kind == "v1" else ["IgnoreSystemd=yes"]
        files = {
            "slurm.conf": "\n".join(self._slurm_conf()),
            "cgroup.conf": "\n".join(
                [f"CgroupPlugin=cgroup/{kind}", "ConstrainRAMSpace=yes", *more]
            ),
            "gres.conf": "\n".join(gres),
            "slurmdbd.conf": "\n".join(self._slurmdbd_conf()),
            **site.files,
        }
        if site.job_submit is not None:
            files["job_submit.lua"] = site.job_submit.read_text(encoding="utf-8")
        for name, text in files.items():
            (etc / name).write_text(text.rstrip("\n") + "\n", encoding="utf-8")
            (etc / name).chmod(0o755 if text.startswith("#!") else 0o644)
        (etc / "slurmdbd.conf").chmod(0o600)
        self._write_users()
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} ctl\n")

    def _write_users(self) -> None:
        passwd, group = Path("/etc/passwd").read_text(), Path("/etc/group").read_text()
        (self.folder / "home" / "root").mkdir(mode=0o700)
        for uid, user in enumerate(self.site.users, _FIRST_UID):
            passwd += f"{user}:x:{uid}:{uid}::{self.home(user)}:/bin/sh\n"
            group += f"{user}:x:{uid}:\n"
            self.home(user).mkdir()
            os.chown(self.home(user), uid, uid)
        (self.folder / "passwd").write_text(passwd)
        (self.folder / "group").write_text(group)

    def _node_lines(self) -> tuple[str, ...]:
        site = self.site
        if site.node_lines:
            return site.node_lines
        gres = f" Gres=gpu:{site.gpus}" if site.gpus else ""
        names, ports = "n1", "17001"
        if site.nodes > 1:
            names, ports = f"n[1-{site.nodes}]", f"[17001-{17000 + site.nodes}]"
        return (
            f"NodeName={names} NodeHostname=ctl NodeAddr={ADDRESS} Port={ports} "
            f"CPUs={site.cpus} RealMemory={site.memory_mib}{gres}",
        )

    def _slurm_conf(self) -> list[str]:
        values = {key.lower(): (key, value) for key, value in _SLURM_CONF.items()}
        own = {
            "StateSaveLocation": f"{self.folder}/state",
            "SlurmdSpoolDir": f"{self.folder}/spool/%n",
            "SlurmctldPidFile": f"{self.folder}/slurmctld.pid",
            "SlurmdPidFile": f"{self.folder}/slurmd-%n.pid",
            "SlurmctldLogFile": f"{self.log}/slurmctld.log",
            "SlurmdLogFile": f"{self.log}/slurmd-%n.log",
            "AuthAltParameters": f"jwt_key={self.folder}/jwt.key",
            "PluginDir": str(_plugin_folder(self.root)),
        }
        if self.site.job_submit is not None:
            own["JobSubmitPlugins"] = "lua"
        values.update({key.lower(): (key, value) for key, value in own.items()})
        more = []
        for line in self.site.conf:
            key, found, value = line.partition("=")
            if found and " " not in key.strip():
                values[key.strip().lower()] = (key.strip(), value)
            else:
                more.append(line)
        kept = [f"{key}={value}" for key, value in values.values()]
        return [*kept, *more, *self._node_lines(), *self.site.partitions]

    def _slurmdbd_conf(self) -> list[str]:
        return [
            "DbdHost=ctl", f"DbdAddr={ADDRESS}", "SlurmUser=root", "StorageUser=root",
            "StorageType=accounting_storage/mysql", "StorageHost=localhost",
            "StorageLoc=slurm_acct", f"LogFile={self.log}/slurmdbd.log",
            f"PidFile={self.folder}/slurmdbd.pid", f"PluginDir={_plugin_folder(self.root)}",
            "AuthType=auth/munge", "AuthAltTypes=auth/jwt",
            f"AuthAltParameters=jwt_key={self.folder}/jwt.key",
        ]  # fmt: skip

    def _enter_namespaces(self) -> None:
        mounts = []
        for controller in _cgroup_mounts():
            own = controller / self._name
            own.mkdir()
            # a new cpuset has no processors until it is given some
            for file in ("cpuset.cpus", "cpuset.mems"):
                if (controller / file).is_file() and (own / file).is_file():
                    (own / file).write_text((controller / file).read_text())
            mounts.append(f"mount --bind {own} {controller}")
        steps = [
            "set -e", "hostname ctl", "mount --make-rprivate /", *mounts,
            "mount -t tmpfs -o mode=755 run /run", "mkdir -p /run/munge /run/mysqld /run/lock",
            "chown munge:munge /run/munge", "chown mysql:mysql /run/mysqld",
            *self._etc_mounts(""), *self._root_mounts(),
            "ip link set lo up", "ip link add v0 type veth peer name v1",
            f"ip addr add {ADDRESS}/24 dev v0", "ip link set v0 up", "ip link set v1 up",
            # slurmdbd looks its host up with AI_ADDRCONFIG, which wants an address beside loopback
            "echo ready", "cat >/dev/null",
        ]  # fmt: skip
        Path("/etc/slurm").mkdir(exist_ok=True)
        self._first = subprocess.Popen(
            ["unshare", "-m", "-p", "-f", "-n", "-u", "--mount-proc", "--kill-child",
             "sh", "-c", "\n".join(steps)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self._environment(None, None),
        )  # fmt: skip
        assert self._first.stdout is not None
        assert self._first.stderr is not None
        if self._first.stdout.readline() != b"ready\n":
            raise RefereeError(f"no namespaces: {self._first.stderr.read().decode()}")
        self._first.stdout.close()
        self._first.stderr.close()
        self.pid = _children(self._first.pid)[0]
        for name in _CLIENTS:
            tool = self.bin / name
            enter = f"nsenter -t {self.pid} -m -u -n -p"
            # by its whole path: inside, this folder comes first in PATH as well
            program = shutil.which(name, path=_PATH)
            if self.root is not None:
                enter, program = f"{enter} --root={self._inner_root}", f"/usr/bin/{name}"
            tool.write_text(f'#!/bin/sh\nexec {enter} {program} "$@"\n')
            tool.chmod(0o755)

    def _etc_mounts(self, root: str) -> list[str]:
        return [
            f"mkdir -p {root}/etc/slurm {root}/etc/munge",
            f"mount --bind {self.folder}/etc {root}/etc/slurm",
            f"mount --bind {self.folder}/munge {root}/etc/munge",
            *(f"mount --bind {self.folder}/{name} {root}/etc/{name}"
              for name in ("hosts", "passwd", "group")),
        ]  # fmt: skip

    def _root_mounts(self) -> list[str]:
        """Return what another release's system needs of this one."""
        if self.root is None:
            return []
        root, shared = self.root, tempfile.gettempdir()
        return [
            *(f"mount --rbind /{name} {root}/{name}" for name in ("proc", "sys", "dev", "run")),
            f"touch {root}/etc/hosts", f"mkdir -p {root}{shared}",
            f"mount --bind {shared} {root}{shared}", *self._etc_mounts(str(root)),
            # its users have other numbers
            f"mount -t tmpfs -o mode=700 munge {root}/var/lib/munge",
            f"chown munge:munge {root}/var/lib/munge",
        ]  # fmt: skip

    def _start_database(self) -> None:
        data = self.folder / "mysql"
        data.mkdir()
        shutil.chown(data, "mysql", "mysql")
        self.run(
            "mariadb-install-db", "--no-defaults", "--user=mysql", f"--datadir={data}",
            "--auth-root-authentication-method=normal", "--skip-test-db",
        )  # fmt: skip
        self._daemons["mariadbd"] = self.spawn(
            "mariadbd", "--no-defaults", "--user=mysql", f"--datadir={data}", "--skip-networking",
            "--socket=/run/mysqld/mysqld.sock", "--innodb-buffer-pool-size=64M",
            "--innodb-lock-wait-timeout=900", "--innodb-flush-log-at-trx-commit=0",
            log="mariadbd.out",
        )  # fmt: skip
        ping = ("mariadb-admin", "--no-defaults", "--socket=/run/mysqld/mysqld.sock", "ping")
        self._wait_for("mariadbd", lambda: self._answers(*ping))

    def _add_accounts(self) -> None:
        manage = ("sacctmgr", "-i")
        self.run(*manage, "add", "cluster", "referee")
        for account, users in self.site.accounts.items():
            self.run(*manage, "add", "account", account)
            for user in users:
                self.run(*manage, "add", "user", user, f"account={account}")
        for words in self.site.accounting:
            self.run(*manage, *shlex.split(words))

    # -- looking

    def _environment(self, user: str | None, more: Mapping[str, str] | None) -> dict[str, str]:
        kept = {"PATH": _PATH, "HOME": str(self.home(user)), "USER": user or "root", "LANG": "C"}
        return {**kept, "LC_ALL": "C", "TZ": "UTC", **(more or {})}

    def _answers(self, *command: str) -> bool:
        try:
            done = self.run(*command, check=False, timeout=20)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0 and "DOWN" not in done.stdout

    def _idle_nodes(self) -> int:
        said = self.run("sinfo", "-h", "-N", "-o", "%N %T", check=False).stdout
        rows = {tuple(line.split()) for line in said.splitlines()}
        return sum(row[-1] in ("idle", "mixed", "allocated") for row in rows)

    def _rest_listens(self) -> bool:
        held = self.run("ss", "-ltn", check=False).stdout
        return f":{REST_PORT}" in held

    def _wait_for(self, what: str, is_so: object, *, seconds: float = _PATIENCE_S) -> None:
        assert callable(is_so)
        until = time.monotonic() + seconds
        while not is_so():
            dead = [name for name, one in self._daemons.items() if one.poll() is not None]
            if dead or time.monotonic() > until:
                told = "\n".join(self.text_of(name)[-1500:] for name in dead or ["slurmctld"])
                why = f"{', '.join(dead)} ended" if dead else f"not within {seconds:g} s"
                raise RefereeError(f"Waiting for {what}: {why}.\n{told}")
            time.sleep(0.1)


def _cgroup_mounts() -> list[Path]:
    """Return where the controllers are mounted that Slurm uses."""
    root = Path("/sys/fs/cgroup")
    if not (root / "memory").is_dir():
        return [root]
    wanted = ("memory", "cpuset", "cpu", "cpuacct", "devices", "freezer", "cpu,cpuacct")
    return [root / name for name in wanted if (root / name).is_dir()]


def _remove_cgroup(folder: Path) -> None:
    """Remove a cgroup and all below it, once the kernel has seen its processes end."""
    for _ in range(50):
        if not folder.is_dir():
            return
        for below in sorted(folder.rglob("*"), reverse=True):
            if below.is_dir():
                with suppress(OSError):
                    below.rmdir()
        with suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.1)


def _remove_left_behind() -> None:
    """Remove what sites left whose process was killed and could not clear up."""
    own = "prophase-[0-9]*-????????"
    for found in Path(tempfile.gettempdir()).glob(own):
        if not Path(f"/proc/{found.name.split('-')[1]}").exists():
            shutil.rmtree(found, ignore_errors=True)
    for found in (one for held in _cgroup_mounts() for one in held.glob(own)):
        if not Path(f"/proc/{found.name.split('-')[1]}").exists():
            _remove_cgroup(found)


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children")
    if found.is_file():
        return [int(word) for word in found.read_text().split()]
    said = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in said.stdout.split()]


def _hosts(text: str) -> list[str]:
    """Return the names of a host list such as ``n[1-4],gpu1``."""
    before, bracket, rest = text.partition("[")
    if not bracket:
        return text.split(",")
    inner, _, _after = rest.partition("]")
    found = []
    for part in inner.split(","):
        low, _, high = part.partition("-")
        found += [f"{before}{number}" for number in range(int(low), int(high or low) + 1)]
    return found


def main() -> int:
    """Start a site, and a shell in it."""
    parser = argparse.ArgumentParser(description="A real Slurm in namespaces of its own.")
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--conf", action="append", default=[], help="a line of slurm.conf")
    parser.add_argument("--lua", type=Path, help="job_submit.lua")
    parser.add_argument("--rest", action="store_true", help="start slurmrestd, too")
    parser.add_argument("command", nargs="*", help="what to run instead of a shell")
    asked = parser.parse_args()
    reason = why_not()
    if reason:
        print(f"No Slurm here: {reason}.", file=sys.stderr)
        return 2
    site = SlurmSite(
        nodes=asked.nodes, conf=tuple(asked.conf), job_submit=asked.lua, rest=asked.rest
    )
    with SlurmReferee(site) as slurm:
        print(f"Slurm with {asked.nodes} nodes; users ann and bob; {slurm.folder}", file=sys.stderr)
        command = asked.command or [os.environ.get("SHELL", "/bin/sh")]
        return subprocess.run(slurm.inside(*command), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
