from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from prophase.runs.usage.cgroup import new_group
from prophase.runs.usage.measurement_order import Ending, MeasurementOrder

#: allocates, touches and frees at once, then lives on: a peak between two samples
SHORT_PEAK = """
import sys, time
time.sleep(0.5)
held = bytearray(int(sys.argv[1]) * 2**20)
held[::4096] = b'x' * len(held[::4096])
del held
time.sleep(float(sys.argv[2]))
"""


def measure(folder: Path, *command: str, **options: object) -> Ending:
    order = MeasurementOrder(
        list(command), str(folder / "samples.jsonl"), str(folder / "result.json")
    )
    (folder / "order.json").write_text(json.dumps(asdict(order) | options))
    module = "prophase.runs.usage.measured_command"
    subprocess.run([sys.executable, "-m", module, str(folder / "order.json")], check=False)
    return Ending(**json.loads((folder / "result.json").read_text()))


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-S", "-c", code, *arguments]


def test_a_peak_between_two_samples_is_caught_within_five_percent(tmp_path):
    idle = measure(tmp_path, *python(SHORT_PEAK, "0", "0.1"))
    peaked = measure(tmp_path, *python(SHORT_PEAK, "200", "0.1"))
    assert peaked.exit_code == 0
    assert peaked.memory_peak_gib - idle.memory_peak_gib == pytest.approx(200 / 1024, rel=0.05)


def test_children_of_children_count_even_when_their_parent_has_left(tmp_path):
    flag = str(tmp_path / "holds")
    held = "held = bytearray(60 * 2**20); held[::4096] = b'x' * len(held[::4096])"
    child = f"{held}; open({flag!r}, 'w').close(); import time; time.sleep(300)"
    orphan = f"import subprocess, sys; subprocess.Popen([sys.executable, '-S', '-c', {child!r}])"
    code = (
        "import os, subprocess, sys, time"
        f"\nsubprocess.run([sys.executable, '-S', '-c', {orphan!r}])"
        f"\nwhile not os.path.exists({flag!r}): time.sleep(0.05)"
        "\ntime.sleep(1)"
    )
    ending = measure(tmp_path, *python(code), every_s=0.2, strict=True)
    assert ending.memory_peak_gib > 60 / 1024


@pytest.fixture(params=["own group", "off"])
def group(request, monkeypatch):
    """Once with a control group of its own, if one can be made here, and once without."""
    if request.param == "off":
        monkeypatch.setenv("PROPHASE_CGROUP", "off")
    else:
        made = new_group()
        if made is None:
            pytest.skip("no control group can be made here")
        made.remove()
    return request.param


def test_memory_that_is_touched_beyond_the_limit_is_an_oom(tmp_path, group):
    code = "held = bytearray(300 * 2**20); input()"
    ending = measure(tmp_path, *python(code), memory_gib=0.1, stderr=str(tmp_path / "err"))
    assert (ending.exit_code, ending.cause, ending.limit_gib) == (137, "host_memory", 0.1)
    assert ending.limit_kind == ("watched" if group == "off" else "cgroup")


def test_memory_that_is_mapped_but_not_touched_is_no_oom(tmp_path, group):
    code = "import mmap; held = mmap.mmap(-1, 2**31, flags=34); held.write(b'x' * 100 * 2**20)"
    ending = measure(tmp_path, *python(code), memory_gib=0.4)
    assert (ending.exit_code, ending.cause) == (0, "completed")
    assert ending.memory_peak_gib < 0.4


def test_what_the_logger_had_read_before_is_not_taken_off_twice(tmp_path):
    order = MeasurementOrder(["true"], str(tmp_path / "s.jsonl"), str(tmp_path / "result.json"))
    (tmp_path / "order.json").write_text(json.dumps(asdict(order)))
    (tmp_path / "old").write_bytes(b"x" * 2**22)
    code = (
        "import os, sys; from prophase.runs.usage.measured_command import main"
        "\nold = os.open('old', os.O_RDONLY); os.fsync(old)"
        "\nos.posix_fadvise(old, 0, 0, os.POSIX_FADV_DONTNEED); os.read(old, 2**22)"
        "\nmain()"
    )
    subprocess.run([sys.executable, "-c", code, "order.json"], cwd=tmp_path, check=True)
    ending = json.loads((tmp_path / "result.json").read_text())
    assert ending["read_bytes"] >= 0
    assert ending["write_bytes"] >= 0


def test_processes_that_together_exceed_the_limit_are_an_oom(tmp_path, group):
    held = "held = bytearray(70 * 2**20); held[::4096] = b'x' * len(held[::4096])"
    child = f"{held}; import time; time.sleep(600)"
    code = (
        "import subprocess, sys; many = [subprocess.Popen([sys.executable, '-S', '-c', "
        f"{child!r}]) for _ in range(3)]; [one.wait() for one in many]; sys.exit(9)"
    )
    ending = measure(tmp_path, *python(code), memory_gib=0.1, strict=True)
    assert ending.oom
    assert ending.exit_code != 9


def test_a_failure_of_another_kind_and_a_kill_from_outside_are_no_oom(tmp_path):
    failed = measure(tmp_path, "sh", "-c", "exit 3", memory_gib=1.0)
    assert (failed.exit_code, failed.cause) == (3, "failed")
    killed = measure(tmp_path, "sh", "-c", "kill -9 $$", memory_gib=1.0)
    assert (killed.exit_code, killed.oom, killed.because) == (137, False, "killed from outside")


def test_exit_137_without_a_known_limit_counts_as_an_oom(tmp_path):
    assert measure(tmp_path, "sh", "-c", "exit 137").oom


def test_a_command_that_is_not_there_is_named(tmp_path):
    ending = measure(tmp_path, "no-such-program")
    assert (ending.exit_code, ending.because) == (127, "no-such-program: command not found")
    ending = measure(tmp_path, "true", cwd=str(tmp_path / "gone"))
    assert "gone: there is no such folder" in ending.because


def test_what_was_sampled_stays_when_the_logger_is_killed_and_the_task_goes_with_it(tmp_path):
    order = MeasurementOrder(
        ["sleep", "1000"],
        str(tmp_path / "s.jsonl"),
        str(tmp_path / "r.json"),
        every_s=0.1,
        strict=True,
        env={"PROPHASE_TEST": str(tmp_path)},
    )
    (tmp_path / "order.json").write_text(json.dumps(asdict(order)))
    module = "prophase.runs.usage.measured_command"
    logger = subprocess.Popen([sys.executable, "-m", module, str(tmp_path / "order.json")])
    wait_until(lambda: (tmp_path / "s.jsonl").exists() and lines(tmp_path / "s.jsonl") >= 3)
    (task,) = children(logger.pid)
    logger.send_signal(signal.SIGKILL)
    logger.wait()
    assert lines(tmp_path / "s.jsonl") >= 3
    wait_until(lambda: not alive(task))


def test_a_killed_task_leaves_a_result_with_what_it_used(tmp_path):
    code = "import os, time; time.sleep(0.4); os.kill(os.getpid(), 9)"
    ending = measure(tmp_path, *python(code), every_s=0.1)
    assert ending.exit_code == 137
    assert ending.samples >= 1
    assert ending.memory_peak_gib > 0


def test_what_a_strict_command_leaves_running_is_ended(tmp_path):
    code = "sleep 1000 & echo $! > pid"
    measure(tmp_path, "sh", "-c", code, strict=True, cwd=str(tmp_path))
    assert not alive(int((tmp_path / "pid").read_text()))


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def children(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"


def wait_until(condition: object, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)
