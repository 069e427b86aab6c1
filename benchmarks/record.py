"""One row per measurement, with what is needed to believe or repeat it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"


@dataclass(frozen=True)
class Measurement:
    """A value per repeat, and the same for the baseline run in the same minutes."""

    name: str
    unit: str
    values: list[float]
    baseline: str = ""
    baseline_values: list[float] = field(default_factory=list)
    data: str = ""
    remark: str = ""
    #: more of the same run than one number, such as all measures of all rivals
    measures: dict[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Return ours / baseline, by medians."""
        return median(self.values) / median(self.baseline_values) if self.baseline_values else None


def record(measurement: Measurement) -> None:
    """Print a measurement and add it to the results of its file."""
    row = {
        **asdict(measurement),
        "median": median(measurement.values),
        "spread": max(measurement.values) - min(measurement.values),
        "ratio": measurement.ratio,
        "commit": _commit(),
        "command": _command(),
        "hardware": f"{_processor()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if not measurement.measures:
        del row["measures"]
    against = (
        f", {row['ratio']:.3g} x {measurement.baseline}" if measurement.baseline_values else ""
    )
    print(f"{measurement.name}: {row['median']:.4g} {measurement.unit}{against}", flush=True)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{Path(sys.argv[0]).stem}.jsonl"
    with path.open("a", encoding="utf-8") as out:
        out.write(json.dumps(row) + "\n")


def _command() -> str:
    """Return what was typed, with paths that lie on this machine alone cut to their last part."""
    typed = [word.removeprefix(f"{ROOT}/") for word in sys.argv]
    return " ".join(["python", *(Path(w).name if w.startswith("/") else w for w in typed)])


def _commit() -> str:
    shown = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return shown.stdout.strip() or "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "unknown")
