"""Replace every replica of a service while it is asked: no admission fails, no report is lost.

    python -m tests.serve.rolling_upgrade [--replicas 3] [--rate 200] [--rounds 2] [--mode set]

Real processes share a real PostgreSQL server. A balancer on the loopback sends each request to a
replica that is ready, as a Service of Kubernetes does. Requests leave at random at the rate given:
half are admission reviews, four in ten predictions, one in ten reports of finished jobs. Meanwhile
one replica after the other is taken out, stopped with SIGTERM and started again from an empty
workspace, which fetches the tables and models in use.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tests.serve.submit.objects import pod

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from postgres import new_database, postgres_programs, running_postgres

#: seconds after which a kept connection is not used again
_IDLE_S = 5.0


@dataclass
class Replica:
    """One ``prophase serve`` with a workspace of its own."""

    folder: Path
    environment: dict[str, str]
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    #: whether the balancer sends requests here
    listed: bool = False
    going: int = 0
    idle: list[tuple[float, asyncio.StreamReader, asyncio.StreamWriter]] = field(
        default_factory=list
    )

    def start(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        program = str(Path(sys.executable).parent / "prophase")
        with self.folder.with_suffix(".log").open("ab") as log:
            self.process = subprocess.Popen(
                [program, "serve", "start", self.folder, "--port", str(self.port), "--rate", "0"],
                stderr=log,
                env=self.environment,
            )

    async def ready(self) -> None:
        """Wait until a model answers."""
        for _ in range(1_200):
            try:
                status, _ = await self.ask(b"GET /readyz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            except (OSError, asyncio.IncompleteReadError):
                status = 0
            if status == 200:
                return
            assert self.process is not None
            if self.process.poll() is not None:
                raise SystemExit(f"a replica ended with code {self.process.returncode}")
            await asyncio.sleep(0.1)
        raise SystemExit("a replica does not become ready")

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Pass a request on, and return the status and the whole answer."""
        streams = None
        while self.idle:
            since, *found = self.idle.pop()
            if time.monotonic() - since < _IDLE_S:
                streams = found
                break
            found[1].close()
        reader, writer = streams or await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            told = head.decode("latin-1").lower()
            length = int(told.split("content-length:")[1].split("\r\n")[0])
            body = await reader.readexactly(length)
        except BaseException:
            writer.close()
            raise
        self.idle.append((time.monotonic(), reader, writer))
        return int(told.split()[1]), body

    async def hang_up(self) -> None:
        """Close the connections that are kept."""
        while self.idle:
            writer = self.idle.pop()[2]
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def stop(self) -> int:
        """Take it out, let what is under way end, and stop it; returns its exit code."""
        self.listed = False
        while self.going:
            await asyncio.sleep(0.02)
        await self.hang_up()
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return await asyncio.to_thread(self.process.wait, 60)


@dataclass
class Balancer:
    """Sends each request to the next replica that is listed; nothing is tried twice."""

    replicas: list[Replica]
    turn: int = 0

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        listed = [one for one in self.replicas if one.listed]
        if not listed:
            return 503, b""
        self.turn += 1
        chosen = listed[self.turn % len(listed)]
        chosen.going += 1
        try:
            return await chosen.ask(request)
        finally:
            chosen.going -= 1


@dataclass
class Tally:
    """What was asked, and how it was answered."""

    asked: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    #: what and how it failed
    why: Counter[str] = field(default_factory=Counter)
    late: int = 0
    #: admissions whose request was set
    changed: int = 0
    upgrades: int = 0
    confirmed: set[str] = field(default_factory=set)
    times: dict[str, list[float]] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)

    @property
    def lost(self) -> set[str]:
        return self.confirmed - set(self.kept)

    def lines(self) -> list[str]:
        shown = [f"{self.upgrades} replicas replaced"]
        for kind, times in sorted(self.times.items()):
            p50, p99 = (1e3 * np.percentile(times, share) for share in (50, 99))
            shown.append(
                f"{kind:10s} {self.asked[kind]:7,d} asked {self.failed[kind]:5,d} failed  "
                f"p50 {p50:.1f} ms  p99 {p99:.1f} ms"
            )
        shown.append(f"{self.late:,} admissions passed unchanged because the answer was late")
        shown.append(f"{self.changed:,} admissions had their request set")
        if self.why:
            shown.append("failed: " + ", ".join(f"{n:,} x {w}" for w, n in self.why.most_common()))
        twice = len(self.kept) - len(set(self.kept))
        shown.append(
            f"{len(self.confirmed):,} reports confirmed, {len(self.lost)} lost, {twice} twice"
        )
        return shown


def request(path: str, secret: str, body: dict[str, Any]) -> bytes:
    text = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {secret}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(text)}\r\n\r\n"
    )
    return head.encode() + text


def question(kind: str, number: int, secret: str) -> bytes:
    if kind == "report":
        job = {"job_id": f"r{number}", "user": f"u{number % 50}", "duration_s": 60 + number % 900}
        return request("/v1/observe", secret, {"jobs": [job]})
    if kind == "predict":
        return request("/v1/predict", secret, {"jobs": [{"user": f"u{number % 50}", "gpus": 1}]})
    owner = {"kind": "Job", "name": f"train-{number // 3}", "uid": f"o{number // 3}"}
    # of a known kind, so that there is a request to set
    made = pod(
        generateName=f"train-{number // 3}-",
        ownerReferences=[{**owner, "apiVersion": "batch/v1", "controller": True}],
    )
    asked = {"uid": f"a{number}", "operation": "CREATE", "namespace": "ml", "object": made}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
    return request("/v1/submit/kubernetes", secret, review)


async def load(
    balancer: Balancer, tally: Tally, secret: str, rate: float, stop: asyncio.Event
) -> None:
    """Ask at the rate given until told to stop; a time counts from when a request was due."""
    draw = random.Random(0)
    going: set[asyncio.Task[None]] = set()

    async def one(kind: str, number: int, due: float) -> None:
        tally.asked[kind] += 1
        try:
            status, body = await balancer.ask(question(kind, number, secret))
        except (OSError, asyncio.IncompleteReadError):
            status, body = 0, b""
        tally.times.setdefault(kind, []).append(time.perf_counter() - due)
        if status != 200:
            tally.failed[kind] += 1
            tally.why[f"{kind} {status or 'no answer'}"] += 1
        elif kind == "report":
            tally.confirmed.add(f"r{number}")
        elif kind == "admission":
            response = json.loads(body)["response"]
            tally.failed[kind] += not response["allowed"]
            tally.late += "late" in json.dumps(response.get("auditAnnotations", {}))
            tally.changed += b"/resources/" in base64.b64decode(response.get("patch", ""))

    due, number = time.perf_counter(), 0
    while not stop.is_set():
        due += draw.expovariate(rate)
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        kind = draw.choices(("admission", "predict", "report"), (5, 4, 1))[0]
        task = asyncio.create_task(one(kind, number, due))
        going.add(task)
        task.add_done_callback(going.discard)
        number += 1
    await asyncio.gather(*going)


async def upgraded(
    replicas: list[Replica],
    tally: Tally,
    secret: str,
    rate: float,
    replacements: int,
    settle_s: float,
) -> None:
    for one in replicas:
        await asyncio.to_thread(one.start)
    for one in replicas:
        await one.ready()
        one.listed = True
    stop = asyncio.Event()
    asking = asyncio.create_task(load(Balancer(replicas), tally, secret, rate, stop))
    await asyncio.sleep(settle_s)
    for place in range(replacements):
        one = replicas[place % len(replicas)]
        began_s = time.monotonic()
        code = await one.stop()
        stopped_s = time.monotonic()
        # the server ends by the signal that it was sent, after what it had to finish
        if code not in (0, -signal.SIGTERM):
            tally.failed[f"exit code {code}"] += 1
        settings = (one.folder / "prophase.toml").read_text(encoding="utf-8")
        one.folder = fresh(one.folder.with_name(f"replica-{len(replicas) + place}"), settings)
        await asyncio.to_thread(one.start)
        await one.ready()
        one.listed = True
        tally.upgrades += 1
        ready_s = time.monotonic()
        took = f"{stopped_s - began_s:.1f} s to stop, {ready_s - stopped_s:.1f} s until ready"
        asked = f"{tally.asked.total():,} asked, {tally.failed.total():,} failed"
        print(f"{tally.upgrades} replaced: {took}; {asked}", file=sys.stderr)
        await asyncio.sleep(settle_s)
    stop.set()
    await asking
    for one in replicas:
        await one.hang_up()


def fresh(folder: Path, settings: str) -> Path:
    """Make a workspace that has settings and nothing else."""
    folder.mkdir()
    (folder / "prophase.toml").write_text(settings, encoding="utf-8")
    return folder


def campaign(
    workspace: Path, server: str, home: Path, *, replicas: int, rate: float, replacements: int,
    settle_s: float, mode: str = "annotate",
) -> Tally:  # fmt: skip
    """Serve a workspace from several replicas and replace them in turn."""
    from prophase.serve.model_versions import ModelVersions
    from prophase.serve.tokens import TokenStore
    from prophase.study.feedback.store import FeedbackStore

    address = new_database(server)
    before = os.environ.get("PROPHASE_DATABASE")
    os.environ["PROPHASE_DATABASE"] = address
    tally = Tally()
    made: list[Replica] = []
    try:
        versions = ModelVersions(workspace)
        versions.publish("campaign")
        versions.close()
        tokens = TokenStore(workspace)
        secret = tokens.add("campaign", "feedback")
        tokens.close()
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        settings = f'[submit]\nmode = "{mode}"\n'
        made = [
            Replica(fresh(home / f"replica-{n}", settings), environment) for n in range(replicas)
        ]
        work = upgraded(made, tally, secret, rate, replacements, settle_s)
        # in a thread of its own: what ran before may have left a loop in this one
        with ThreadPoolExecutor(1) as aside:
            aside.submit(asyncio.run, work).result()
        store = FeedbackStore(workspace)
        tally.kept = [str(job["job_id"]) for _, job in store.since(0)]
        store.close()
    finally:
        for one in made:
            if one.process is not None:
                one.process.kill()
                one.process.wait()
        os.environ.pop("PROPHASE_DATABASE")
        if before is not None:
            os.environ["PROPHASE_DATABASE"] = before
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--settle", type=float, default=5.0, help="seconds between replacements")
    parser.add_argument("--mode", choices=("annotate", "set"), default="annotate")
    asked = parser.parse_args()
    programs = postgres_programs()
    if programs is None:
        raise SystemExit("no PostgreSQL server; tools/system-packages installs one")
    from tests.serve.attacks import made_workspace

    with tempfile.TemporaryDirectory() as scratch, running_postgres(programs) as server:
        tally = campaign(
            made_workspace(Path(scratch) / "ws"), server, Path(scratch), replicas=asked.replicas,
            rate=asked.rate, replacements=asked.rounds * asked.replicas, settle_s=asked.settle,
            mode=asked.mode,
        )  # fmt: skip
    print("\n".join(tally.lines()))
    sys.exit(bool(tally.failed.total() or tally.lost))


if __name__ == "__main__":
    main()
