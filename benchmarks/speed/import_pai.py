"""How fast, and in how much memory, a raw PAI dump becomes one job table.

Baseline: DuckDB alone copies the instance table, the largest of the seven, from CSV to
Parquet: no join, no check, no count. So the ratio says what the whole import costs in
units of the least that any import must do. ``--least`` measures against the same baseline what
DuckDB alone needs to join all tables into one Parquet file, without a check, a count, a hash of
the files or an identity: what no import of them goes below. ``--then`` runs further commands on
what was imported, as a user types them, each in a process of its own; with ``--repeats 0`` on what
an earlier run left in ``--folder``.

    python benchmarks/speed/import_pai.py [--rows 5000000] [--repeats 3] [--folder KEPT]
    python benchmarks/speed/import_pai.py --rows 36000000 --repeats 1 --then size,describe,lint
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

sys.path.insert(0, str(Path(__file__).parents[1]))
from prophase.trace.engine import PARQUET
from prophase.trace.readers.pai2020 import HEADERS
from record import Measurement, record

SENSORS = HEADERS["sensor"].split()[6:]
PLANS = ("inst_num", "plan_cpu", "plan_mem", "plan_gpu")

#: a child process, so that its peak memory is its own
_IMPORT = """
import json, sys, time
from pathlib import Path
from prophase.trace import Workspace, import_trace
began, cpu = time.perf_counter(), time.process_time()
report = import_trace("pai2020", sys.argv[1], Workspace.create(sys.argv[2]))
took, cpu = time.perf_counter() - began, time.process_time() - cpu
# not ru_maxrss: a child starts with that of the process that began it
lines = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20
print(json.dumps({"s": took, "cpu_s": cpu, "gib": peak, "rows": report.tables["jobs"].kept}))
"""

#: the same for a command of the command line
_COMMAND = """
import json, resource, sys, time
from pathlib import Path
from prophase.cli.main import run
began = time.perf_counter()
sys.argv = ["prophase", *sys.argv[1:]]
try:
    code = run()
except SystemExit as end:
    code = end.code
lines = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 2**20
used = resource.getrusage(resource.RUSAGE_SELF)
cpu, took = used.ru_utime + used.ru_stime, time.perf_counter() - began
print(json.dumps({"s": took, "cpu_s": cpu, "gib": peak, "exit": code or 0}), file=sys.stderr)
"""


def write_dump(folder: Path, rows: int) -> None:
    """Write six raw tables with hashes as long as PAI's: 7 workers a job, 40 % with sensors."""
    folder.mkdir(parents=True)
    con = duckdb.connect(config={"memory_limit": "2GB", "temp_directory": str(folder / "spill")})
    con.execute("SET preserve_insertion_order = false")
    # views, not tables: 36 million rows would take 10 GB
    con.execute(f"""
        CREATE VIEW inst AS SELECT
            i, md5('job' || (i // 7))[:24] AS job_name, 'worker' AS task_name,
            md5('inst' || i) || md5('a' || i)[:28] AS inst_name,
            md5('work' || i) || md5('b' || i)[:28] AS worker_name,
            md5('id' || (i // 7)) || md5('c' || (i // 7))[:28] AS inst_id,
            CASE WHEN i % 10 < 8 THEN 'Terminated' ELSE 'Failed' END AS status,
            1e6 + i * 0.8 AS start_time, 1e6 + i * 0.8 + (i * 7919 % 10000) + 1 AS end_time,
            md5('machine' || (i % 1800))[:24] AS machine
        FROM range({rows}) t(i)""")
    con.execute(f"""
        CREATE VIEW whole AS SELECT
            first, md5('job' || j)[:24] AS job_name,
            md5('id' || j) || md5('c' || j)[:28] AS inst_id,
            list_transform(range(first, least(first + 7, {rows})),
                lambda i: 1e6 + i * 0.8 + (i * 7919 % 10000) + 1) AS ends
        FROM (SELECT j, 7 * j AS first FROM range({-(-rows // 7)}) t(j))""")
    tables = {
        "pai_instance_table": "SELECT * EXCLUDE i FROM inst",
        "pai_sensor_table": """
            SELECT job_name, task_name, worker_name, inst_id, machine, '/dev/nvidia0',
                i % 600 + 0.5, i % 100 + 0.1, (i % 30) / 3.0, (i % 30) / 2.5, 1.1, 1.25,
                i * 3.0, i * 2.0, i % 1000 + 0.5, i % 77 + 0.25
            FROM inst WHERE i % 10 < 4""",
        "pai_task_table": """
            SELECT job_name, 'worker', len(ends)::DOUBLE, 'Terminated', 1e6 + first * 0.8,
                list_max(ends), 600.0, 29.296875, 50.0, 'T4' FROM whole""",
        "pai_job_table": """
            SELECT job_name, inst_id, md5('u' || (first % 1300))[:12], 'Terminated',
                1e6 + first * 0.8 - 50, list_max(ends) FROM whole""",
        "pai_group_tag_table": """
            SELECT inst_id, md5('u' || (first % 1300))[:12], NULL,
                md5('g' || (first % 50000)), 'bert' FROM whole""",
        "pai_machine_spec": """
            SELECT md5('machine' || i)[:24], 'T4', 96, 512, 2 FROM range(1800) t(i)""",
    }
    for name, query in tables.items():
        con.execute(f"COPY ({query}) TO '{folder / name}.csv' (HEADER false)")


def plain_copy(dump: Path, target: Path) -> tuple[float, float]:
    """Return the seconds, and processor seconds, DuckDB needs for the instance table alone."""
    con = duckdb.connect()
    con.execute("SET preserve_insertion_order = false")
    began, cpu = time.perf_counter(), time.process_time()
    con.execute(
        f"COPY (SELECT * FROM read_csv('{dump}/pai_instance_table.csv', header=false, "
        f"all_varchar=true)) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
    )
    return time.perf_counter() - began, time.process_time() - cpu


def least_import(dump: Path, target: Path) -> tuple[float, float]:
    """Return the same for joining all tables, and nothing else that an import does."""
    memory = {"memory_limit": "4400MiB", "temp_directory": str(target.with_suffix(".spill"))}
    con = duckdb.connect(config=memory)
    con.execute("SET preserve_insertion_order = false")
    con.execute("SET disabled_optimizers = 'build_side_probe_side'")
    for table, columns in HEADERS.items():
        path = dump / f"pai_{table}_table.csv"
        path = path if path.exists() else dump / f"pai_{table}.csv"
        named = dict.fromkeys(columns.split(), "VARCHAR")
        if path.exists():
            rows = f"read_csv('{path}', header=false, auto_detect=false, columns={named})"
            con.execute(f'CREATE VIEW "{table}" AS SELECT * FROM {rows}')
    sensors = ", ".join(f'try_cast("{name}" AS DOUBLE) AS "{name}"' for name in SENSORS)
    joined = f"""
        SELECT i.worker_name, i.job_name, i.task_name, i.status, i.machine, t.* EXCLUDE (jn, tn),
            try_cast(i.start_time AS DOUBLE) AS start_s, try_cast(i.end_time AS DOUBLE) AS end_s,
            s.* EXCLUDE (w, n), m.gpu_type AS machine_gpu_type
        FROM instance i
        LEFT JOIN (SELECT hash(worker_name) AS w, hash(inst_id) AS n, {sensors} FROM sensor) s
            ON s.w = hash(i.worker_name) AND s.n = hash(i.inst_id)
        LEFT JOIN (SELECT t.job_name AS jn, t.task_name AS tn, j."user", g."group", g.workload,
            g.gpu_type_spec, try_cast(j.start_time AS DOUBLE) AS submit_s,
            {", ".join(f"try_cast(t.{name} AS DOUBLE) AS {name}" for name in PLANS)}
            FROM task t LEFT JOIN job j USING (job_name) LEFT JOIN group_tag g USING (inst_id)) t
            ON t.jn = i.job_name AND t.tn = i.task_name
        LEFT JOIN machine_spec m USING (machine)"""
    layout = ", ".join(f"{name} {value!r}" for name, value in PARQUET.items())
    began, cpu = time.perf_counter(), time.process_time()
    con.execute(f"COPY ({joined}) TO '{target}' (FORMAT parquet, {layout})")
    return time.perf_counter() - began, time.process_time() - cpu


def run_command(name: str, workspace: Path, rows: int) -> None:
    """Run a command on a workspace and record its processor time and the peak of its memory."""
    child = subprocess.run(
        [sys.executable, "-c", _COMMAND, name, str(workspace), "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(child.stderr.splitlines()[-1])
    said = f"{found['cpu_s']:.0f} processor s, {found['s']:.0f} s wall, exit {found['exit']}"
    data = f"synthetic PAI dump, {rows:,} instance rows, imported"
    record(Measurement(f"{name}, peak memory", "GiB", [found["gib"]], data=data, remark=said))


def told(
    runs: list[dict[str, float]],
    baseline: list[tuple[float, float]],
    least: list[tuple[float, float]],
    rows: int,
) -> None:
    """Record what the import took, before anything else runs."""
    data = f"synthetic PAI dump, {rows:,} instance rows"
    plain = "plain CSV-to-Parquet copy of the instance table alone"
    for name, place, key in (("", 0, "s"), (", by processor time", 1, "cpu_s")):
        copied = [rows / seconds[place] for seconds in baseline]
        rates = [run["rows"] / run[key] for run in runs]
        record(Measurement(f"pai2020 import{name}", "instance rows/s", rates, plain, copied, data))
        if least:
            bare = [rows / seconds[place] for seconds in least]
            what = f"bare joins of all tables{name}"
            record(Measurement(what, "instance rows/s", bare, plain, copied, data))
    record(
        Measurement("pai2020 import, peak memory", "GiB", [run["gib"] for run in runs], data=data)
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=5_000_000)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--folder", type=Path, help="keep the dump and the workspaces here")
    options.add_argument("--least", action="store_true", help="also measure bare joins")
    options.add_argument("--then", default="", help="commands to run on what was imported")
    chosen = options.parse_args()
    with TemporaryDirectory() if chosen.folder is None else nullcontext(chosen.folder) as scratch:
        dump = Path(scratch) / "dump"
        if not dump.exists():
            write_dump(dump, chosen.rows)
        runs, baseline, least = [], [], []
        for repeat in range(chosen.repeats):
            workspace = Path(scratch) / f"ws{repeat}"
            child = subprocess.run(
                [sys.executable, "-c", _IMPORT, str(dump), str(workspace)],
                capture_output=True,
                text=True,
                check=True,
            )
            runs.append(json.loads(child.stdout))
            baseline.append(plain_copy(dump, Path(scratch) / "plain.parquet"))
            if chosen.least:
                least.append(least_import(dump, Path(scratch) / "least.parquet"))
        if runs:
            told(runs, baseline, least, chosen.rows)
        for command in filter(None, chosen.then.split(",")):
            run_command(command, Path(scratch) / "ws0", chosen.rows)


if __name__ == "__main__":
    main()
