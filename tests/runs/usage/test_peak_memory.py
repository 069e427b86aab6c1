"""Peaks of real processes against what they are known to hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from prophase.runs.usage.cgroup import new_group
from prophase.runs.usage.measurement_order import Ending, MeasurementOrder

MIB = 1 / 1024
TOUCH = "held = bytearray({mib} * 2**20); held[::4096] = b'x' * len(held[::4096])\n"
#: ends when the test says so, by making the file
WAIT = "import os, time\nopen(f'holds-{os.getpid()}', 'w').close()\n" + (
    "while not os.path.exists('release'): time.sleep(0.01)\n"
)
#: stays for 0.2 s only, once all that run beside it hold theirs
BRIEFLY = "import glob, os, time\nopen(f'holds-{os.getpid()}', 'w').close()\n" + (
    "while len(glob.glob('holds-*')) < PROCESSES: time.sleep(0.001)\ntime.sleep(0.2)\n"
)
FOUR = """
import subprocess, sys
many = [subprocess.Popen([sys.executable, '-S', '-c', {code!r}]) for _ in range(4)]
[one.wait() for one in many]
"""
FORKED = """
import os, time
{touch}
for _ in range(5):
    if os.fork() == 0:
        {stay}
        os._exit(0)
for _ in range(5):
    os.wait()
"""
#: memory and files: the cache is not the command's
WRITTEN = """
import os
{touch}
with open('file', 'wb') as file:
    for _ in range(2 * {mib}):
        file.write(b'x' * 2**20)
{stay}
"""
IN_MEMORY = """
import os
with open('/dev/shm/prophase-test-' + str(os.getpid()), 'wb') as file:
    for _ in range({mib}):
        file.write(b'x' * 2**20)
{stay}
os.remove(file.name)
"""
SPIKE = "{touch}del held\n{stay}"


def logger(folder: Path, code: str) -> subprocess.Popen[bytes]:
    folder.mkdir()
    order = MeasurementOrder(
        [sys.executable, "-S", "-c", code],
        str(folder / "samples.jsonl"),
        str(folder / "result.json"),
        every_s=0.05,
        cwd=str(folder),
    )
    (folder / "order.json").write_text(json.dumps(asdict(order)))
    module = "prophase.runs.usage.measured_command"
    return subprocess.Popen([sys.executable, "-m", module, str(folder / "order.json")])


def measured(folder: Path, code: str, *, holding: int = 0, seen_gib: float = 0.0) -> Ending:
    """Measure a command; processes that wait are released once samples have seen so much.

    Two samples are taken after all of them hold theirs: a peak between the last look and the end
    is not seen.
    """
    running = logger(folder, code)
    end = time.monotonic() + 120
    held_at = None
    while holding and (held_at is None or seen(folder) < seen_gib or taken(folder) < held_at + 2):
        assert time.monotonic() < end
        time.sleep(0.02)
        if held_at is None and len(list(folder.glob("holds-*"))) >= holding:
            held_at = taken(folder)
    (folder / "release").touch()
    assert running.wait() == 0
    return Ending(**json.loads((folder / "result.json").read_text()))


def taken(folder: Path) -> int:
    path = folder / "samples.jsonl"
    return len(path.read_text().splitlines()) if path.exists() else 0


def seen(folder: Path) -> float:
    path = folder / "samples.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return max((json.loads(line)["memory_gib"] for line in lines[:-1]), default=0.0)


def four(mib: int, stay: str) -> str:
    return FOUR.format(code=TOUCH.format(mib=mib) + stay)


def forked(mib: int, stay: str) -> str:
    stay = stay.replace("\n", "\n        ")
    return FORKED.format(touch=TOUCH.format(mib=mib), stay=stay)


def in_memory(mib: int, stay: str) -> str:
    return IN_MEMORY.format(mib=mib, stay=stay)


def spike(mib: int, stay: str) -> str:
    return SPIKE.format(touch=TOUCH.format(mib=mib), stay=stay)


def written(mib: int, stay: str) -> str:
    return WRITTEN.format(mib=mib, touch=TOUCH.format(mib=mib), stay=stay)


#: what runs, how many processes then wait, MiB each was told to hold, MiB of all together
CASES = {
    "four processes": (four, 4, 150, 600),
    "copy on write": (forked, 5, 150, 150),
    "a file in /dev/shm": (in_memory, 1, 200, 200),
    "a short spike": (spike, 1, 200, 200),
    "page cache": (written, 1, 150, 150),
}


@pytest.mark.parametrize("case", CASES)
def test_a_control_group_knows_the_peak_of_what_lasts_a_fifth_of_a_second(tmp_path, case):
    if (made := new_group()) is None:
        pytest.skip("no control group can be made here")
    made.remove()
    code, processes, each, together = CASES[case]
    briefly = BRIEFLY.replace("PROCESSES", str(processes))
    idle = measured(tmp_path / "idle", code(0, briefly))
    full = measured(tmp_path / "full", code(each, briefly))
    assert full.memory_method == f"cgroup v{made.version}"
    rise = full.memory_peak_gib - idle.memory_peak_gib
    assert rise == pytest.approx(together * MIB, rel=0.05)
    # what is written between two looks may count or not, and when they come is the machine's affair
    written_gib = 2 * each * MIB if case == "page cache" else 0.0
    assert full.memory_peak_error_gib < 0.05 * together * MIB + written_gib


@pytest.mark.parametrize("case", CASES)
def test_samples_know_the_peak_of_what_they_had_time_to_see(tmp_path, case, monkeypatch):
    monkeypatch.setenv("PROPHASE_CGROUP", "off")
    code, processes, each, together = CASES[case]
    least = 0.0 if case == "a short spike" else 0.98 * together * MIB
    idle = measured(tmp_path / "idle", code(0, WAIT), holding=processes, seen_gib=1 * MIB)
    full = measured(tmp_path / "full", code(each, WAIT), holding=processes, seen_gib=least)
    assert full.memory_method == "sampled PSS"
    rise = full.memory_peak_gib - idle.memory_peak_gib
    assert rise == pytest.approx(together * MIB, rel=0.05)


def test_the_error_covers_processes_that_may_have_peaked_together_unseen(tmp_path, monkeypatch):
    monkeypatch.setenv("PROPHASE_CGROUP", "off")
    code = FOUR.format(code=SPIKE.format(touch=TOUCH.format(mib=100), stay=WAIT))
    ending = measured(tmp_path / "run", code, holding=4, seen_gib=4 * MIB)
    assert ending.memory_peak_gib >= 100 * MIB
    assert ending.memory_peak_gib + ending.memory_peak_error_gib >= 400 * MIB


def test_a_file_that_others_have_put_into_dev_shm_is_not_the_commands(tmp_path, monkeypatch):
    monkeypatch.setenv("PROPHASE_CGROUP", "off")
    running = logger(tmp_path / "run", spike(1, WAIT))
    end = time.monotonic() + 120
    while not list((tmp_path / "run").glob("holds-*")):
        assert time.monotonic() < end
        time.sleep(0.02)
    other = Path(f"/dev/shm/prophase-test-other-{os.getpid()}")
    other.write_bytes(b"x" * 50 * 2**20)
    samples = tmp_path / "run" / "samples.jsonl"
    before = len(samples.read_text().splitlines()) if samples.exists() else 0
    while not samples.exists() or len(samples.read_text().splitlines()) < before + 2:
        assert time.monotonic() < end
        time.sleep(0.02)
    other.unlink()
    (tmp_path / "run" / "release").touch()
    running.wait()
    ending = Ending(**json.loads((tmp_path / "run" / "result.json").read_text()))
    assert ending.memory_peak_gib < 40 * MIB
    assert ending.memory_peak_error_gib > 40 * MIB
