"""Eight workers on one table of runs, PostgreSQL and SQLite; and what the usage logger costs.

python benchmarks/speed/runs_speed.py [--moved 10000] [--only workers|logger]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from datetime import date, timedelta
from pathlib import Path
from statistics import median
from typing import NoReturn

sys.path.insert(0, str(Path(__file__).parent.parent))
from sqlalchemy import func, select

from postgres import new_database, postgres_programs, running_postgres
from prophase.runs.states import BRANCHES
from prophase.runs.store.database import Database
from prophase.runs.store.records import NewRun
from prophase.runs.store.run_store import RunStore
from prophase.runs.store.tables import CLAIMS, HISTORY
from prophase.runs.usage.usage_log import run_logged
from record import Measurement, record

WORKERS = 8
TABLE_ROWS = (1_000, 10_000, 100_000)
#: runs that are claimed and moved in each table
MOVED = 10_000
BATCH = 20
PEAK_MIB = 400
SHORT_PEAK = f"""
import time
time.sleep(1)
held = bytearray({PEAK_MIB} * 2**20); held[::4096] = b'x' * len(held[::4096])
del held
time.sleep(8)
"""


def registered(url: str, rows: int) -> RunStore:
    database = Database(url)
    database.migrate()
    store = RunStore(database)
    first = date(1990, 1, 1)
    store.register(
        (NewRun("s", {}, "v", first + timedelta(days=day)) for day in range(rows)), actor="bench"
    )
    return store


def work(url: str, share: int, latencies: Path) -> None:
    """Claim batches and move each run, as the deploy branch of a worker does."""
    store = RunStore(Database(url))
    took, moved = [], 0
    while moved < share:
        began = time.perf_counter()
        claims = store.claim(BRANCHES["deploy"], str(os.getpid()), most=BATCH, lease_s=3600)
        took.append(time.perf_counter() - began)
        if not claims:
            break
        for claim in claims:
            store.advance(claim, "triggered", dag_id="d")
        moved += len(claims)
    latencies.write_text("\n".join(map(str, took)))


def _leave_after(url: str, share: int, latencies: Path) -> NoReturn:
    """Work in a forked process, which must not clean up what belongs to its parent."""
    code = 1
    try:
        work(url, share, latencies)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def measure_table(url: str, rows: int, moved: int) -> tuple[float, float]:
    """Return runs per second of all workers together, and the median latency of a claim in ms."""
    store = registered(url, rows)
    store.database.close()
    wanted = min(rows, moved)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        children = []
        for number in range(WORKERS):
            pid = os.fork()
            if pid == 0:
                _leave_after(url, wanted // WORKERS, Path(folder) / str(number))
            children.append(pid)
        for pid in children:
            assert os.waitpid(pid, 0)[1] == 0, "a worker broke"
        passed_s = time.perf_counter() - began
        took = [float(t) for path in Path(folder).iterdir() for t in path.read_text().split()]
    moves = select(func.count()).select_from(HISTORY).where(HISTORY.c.event == "triggered")
    again = select(func.count()).select_from(CLAIMS).where(CLAIMS.c.token > 1)
    done = store.database.read(lambda c: c.execute(moves).scalar_one())
    twice = store.database.read(lambda c: c.execute(again).scalar_one())
    store.database.close()
    assert twice == 0, f"{twice} runs were claimed more than once"
    assert done >= wanted
    return done / passed_s, 1000 * median(took)


def measure_workers(moved: int) -> None:
    programs = postgres_programs()
    if programs is None:
        print("no PostgreSQL server; tools/system-packages installs one")
        return
    with running_postgres(programs) as server:
        record_growth(
            "PostgreSQL",
            {rows: measure_table(new_database(server), rows, moved) for rows in TABLE_ROWS},
            moved,
        )
    with tempfile.TemporaryDirectory() as folder:
        files = {rows: f"sqlite:///{folder}/{rows}.db" for rows in TABLE_ROWS}
        found = {rows: measure_table(url, rows, moved) for rows, url in files.items()}
    record_growth("SQLite", found, moved)


def record_growth(kind: str, found: dict[int, tuple[float, float]], moved: int) -> None:
    smallest = TABLE_ROWS[0]
    for rows, (rate, latency) in found.items():
        about = {
            "baseline": f"{smallest:,} rows",
            "data": f"{rows:,} registered runs, {min(rows, moved):,} moved, {WORKERS} workers, "
            f"batches of {BATCH}",
        }
        record(
            Measurement(
                f"runs moved on {kind}, table of {rows:,}",
                "runs/s",
                [rate],
                baseline_values=[found[smallest][0]],
                remark="each run was claimed exactly once",
                **about,
            )
        )
        record(
            Measurement(
                f"claim latency on {kind}, table of {rows:,}",
                "ms",
                [latency],
                baseline_values=[found[smallest][1]],
                **about,
            )
        )


def measure_logger() -> None:
    """CPU of the logger over that of the machine's one core, and the error of a short peak."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "usage.jsonl"
        sleeping = [sys.executable, "-S", "-c", "import time; time.sleep(10)"]
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-c", "import prophase.runs.usage.measured_command"], check=True
        )
        middle = resource.getrusage(resource.RUSAGE_CHILDREN)
        idle = run_logged(sleeping, out)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        start_s = middle.ru_utime + middle.ru_stime - began.ru_utime - began.ru_stime
        both_s = ended.ru_utime + ended.ru_stime - middle.ru_utime - middle.ru_stime
        task_s = idle.cpu_mean_cores * idle.duration_s
        share = max(0.0, both_s - task_s - start_s) / idle.duration_s
        record(Measurement("usage logger, CPU while sampling every 5 s", "%", [100 * share]))
        peaks = [
            run_logged([sys.executable, "-S", "-c", SHORT_PEAK], out).memory_peak_gib
            for _ in range(3)
        ]
    errors = [100 * ((p - idle.memory_peak_gib) * 1024 / PEAK_MIB - 1) for p in peaks]
    record(
        Measurement(
            f"usage logger, error of a {PEAK_MIB} MiB peak between two samples", "%", errors
        )
    )


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--moved", type=int, default=MOVED)
    options.add_argument("--only", choices=("workers", "logger"))
    given = options.parse_args()
    if given.only != "logger":
        measure_workers(given.moved)
    if given.only != "workers":
        measure_logger()
