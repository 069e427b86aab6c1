"""How many statements of each published source come out again, on real and on synthetic data.

    PROPHASE_DATA=... python benchmarks/quality/reproduced.py [SOURCE ...] [--out FOLDER]

Sources that have been run into FOLDER before, from the same data, are taken from there; named ones
are run again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from record import Measurement, record

VERDICTS = ("reproduced", "contradicted", "needs_data", "in_kind", "differs_in_kind")


def count(folder: Path, data: str | None, names: list[str]) -> None:
    """Run the sources, and record how many statements of each have which verdict."""
    environment = {key: value for key, value in os.environ.items() if key != "PROPHASE_DATA"}
    if data:
        environment["PROPHASE_DATA"] = data

    def answer(*arguments: str | Path) -> dict[str, Any]:
        done = subprocess.run(
            [Path(sys.executable).with_name("prophase"), "reproduce", *arguments, "-f", "json"],
            env=environment, stdout=subprocess.PIPE, check=True,
        )  # fmt: skip
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    if names:
        rows = []
        for name in names:
            one = answer(name)
            counts = {word: one["verdicts"].get(word.replace("_", " "), 0) for word in VERDICTS}
            rows.append({"source": name, "data": one["data"], **counts})
    else:
        rows = answer("all", "--out", folder)["sources"]
    for row in rows:
        if data and row["data"] != "real":
            continue
        words = ", ".join(f"{row[name]} {name.replace('_', ' ')}" for name in VERDICTS)
        judged = float(sum(row[name] for name in VERDICTS if name != "needs_data"))
        record(
            Measurement(
                f"{row['source']}, statements that can be judged", "statements", [judged],
                "all statements", [float(sum(row[name] for name in VERDICTS))],
                data=row["data"], remark=words,
            )
        )  # fmt: skip


def main() -> None:
    """Run with the data that PROPHASE_DATA names, then without."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    with TemporaryDirectory() as scratch:
        root = chosen.out or Path(scratch)
        if data := os.environ.get("PROPHASE_DATA"):
            count(root / "real", data, chosen.sources)
        count(root / "synthetic", None, chosen.sources)


if __name__ == "__main__":
    main()
