#!/usr/bin/env python3
"""A real Kubernetes control plane on this machine, for tests: python tools/kubernetes_referee.py

etcd, kube-apiserver, kube-scheduler and kube-controller-manager are the real ones; kwok plays the
nodes and the life of their pods. All of them are one program, which `tools/kubernetes-env` builds.
They listen on loopback alone, at ports that were free, and end with this process in whatever way
it ends.

Run as a program it starts a control plane, opens a shell with KUBECONFIG set and removes it all
when the shell ends::

    python tools/kubernetes_referee.py --nodes 4

Used from Python::

    with KubernetesReferee(KubernetesSite(nodes=2)) as kube:
        kube.kubectl("create", "namespace", "ml")
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SOURCE = Path(__file__).parent / "kubernetes"
#: programs beside our own
_PROGRAMS = ("openssl", "setpriv")
_PATIENCE_S = 120.0
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class KubernetesSite:
    """What a cluster looks like.

    Parameters
    ----------
    nodes, cpus, memory_gib, gpus : int
        Nodes ``n1``, ``n2``, ... and what each of them has.
    users : mapping
        User -> groups. ``admin`` may do everything and is always there; others what RBAC allows.
    scheduler : str
        Configuration of kube-scheduler (YAML or JSON) beside its client; the default if empty.
    stages : str
        Further stages of kwok (YAML): how pods live.
    """

    nodes: int = 4
    cpus: int = 32
    memory_gib: int = 128
    gpus: int = 8
    users: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"ann": (), "bob": ()})
    scheduler: str = ""
    stages: str = ""


class RefereeError(RuntimeError):
    """A part of the control plane did not start, or a command failed."""


def program() -> Path:
    """Return where `tools/kubernetes-env` puts the program."""
    asked = os.environ.get("PROPHASE_KUBERNETES")
    if asked:
        return Path(asked) / "kubernetes"
    lines = (SOURCE / "go.mod").read_text("utf-8").splitlines()
    version = next(one.split()[1] for one in lines if one.startswith("\tk8s.io/kubernetes v"))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "prophase" / f"kubernetes-{version.lstrip('v')}-{_key()}" / "kubernetes"


def _key() -> str:
    """Return the checksum of what the program is made of, as cksum of POSIX has it."""
    data = (SOURCE / "go.mod").read_bytes() + (SOURCE / "main.go").read_bytes()
    said = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout
    return said.split()[0].decode()


def why_not() -> str | None:
    """Say why no control plane can be started here; None if it can."""
    if sys.platform != "linux":
        return "a real Kubernetes is started on Linux alone"
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    if not os.access(program(), os.X_OK):
        return f"{program()} is not there (tools/kubernetes-env builds it)"
    return None


class KubernetesReferee:
    """A running control plane; use it in a ``with`` statement.

    Attributes
    ----------
    folder : Path
        Certificates, logs and data.
    kubeconfig : Path
        Of ``admin``.
    url, token : str
        Address of the API server, and the token of ``admin``.
    """

    def __init__(self, site: KubernetesSite | None = None) -> None:
        self.site = site or KubernetesSite()
        self.folder = Path(tempfile.gettempdir()) / (
            f"prophase-kube-{os.getpid()}-{secrets.token_hex(4)}"
        )
        self.kubeconfig = self.folder / "admin.json"
        self.authority = self.folder / "ca.crt"
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._commands: dict[str, list[str]] = {}
        self.tokens = {name: secrets.token_hex(16) for name in ("admin", *self.site.users)}
        self.token = self.tokens["admin"]
        self.url = ""

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
        """End every process and remove all files."""
        for name in reversed(list(self._daemons)):
            self.kill(name)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self) -> None:
        _remove_left_behind()
        (self.folder / "log").mkdir(parents=True)
        self._write_secrets()
        ports = free_ports(7)
        etcd, peer, server, scheduler, controllers, nodes, _ = ports
        self.url = f"https://{_LOOPBACK}:{server}"
        for user in self.tokens:
            self._write_kubeconfig(user)
        store = f"http://{_LOOPBACK}:{etcd}"
        self._commands["etcd"] = [
            f"--data-dir={self.folder}/etcd", f"--listen-client-urls={store}",
            f"--advertise-client-urls={store}", f"--listen-peer-urls=http://{_LOOPBACK}:{peer}",
            f"--initial-advertise-peer-urls=http://{_LOOPBACK}:{peer}",
            f"--initial-cluster=default=http://{_LOOPBACK}:{peer}", "--unsafe-no-fsync",
            "--log-level=warn",
        ]  # fmt: skip
        self._commands["kube-apiserver"] = [
            f"--etcd-servers={store}", f"--bind-address={_LOOPBACK}", f"--secure-port={server}",
            f"--advertise-address={_LOOPBACK}", "--service-cluster-ip-range=10.96.0.0/16",
            f"--tls-cert-file={self.folder}/server.crt",
            f"--tls-private-key-file={self.folder}/server.key",
            f"--token-auth-file={self.folder}/tokens.csv", "--authorization-mode=RBAC",
            f"--service-account-key-file={self.folder}/accounts.key",
            f"--service-account-signing-key-file={self.folder}/accounts.key",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--endpoint-reconciler-type=none", "--profiling=false",
        ]  # fmt: skip
        configured = self.folder / "scheduler.yaml"
        text = self.site.scheduler or (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        )
        configured.write_text(
            f"{text}\nclientConnection: {{kubeconfig: {self.kubeconfig}, qps: 1000, burst: 2000}}\n"
            "leaderElection: {leaderElect: false}\n"
        )
        self._commands["kube-scheduler"] = [
            f"--config={configured}", f"--bind-address={_LOOPBACK}", f"--secure-port={scheduler}",
        ]  # fmt: skip
        self._commands["kube-controller-manager"] = [
            f"--kubeconfig={self.kubeconfig}", f"--bind-address={_LOOPBACK}",
            f"--secure-port={controllers}", "--leader-elect=false",
            f"--service-account-private-key-file={self.folder}/accounts.key",
            f"--root-ca-file={self.authority}", "--kube-api-qps=500", "--kube-api-burst=1000",
        ]  # fmt: skip
        stages = self.folder / "stages.yaml"
        own = (SOURCE / "stages.yaml").read_text("utf-8")
        stages.write_text("\n---\n".join(one for one in (own, self.site.stages) if one))
        self._commands["kwok"] = [
            f"--kubeconfig={self.kubeconfig}", f"--config={stages}", "--manage-all-nodes=true",
            f"--server-address={_LOOPBACK}:{nodes}", "--node-lease-duration-seconds=40",
        ]  # fmt: skip
        self.start("etcd")
        self.start("kube-apiserver")
        self._wait_for("kube-apiserver", self._is_ready)
        for name in ("kube-controller-manager", "kube-scheduler", "kwok"):
            self.start(name)
        self.apply(*(self._node(place + 1) for place in range(self.site.nodes)))
        self._wait_for("nodes", lambda: self._free_nodes() >= self.site.nodes)
        self.wait_until(lambda: self._has_account("default"), "service accounts")

    def start(self, name: str) -> int:
        """Start a part, such as ``kube-apiserver``; return its process id."""
        with (self.folder / "log" / name).open("ab") as out:
            self._daemons[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", str(program()), name]
                + self._commands[name],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=self.folder,
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            )
        return self._daemons[name].pid

    def kill(self, name: str) -> None:
        """End a part at once, as kill -9 does."""
        found = self._daemons.pop(name, None)
        if found is not None:
            found.kill()
            found.wait(30)

    def restart(self, name: str = "kube-apiserver") -> None:
        """End a part at once and start it again."""
        self.kill(name)
        self.start(name)
        self._wait_for(name, self._is_ready)

    # -- commands

    def kubectl(
        self, *arguments: str, user: str = "admin", input: str = "", check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as a user."""
        done = subprocess.run(
            [str(program()), "kubectl", f"--kubeconfig={self.kubeconfig_of(user)}", *arguments],
            capture_output=True,
            text=True,
            input=input,
            check=False,
            timeout=_PATIENCE_S,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
        )
        if check and done.returncode:
            raise RefereeError(
                f"kubectl {shlex.join(arguments)} ended with {done.returncode}: {done.stderr}"
            )
        return done

    def apply(self, *documents: Mapping[str, Any], user: str = "admin") -> None:
        """Create objects, or bring them to what is given."""
        if not documents:
            return
        everything = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
        self.kubectl("apply", "-f", "-", input=json.dumps(everything), user=user)

    def create(
        self, document: Mapping[str, Any], *options: str, namespace: str = "default",
        user: str = "admin",
    ) -> dict[str, Any]:  # fmt: skip
        """Create one object with kubectl and return it as the API server has it."""
        said = self.kubectl(
            "create", "-n", namespace, "-o", "json", *options, "-f", "-",
            input=json.dumps(document), user=user,
        )  # fmt: skip
        made: dict[str, Any] = json.loads(said.stdout)
        return made

    def get(self, *what: str, namespace: str = "default") -> dict[str, Any]:
        """Return an object, or with a kind alone a list of them."""
        found: dict[str, Any] = json.loads(
            self.kubectl("get", "-n", namespace, "-o", "json", *what).stdout
        )
        return found

    def namespace(self, **labels: str) -> str:
        """Make a namespace with a name of its own, ready for pods; return its name."""
        name = f"t{secrets.token_hex(4)}"
        self.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        )
        self.wait_until(lambda: self._has_account(name), "the namespace's service account")
        return name

    def delete_namespaces(self) -> None:
        """Delete every namespace that is not Kubernetes' own, with what is in it."""
        names = [one["metadata"]["name"] for one in self.get("namespaces")["items"]]
        made = [one for one in names if one != "default" and not one.startswith("kube-")]
        if made:
            # one that a test has deleted may be gone by now
            self.kubectl("delete", "namespace", *made, "--wait=false", "--ignore-not-found")

    def kubeconfig_of(self, user: str) -> Path:
        """Return the kubeconfig of a user."""
        return self.folder / f"{user}.json"

    def wait_until(
        self, is_so: Callable[[], bool], what: str = "that", *, seconds: float = _PATIENCE_S
    ) -> None:
        """Wait until something is so; the parts must stay alive meanwhile."""
        self._wait_for(what, is_so, seconds=seconds)

    def log(self, name: str) -> str:
        """Return what a part has written."""
        return (self.folder / "log" / name).read_text("utf-8", "replace")

    # -- making

    def _write_secrets(self) -> None:
        make_certificate(self.folder, "server", authority="ca", names=("localhost", _LOOPBACK))
        _openssl("genrsa", "-out", str(self.folder / "accounts.key"), "2048")
        rows = [f"{self.token},admin,admin,system:masters"]
        for user, groups in self.site.users.items():
            joined = ",".join(groups)
            rows.append(f'{self.tokens[user]},{user},{user},"{joined}"')
        (self.folder / "tokens.csv").write_text("\n".join(rows) + "\n")

    def _write_kubeconfig(self, user: str) -> None:
        cluster = {"server": self.url, "certificate-authority": str(self.authority)}
        self.kubeconfig_of(user).write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "referee", "cluster": cluster}],
                    "users": [{"name": user, "user": {"token": self.tokens[user]}}],
                    "contexts": [
                        {"name": "referee", "context": {"cluster": "referee", "user": user}}
                    ],
                    "current-context": "referee",
                }
            )
        )

    def _node(self, number: int) -> dict[str, Any]:
        site = self.site
        has = {"cpu": str(site.cpus), "memory": f"{site.memory_gib}Gi", "pods": "500"}
        if site.gpus:
            has["nvidia.com/gpu"] = str(site.gpus)
        name = f"n{number}"
        about = {"name": name, "labels": {"kubernetes.io/hostname": name}}
        status = {"capacity": has, "allocatable": has}
        return {"apiVersion": "v1", "kind": "Node", "metadata": about, "status": status}

    # -- looking

    def _is_ready(self) -> bool:
        asked = urllib.request.Request(
            f"{self.url}/readyz", headers={"Authorization": f"Bearer {self.token}"}
        )
        trusted = ssl.create_default_context(cafile=str(self.authority))
        try:
            with urllib.request.urlopen(asked, context=trusted, timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def _free_nodes(self) -> int:
        """Return how many nodes are ready and without taints."""
        said = self.kubectl("get", "nodes", "-o", "json", check=False).stdout
        nodes = json.loads(said)["items"] if said.strip() else []
        return sum(
            not one["spec"].get("taints")
            and any(
                state["type"] == "Ready" and state["status"] == "True"
                for state in one["status"].get("conditions", ())
            )
            for one in nodes
        )

    def _has_account(self, namespace: str) -> bool:
        return (
            self.kubectl(
                "get", "-n", namespace, "serviceaccount", "default", check=False
            ).returncode
            == 0
        )

    def _wait_for(
        self, what: str, is_so: Callable[[], bool], *, seconds: float = _PATIENCE_S
    ) -> None:
        until = time.monotonic() + seconds
        while not is_so():
            dead = [name for name, one in self._daemons.items() if one.poll() is not None]
            if dead or time.monotonic() > until:
                told = "\n".join(self.log(name)[-1500:] for name in dead or ["kube-apiserver"])
                why = f"{', '.join(dead)} ended" if dead else f"not within {seconds:g} s"
                raise RefereeError(f"Waiting for {what}: {why}.\n{told}")
            time.sleep(0.1)


def make_certificate(
    folder: Path, name: str, *, authority: str, names: tuple[str, ...] = ()
) -> tuple[Path, Path]:
    """Write a key and a certificate signed by an authority, which is made if it is not there."""
    root, root_key = folder / f"{authority}.crt", folder / f"{authority}.key"
    if not root.exists():
        _openssl(
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj",
            f"/CN={authority}", "-keyout", str(root_key), "-out", str(root),
            "-addext", "basicConstraints=critical,CA:TRUE",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",
        )  # fmt: skip
    made, key = folder / f"{name}.crt", folder / f"{name}.key"
    asked, more = folder / f"{name}.csr", folder / f"{name}.ext"
    _openssl(
        "req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
        "-keyout", str(key), "-out", str(asked),
    )  # fmt: skip
    kinds = ["IP:" + one if one[0].isdigit() else "DNS:" + one for one in names or (name,)]
    more.write_text(f"subjectAltName={','.join(kinds)}\nextendedKeyUsage=serverAuth\n")
    _openssl(
        "x509", "-req", "-in", str(asked), "-CA", str(root), "-CAkey", str(root_key),
        "-CAcreateserial", "-days", "3650", "-extfile", str(more), "-out", str(made),
    )  # fmt: skip
    return made, key


def free_ports(count: int) -> list[int]:
    """Return ports of loopback that nobody listens at."""
    held = [socket.create_server((_LOOPBACK, 0)) for _ in range(count)]
    found = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return found


def _openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RefereeError(f"openssl {shlex.join(arguments)}: {done.stderr}")


def _remove_left_behind() -> None:
    """Remove the files of control planes whose process was killed and could not clear up."""
    for found in Path(tempfile.gettempdir()).glob("prophase-kube-[0-9]*-????????"):
        if not Path(f"/proc/{found.name.split('-')[2]}").exists():
            shutil.rmtree(found, ignore_errors=True)


def main() -> int:
    """Start a control plane, and a shell that uses it."""
    parser = argparse.ArgumentParser(description="A real Kubernetes control plane on loopback.")
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("command", nargs="*", help="what to run instead of a shell")
    asked = parser.parse_args()
    reason = why_not()
    if reason:
        print(f"No Kubernetes here: {reason}.", file=sys.stderr)
        return 2
    with KubernetesReferee(KubernetesSite(nodes=asked.nodes)) as kube:
        tools = kube.folder / "bin"
        tools.mkdir()
        (tools / "kubectl").symlink_to(program())
        print(f"Kubernetes with {asked.nodes} nodes: {kube.url}, {kube.folder}", file=sys.stderr)
        path = f"{tools}:{os.environ['PATH']}"
        command = asked.command or [os.environ.get("SHELL", "/bin/sh")]
        held = {**os.environ, "KUBECONFIG": str(kube.kubeconfig), "PATH": path}
        return subprocess.run(command, check=False, env=held).returncode


if __name__ == "__main__":
    sys.exit(main())
