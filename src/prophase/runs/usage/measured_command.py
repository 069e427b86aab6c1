"""Run one command under a memory limit and measure it.

Started as ``python -m prophase.runs.usage.measured_command``.

The program reads its order from a JSON file, runs the command as its child, samples the whole
tree, and leaves a JSON file with how it ended. Standard library only.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from prophase.atomic_files import write_whole
from prophase.runs.end_cause import TIMED_OUT, CommandEnd, EndEvidence, command_end
from prophase.runs.usage.cgroup import ControlGroup, new_group
from prophase.runs.usage.command_watch import TAIL_BYTES, CommandWatch
from prophase.runs.usage.measurement_order import Ending, MeasurementOrder
from prophase.runs.usage.peak_memory import PeakMemory
from prophase.runs.usage.process_tree import descendants, io_bytes
from prophase.runs.usage.recorded_command import RecordedCommand
from prophase.runs.usage.sampler import DurableLines

GIB = 2**30
_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36
#: as shells and timeout(1) have it
COMMAND_NOT_FOUND, NOT_EXECUTABLE = 127, 126


def run_measured(order: MeasurementOrder) -> Ending:
    """Run the command to its end and return how it went."""
    with ExitStack() as open_things:
        _lock(order, open_things)
        if order.lock is not None and Path(order.result).exists():
            # whoever ordered this believed us dead and has given the attempt up
            return Ending(**json.loads(Path(order.result).read_text(encoding="utf-8")))
        _become_reaper()
        group = new_group(None if order.memory_gib is None else int(order.memory_gib * GIB))
        if group is not None:
            open_things.callback(group.remove)
        lines = DurableLines(Path(order.samples))
        began_s, began = time.time(), time.monotonic()
        began_io = io_bytes("self")
        out, err = _outputs(order, open_things)
        try:
            child = _started(order, group, out, err)
        except (OSError, subprocess.SubprocessError) as cause:
            ending = _not_started(order, cause, began_s)
            _write_result(order, ending)
            return ending
        watch = CommandWatch(order, child, group, lines)
        watch.until_end()
        duration_s = time.monotonic() - began
        if order.strict:
            _end_leftovers()
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        lines.close()
        exit_code = child.returncode if child.returncode >= 0 else 128 - child.returncode
        if watch.timed_out:
            exit_code = TIMED_OUT
        peak = watch.peak(ended.ru_maxrss * 1024)
        end = _end(exit_code, watch, peak, order)
        read, written = io_bytes("self")
        cpu_s = ended.ru_utime + ended.ru_stime
        ending = Ending(
            exit_code=exit_code,
            cause=end.cause,
            because=end.because,
            started_at_s=began_s,
            duration_s=duration_s,
            memory_peak_gib=peak.bytes / GIB,
            memory_peak_error_gib=peak.error_bytes / GIB,
            memory_method=peak.method,
            cpu_peak_cores=max(watch.sampler.cpu_peak_cores, cpu_s / max(duration_s, 1e-6)),
            cpu_mean_cores=cpu_s / max(duration_s, 1e-6),
            read_bytes=read - began_io[0],
            write_bytes=max(0, written - began_io[1]),
            samples=watch.samples,
            lost_samples=lines.waiting,
            limit_gib=order.memory_gib,
            limit_kind=None if order.memory_gib is None else "cgroup" if group else "watched",
            unsure=isinstance(child, RecordedCommand) and child.unsure,
        )
        _write_result(order, ending)
        return ending


def _end(
    exit_code: int, watch: CommandWatch, peak: PeakMemory, order: MeasurementOrder
) -> CommandEnd:
    """Say why the command ended, from all that is known."""
    printed = watch.stderr_tail
    for path in filter(None, (order.stdout, order.stderr)):
        printed += _tail(Path(path))
    return command_end(
        EndEvidence(
            exit_code,
            printed,
            timed_out=watch.timed_out,
            timeout_s=order.timeout_s,
            limit_bytes=watch.limit_bytes,
            peak_bytes=peak.bytes,
            oom_kills=watch.oom_kills(),
            exceeded=watch.exceeded,
            signalled=watch.child.returncode < 0,
        )
    )


def _tail(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - TAIL_BYTES))
            return stream.read()
    except OSError:
        return b""


def _started(
    order: MeasurementOrder, group: ControlGroup | None, out: Any, err: Any
) -> subprocess.Popen[bytes] | RecordedCommand:
    """Start the command; where others wait for its end on record, with a keeper beside it."""
    if order.strict and order.lock is not None and err != subprocess.PIPE:
        return RecordedCommand(order, group, out, err)
    return subprocess.Popen(
        order.command,
        cwd=order.cwd,
        env={**os.environ, **order.env},
        stdout=out,
        stderr=err,
        start_new_session=order.strict,
        preexec_fn=lambda: _prepare_child(group, order.strict),
    )


def _prepare_child(group: ControlGroup | None, strict: bool) -> None:
    """Runs in the child, before the command takes over."""
    if strict:
        _libc().prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if group is not None:
        group.enter()


def _become_reaper() -> None:
    """Have processes whose parent ended come to us, so that they stay in the tree."""
    _libc().prctl(_SET_CHILD_SUBREAPER, 1)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _end_leftovers() -> None:
    """End and wait for everything the command has left behind."""
    for _ in range(100):
        left = descendants(os.getpid())
        if not left:
            return
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.01)


def _lock(order: MeasurementOrder, open_things: ExitStack) -> None:
    """Hold a lock for as long as we live, so that others see that the command is running."""
    if order.lock is not None:
        handle = open_things.enter_context(Path(order.lock).open("a"))  # noqa: SIM115
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _outputs(order: MeasurementOrder, open_things: ExitStack) -> tuple[Any, Any]:
    out, err = (
        open_things.enter_context(Path(path).open("ab")) if path else None  # noqa: SIM115
        for path in (order.stdout, order.stderr)
    )
    if err is not None:
        return out, err
    # under a limit we read along, to see what it says of its end
    return out, subprocess.PIPE if order.memory_gib is not None else None


def _not_started(order: MeasurementOrder, cause: Exception, began_s: float) -> Ending:
    missing = isinstance(cause, FileNotFoundError)
    said = f"{order.command[0]}: command not found" if missing else f"{order.command[0]}: {cause}"
    if missing and order.cwd is not None and not Path(order.cwd).is_dir():
        said = f"{order.cwd}: there is no such folder to run in"
    code = COMMAND_NOT_FOUND if missing else NOT_EXECUTABLE
    return Ending(code, "failed", said, began_s, limit_gib=order.memory_gib)


def _write_result(order: MeasurementOrder, ending: Ending) -> None:
    write_whole(Path(order.result), json.dumps(asdict(ending)))


def main() -> int:
    """Carry out the order in the file that is named, and leave as the command left."""
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    # whoever ordered it may have noted more in the file, for himself
    order = MeasurementOrder(
        **{name: given[name] for name in MeasurementOrder.__dataclass_fields__ if name in given}
    )
    ending = run_measured(order)
    if ending.exit_code in (COMMAND_NOT_FOUND, NOT_EXECUTABLE) and not ending.samples:
        sys.stderr.write(f"{ending.because}\n")
    return ending.exit_code


if __name__ == "__main__":
    sys.exit(main())
