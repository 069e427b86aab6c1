"""How the service bears load: predictions at 200 requests/s, and reports through a kill -9.

A workspace with a model of 100,000 finished jobs is served by ``prophase serve`` in one process;
this process asks. Requests leave at random (a Poisson process) whether or not earlier ones have
been answered, and a request's time counts from when it should have left, so that a service that
stalls cannot hide it. Beside it runs the same load against ``/healthz``, which computes nothing:
what is left is HTTP and the machine. The same load is then offered while pages are prepared and
models are learnt in the background. Then 10,000 finished jobs are reported over several
connections while the service is killed (SIGKILL) and started again; every report that was
confirmed must be there afterwards, once.

    python benchmarks/speed/serve_load.py [--jobs 100000] [--seconds 20] [--workspace FOLDER]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.profile.predict.job_model import learn
from prophase.profile.predict.submit_columns import submitted
from prophase.trace.synth.pai import make_pai
from prophase.trace.trace_tables import open_trace
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import PREDICTIONS
from record import ROOT, Measurement, record

DATA = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
RATE, REPORTS, REPORTERS, KILLS = 200, 10_000, 8, 3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--workspace", type=Path, help="keep it here, and use it again")
    parser.add_argument("--only", choices=("predictions", "busy", "reports"))
    options = parser.parse_args()
    with TemporaryDirectory() as scratch:
        folder = options.workspace or Path(scratch) / "ws"
        data = prepared(folder, options.jobs)
        if options.only in (None, "predictions"):
            predictions(folder, options, data)
        if options.only in (None, "busy"):
            busy_predictions(folder, options, data)
        if options.only in (None, "reports"):
            reports(folder, data)


def prepared(folder: Path, wanted: int) -> str:
    """Make a workspace with that many jobs and a model; returns what to call the data."""
    source = DATA / "drac-slurm"
    name = f"{'drac-slurm' if source.is_dir() else 'synthetic PAI'}, {wanted:,} jobs"
    if Workspace.is_at(folder):
        return name
    if source.is_dir():
        jobs = open_trace(source, source="drac", tables=["jobs"]).jobs
    else:
        jobs = make_pai(jobs=wanted, days=60.0, random_state=0).tables["jobs"]
    jobs = jobs[jobs["duration_s"].notna()]
    if len(jobs) < wanted:
        jobs = pd.concat([jobs] * -(-wanted // len(jobs)), ignore_index=True)
    jobs = jobs[:wanted].reset_index(drop=True)
    jobs["job_id"] = [f"j{row}" for row in range(len(jobs))]
    made = Workspace.create(folder)
    made.store_frames({"jobs": jobs}, source="benchmark", source_hash="benchmark")
    learn(jobs, ["duration_s"], data_hash="benchmark").save(folder / PREDICTIONS)
    return name


class Service:
    """``prophase serve`` in a process of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.folder = folder
        self.start()

    def start(self) -> None:
        program = str(Path(sys.executable).parent / "prophase")
        self.process = subprocess.Popen(
            [program, "serve", str(self.folder), "--port", str(self.port), "--rate", "0", "--open"],
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("the service does not come up")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Connection:
    """One kept-alive connection; answers with status and body."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\n"
        if body:
            head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        try:
            writer.write(head.encode() + b"\r\n" + body)
            told = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = int(told.split("content-length:")[1].split("\r\n")[0])
            return int(told.split()[1]), await reader.readexactly(length)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


def predictions(folder: Path, options: argparse.Namespace, data: str) -> None:
    for path in (folder / "service").glob("feedback.sqlite*"):
        path.unlink()
    service = Service(folder)
    try:
        bodies = questions(folder)
        asyncio.run(offered(service.port, "POST", "/v1/predict", bodies, 3.0))
        times, bare = [], []
        for _ in range(options.repeats):
            times.append(
                asyncio.run(offered(service.port, "POST", "/v1/predict", bodies, options.seconds))
            )
            bare.append(asyncio.run(offered(service.port, "GET", "/healthz", [b""], 5.0)))
    finally:
        service.kill()
    for share in (50, 99):
        values = [1e3 * float(np.percentile(one, share)) for one in times]
        base = [1e3 * float(np.percentile(one, share)) for one in bare]
        busy = f"others kept {os.getloadavg()[1]:.0f} processes busy on {os.cpu_count()} cores"
        remark = f"p99 under 25 ms is wanted; {busy}" if share == 99 else busy
        name = f"predict over HTTP at {RATE} requests/s, p{share}"
        record(Measurement(name, "ms", values, "/healthz", base, data, remark))


def busy_predictions(folder: Path, options: argparse.Namespace, data: str) -> None:
    """Offer the load alone, and while pages are prepared and a model is learnt, in turn."""
    service = Service(folder)
    quiet, busy = [], []

    def load() -> list[float]:
        bodies = questions(folder)
        return asyncio.run(offered(service.port, "POST", "/v1/predict", bodies, options.seconds))

    try:
        asyncio.run(offered(service.port, "POST", "/v1/predict", questions(folder), 3.0))
        for _ in range(options.repeats):
            quiet.append(load())
            task = asyncio.run(working(service.port))
            busy.append(load())
            asyncio.run(Connection(service.port).ask("DELETE", f"/v1/tasks/{task}"))
            # pages are prepared again for a table that has changed
            (folder / "tables.json").touch()
    finally:
        service.kill()
    for share in (50, 99):
        values, base = (
            [1e3 * float(np.percentile(one, share)) for one in times] for times in (busy, quiet)
        )
        name = f"predict over HTTP at {RATE} requests/s while pages and a task compute, p{share}"
        others = f"others kept {os.getloadavg()[1]:.0f} processes busy on {os.cpu_count()} cores"
        record(Measurement(name, "ms", values, "nothing else computes", base, data, others))


async def working(port: int) -> str:
    """Begin long work and ask for the pages that have to be prepared; returns the task."""
    connection = Connection(port)
    wanted = json.dumps({"seed": random.randrange(1_000_000)}).encode()
    _, told = await connection.ask("POST", "/v1/learn", wanted)
    for page in ("/", "/sizing", "/simulator"):
        status, _ = await connection.ask("GET", page)
        if status not in (200, 202):
            raise SystemExit(f"{page} answered {status}")
    connection.close()
    return str(json.loads(told)["id"])


def questions(folder: Path) -> list[bytes]:
    """Return requests for jobs as they were submitted."""
    jobs = submitted(Workspace(folder).read("jobs"))[-2_000:]
    rows = json.loads(jobs.sample(500, random_state=0).to_json(orient="records"))
    return [json.dumps({"jobs": [bare(row)]}).encode() for row in rows]


def bare(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


async def offered(
    port: int, method: str, path: str, bodies: list[bytes], seconds: float
) -> list[float]:
    """Send requests on schedule; returns seconds from when each should have left."""
    idle: list[Connection] = []
    times: list[float] = []
    draw = random.Random(0)

    async def one(due: float) -> None:
        connection = idle.pop() if idle else Connection(port)
        status, _ = await connection.ask(method, path, draw.choice(bodies))
        times.append(time.perf_counter() - due)
        idle.append(connection)
        if status != 200:
            raise SystemExit(f"{path} answered {status}")

    due = time.perf_counter() + 0.1
    tasks = []
    for _ in range(int(RATE * seconds)):
        due += draw.expovariate(RATE)
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        tasks.append(asyncio.create_task(one(due)))
    await asyncio.gather(*tasks)
    for connection in idle:
        connection.close()
    return times


def reports(folder: Path, data: str) -> None:
    """Report jobs while the service is killed and started again; count what was lost."""
    base = folder / "service" / "feedback.sqlite"
    for path in base.parent.glob("feedback.sqlite*"):
        path.unlink()
    service = Service(folder)
    began = time.perf_counter()
    try:
        confirmed, times = asyncio.run(reported(service))
        took = time.perf_counter() - began
        service.kill()
    finally:
        service.process.kill()
    with sqlite3.connect(base) as held:
        kept = [row[0] for row in held.execute("SELECT job_id FROM feedback")]
    lost, twice = len(confirmed - set(kept)), len(kept) - len(set(kept))
    remark = (
        f"{len(confirmed):,} confirmed, {KILLS} kills, {twice} kept twice, {took:.0f} s in all, "
        f"p99 of a report {1e3 * np.percentile(times, 99):.0f} ms"
    )
    record(
        Measurement("confirmed reports lost by kill -9", "jobs", [lost], data=data, remark=remark)
    )


async def reported(service: Service) -> tuple[set[str], list[float]]:
    confirmed: set[str] = set()
    times: list[float] = []
    waiting = list(range(REPORTS))
    kills = [int(REPORTS * (place + 1) / (KILLS + 1)) for place in range(KILLS)]

    async def reporter() -> None:
        connection = Connection(service.port)
        while waiting:
            number = waiting.pop()
            job = {"job_id": f"r{number}", "user": f"u{number % 50}", "duration_s": 60 + number}
            body = json.dumps({"jobs": [job]}).encode()
            began = time.perf_counter()
            try:
                status, _ = await connection.ask("POST", "/v1/observe", body)
            except (OSError, asyncio.IncompleteReadError):
                # not confirmed: said again, as a scheduler would
                waiting.append(number)
                await asyncio.sleep(0.2)
                continue
            if status != 200:
                raise SystemExit(f"a report was answered with {status}")
            times.append(time.perf_counter() - began)
            confirmed.add(f"r{number}")
            if kills and len(confirmed) >= kills[0]:
                kills.pop(0)
                service.kill()
                await asyncio.to_thread(service.start)
        connection.close()

    await asyncio.gather(*(reporter() for _ in range(REPORTERS)))
    return confirmed, times


if __name__ == "__main__":
    main()
