"""How quickly an object that is being created is answered, also while the model is loaded again.

A service of its own process is asked about Jobs that differ, with the budget of 100 ms. Meanwhile
the model file is replaced over and over, so that the service hardly does anything but load. The
baseline is the same without that, in the same minutes.

    python benchmarks/speed/submit_speed.py [--jobs 10000] [--questions 300] [--per-second 10]
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import quantiles

sys.path.insert(0, str(Path(__file__).parents[1]))
from record import Measurement, record

BIN = Path(sys.executable).parent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--per-second", type=float, default=10.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prophase(folder, "synth", "pai", "--jobs", str(options.jobs), "--out", "ws")
        prophase(folder, "learn", "ws")
        (folder / "ws" / "prophase.toml").write_text('[submit]\nmode = "set"\n', encoding="utf-8")
        said = (folder / "said").open("w+")
        service = subprocess.Popen(
            [str(BIN / "prophase"), "serve", "ws", "--port", "0", "--open"], cwd=folder, stderr=said
        )
        try:
            port = address(folder / "said")
            ask(port, 20, options.per_second, "warm")
            quiet, quiet_late = ask(port, options.questions, options.per_second, "quiet")
            busy, late, loads = while_loading(folder / "ws", port, options)
        finally:
            service.terminate()
            service.wait()
    data = f"{options.jobs:,} synthetic PAI jobs, {options.questions} Jobs that differ"
    for share, place in (("median", 49), ("p99", 98)):
        record(
            Measurement(
                f"admission while the model reloads, {share}", "ms",
                [quantiles(busy, n=100)[place]], "without reloading",
                [quantiles(quiet, n=100)[place]], data,
                f"{late} of {options.questions} late during {loads} loads, {quiet_late} without; "
                f"wanted: 100 ms; load of the machine {os.getloadavg()[0]:.1f}",
            )
        )  # fmt: skip


def prophase(folder: Path, *words: str) -> None:
    subprocess.run([str(BIN / "prophase"), *words], cwd=folder, check=True, capture_output=True)


def address(said: Path) -> int:
    """Wait for the service and return its port."""
    for _ in range(600):
        found = re.search(r"http://127\.0\.0\.1:(\d+)", said.read_text(encoding="utf-8"))
        if found:
            return int(found[1])
        time.sleep(0.2)
    raise SystemExit(said.read_text(encoding="utf-8"))


def ask(port: int, count: int, per_second: float, word: str) -> tuple[list[float], int]:
    """Return milliseconds per answer, and how many came too late to change anything."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    took, late = [], 0
    begin = time.perf_counter()
    for number in range(count):
        time.sleep(max(0.0, begin + number / per_second - time.perf_counter()))
        asked = time.perf_counter()
        body = json.dumps(review(f"{word}-{number}"))
        connection.request(
            "POST", "/v1/submit/kubernetes", body, {"content-type": "application/json"}
        )
        answer = json.loads(connection.getresponse().read())["response"]
        took.append(1e3 * (time.perf_counter() - asked))
        late += answer["auditAnnotations"]["outcome"] == "late"
    return took, late


def while_loading(
    workspace: Path, port: int, options: argparse.Namespace
) -> tuple[list[float], int, int]:
    """Ask while the model file is replaced all the time."""
    done, loads = threading.Event(), 0

    def replace() -> None:
        nonlocal loads
        model = workspace / "models" / "predictions.model"
        while not done.wait(0.5):
            fresh = model.with_suffix(".fresh")
            shutil.copy(model, fresh)
            fresh.replace(model)
            loads += 1

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        took, late = ask(port, options.questions, options.per_second, "busy")
    finally:
        done.set()
        thread.join()
    return took, late, loads


def review(name: str) -> dict[str, object]:
    resources = {"requests": {"cpu": "6", "memory": "29Gi"}, "limits": {"nvidia.com/gpu": "1"}}
    pod = {"containers": [{"name": "main", "resources": resources}]}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"user": "u1", "task": "worker", "team": name}},
        "spec": {"template": {"spec": pod}},
    }
    return {"request": {"uid": name, "operation": "CREATE", "namespace": "ml", "object": job}}


if __name__ == "__main__":
    main()
