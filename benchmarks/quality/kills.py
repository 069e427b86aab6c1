"""Kill workers, tasks and connections 200 times at random, and count what is wrong afterwards.

python benchmarks/quality/kills.py [--kills 200] [--seed 1]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from postgres import new_database, postgres_programs, running_postgres
from record import ROOT, Measurement, record

PROGRAM = ROOT / "tests" / "runs" / "kill_campaign.py"


def measure(database: str, url: str | None, kills: int, seed: int) -> None:
    """Run one campaign of real processes to its end and record what it left."""
    with tempfile.TemporaryDirectory() as folder:
        address = url or f"sqlite:///{folder}/runs.db"
        words = [folder, address, str(kills), str(seed), "local"]
        done = subprocess.run(
            [sys.executable, str(PROGRAM), *words], capture_output=True, text=True, check=True
        )
    found = json.loads(done.stdout)
    told = ", ".join(f"{number} x {what}" for what, number in found["killed"].items())
    record(
        Measurement(
            f"problems after {sum(found['killed'].values())} kills, {database}",
            "runs lost, done twice, or without history",
            [float(len(found["problems"]))],
            data=f"{found['runs']} runs of 3 tasks, 3 workers, seed {seed}",
            remark=f"killed: {told}; {found['left_running']} processes left; "
            f"{found['seconds']:g} s",
        )
    )
    for problem in found["problems"]:
        print(problem)


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    measure("SQLite", None, given.kills, given.seed)
    programs = postgres_programs()
    if programs is None:
        sys.exit("no PostgreSQL server; tools/system-packages installs one")
    with running_postgres(programs) as server:
        measure("PostgreSQL", new_database(server), given.kills, given.seed)
