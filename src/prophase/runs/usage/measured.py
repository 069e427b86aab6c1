"""Run one command under a memory limit and measure it: ``python -m prophase.runs.usage.measured``.

The program reads its order from a JSON file, runs the command as its child, samples the whole
tree, and leaves a JSON file with how it ended. Standard library only.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from prophase.runs.usage.cgroup import ControlGroup
from prophase.runs.usage.gpu import gpus_here
from prophase.runs.usage.limits import MemoryLimit, memory_limit
from prophase.runs.usage.process_tree import descendants, look
from prophase.runs.usage.sampler import DurableLines, TreeSampler

GIB = 2**30
_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36
#: the first samples come sooner, so that short commands have some as well
_FIRST_SAMPLE_S = 0.1
#: how often the processes of a task are added up where the kernel limits each one alone
_WATCH_S = 0.25
_LOG_TAIL_BYTES = 64 * 1024
#: what programs say when memory was refused to them
_OUT_OF_MEMORY_WORDS = (
    b"MemoryError",
    b"bad_alloc",
    b"Cannot allocate memory",
    b"OutOfMemoryError",
    b"out of memory",
    b"Out of memory",
    b"OOMKilled",
)
#: as shells and timeout(1) have it
COMMAND_NOT_FOUND, NOT_EXECUTABLE, TIMED_OUT = 127, 126, 124


@dataclass(frozen=True)
class Order:
    """What to run and how to measure it."""

    command: list[str]
    samples: str
    result: str
    every_s: float = 5.0
    memory_gib: float | None = None
    cwd: str | None = None
    env: dict[str, str] = field(default_factory=dict)
    #: files for the output; without them it goes where ours goes
    stdout: str | None = None
    stderr: str | None = None
    #: a name for limits, and a file that stays locked while the command runs
    name: str = "command"
    lock: str | None = None
    #: end what the command has left running, and end the command if we are killed
    strict: bool = False
    timeout_s: float | None = None


@dataclass
class Ending:
    """How a command ended and what it used."""

    exit_code: int
    oom: bool
    #: how an OOM was recognised, or why the command could not be started
    because: str
    started_at_s: float
    duration_s: float
    memory_peak_gib: float
    cpu_peak_cores: float
    cpu_mean_cores: float
    read_bytes: int
    write_bytes: int
    samples: int
    lost_samples: int
    limit_gib: float | None
    limit_kind: str | None


def run_measured(order: Order) -> Ending:
    """Run the command to its end and return how it went."""
    with ExitStack() as open_things:
        _lock(order, open_things)
        if order.lock is not None and Path(order.result).exists():
            # whoever ordered this believed us dead and has given the attempt up
            return Ending(**json.loads(Path(order.result).read_text(encoding="utf-8")))
        _become_reaper()
        limit = None
        if order.memory_gib is not None:
            limit = memory_limit(int(order.memory_gib * GIB), f"{order.name}-{os.getpid()}")
            open_things.callback(limit.remove)
        lines = DurableLines(Path(order.samples))
        began_s, began = time.time(), time.monotonic()
        began_io = _own_io()
        out, err = _outputs(order, open_things)
        try:
            child = subprocess.Popen(
                order.command,
                cwd=order.cwd,
                env={**os.environ, **order.env},
                stdout=out,
                stderr=err,
                start_new_session=order.strict,
                preexec_fn=lambda: _prepare_child(limit, order.strict),
            )
        except (OSError, subprocess.SubprocessError) as cause:
            ending = _not_started(order, cause, began_s)
            _write_result(order, ending)
            return ending
        watch = _Watch(order, child, limit, lines)
        watch.until_end()
        duration_s = time.monotonic() - began
        if order.strict:
            _end_leftovers()
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        lines.close()
        exit_code = child.returncode if child.returncode >= 0 else 128 - child.returncode
        if watch.timed_out:
            exit_code = TIMED_OUT
        oom, because = _was_oom(exit_code, watch, limit, order)
        read, written = (after - before for after, before in zip(_own_io(), began_io, strict=True))
        cpu_s = ended.ru_utime + ended.ru_stime
        ending = Ending(
            exit_code=exit_code,
            oom=oom,
            because=because,
            started_at_s=began_s,
            duration_s=duration_s,
            memory_peak_gib=watch.peak_bytes(ended.ru_maxrss * 1024) / GIB,
            cpu_peak_cores=max(watch.sampler.cpu_peak_cores, cpu_s / max(duration_s, 1e-6)),
            cpu_mean_cores=cpu_s / max(duration_s, 1e-6),
            read_bytes=read,
            write_bytes=written,
            samples=watch.samples,
            lost_samples=lines.waiting,
            limit_gib=order.memory_gib,
            limit_kind=limit.kind if limit else None,
        )
        _write_result(order, ending)
        return ending


class _Watch:
    """Samples a running command until it has ended."""

    def __init__(
        self,
        order: Order,
        child: subprocess.Popen[bytes],
        limit: MemoryLimit | None,
        lines: DurableLines,
    ) -> None:
        self.order, self.child, self.limit, self.lines = order, child, limit, lines
        self.killed_for_memory = self.timed_out = False
        self.stderr_tail = b""
        self.samples = 0
        # taken now: later it would count what sampling itself needs
        self._own_high_bytes = look([os.getpid()], with_pss=False).processes[0].high_bytes
        self.sampler = TreeSampler(
            lambda: descendants(os.getpid()),
            fresh=True,
            gpus=gpus_here(),
            group=ControlGroup.own(),
        )

    def until_end(self) -> None:
        """Wait for the end of the command; pass on signals that are meant for it."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda sent, frame: self._pass_on(sent))
        events = select.poll()
        descriptor = os.pidfd_open(self.child.pid)
        events.register(descriptor, select.POLLIN)
        if self.child.stderr is not None:
            os.set_blocking(self.child.stderr.fileno(), False)
            events.register(self.child.stderr, select.POLLIN)
        pause_s = min(_FIRST_SAMPLE_S, self.order.every_s)
        next_s = time.monotonic() + pause_s
        watching = self.limit is not None and self.limit.kind == "rlimit"
        last_s = time.monotonic() + (self.order.timeout_s or float("inf"))
        while True:
            if time.monotonic() > last_s:
                self.timed_out = True
                self._kill(descendants(os.getpid()))
            wait_s = max(0.0, min(next_s, last_s) - time.monotonic())
            if watching:
                wait_s = min(wait_s, _WATCH_S)
            happened = [which for which, _ in events.poll(wait_s * 1000)]
            spoke = self.child.stderr is not None and self.child.stderr.fileno() in happened
            if spoke and self._copy_stderr() == 0:
                events.unregister(self.child.stderr.fileno())  # type: ignore[union-attr]
            if descriptor in happened:
                break
            _reap_orphans(self.child.pid)
            if watching:
                self._keep_within_limit()
            if time.monotonic() >= next_s:
                self._sample(pause_s)
                pause_s = min(2 * pause_s, self.order.every_s)
                next_s = time.monotonic() + pause_s
        self._sample(pause_s)
        self.child.wait()
        os.close(descriptor)
        if self.child.stderr is not None:
            while self._copy_stderr():
                pass
            self.child.stderr.close()

    def peak_bytes(self, largest_ended_bytes: int) -> float:
        """Return the highest memory: as the kernel counted it, or as the samples saw it."""
        exact = self.limit.peak_bytes() if self.limit else None
        if exact:
            return float(exact)
        # a process inherits our own mark between fork and exec, so below that it says nothing
        if self.sampler.peak_bytes and largest_ended_bytes <= self._own_high_bytes * 1.05:
            largest_ended_bytes = 0
        return max(self.sampler.peak_bytes, largest_ended_bytes)

    def _sample(self, interval_s: float) -> None:
        sample = self.sampler.sample(interval_s)
        if sample["processes"]:
            self.lines.add(sample)
            self.samples += 1

    def _copy_stderr(self) -> int:
        """Pass on what the command says and keep its end; return the bytes, 0 if there is none."""
        assert self.child.stderr is not None
        try:
            said = os.read(self.child.stderr.fileno(), _LOG_TAIL_BYTES)
        except BlockingIOError:
            return 0
        os.write(2, said)
        self.stderr_tail = (self.stderr_tail + said)[-_LOG_TAIL_BYTES:]
        return len(said)

    def _keep_within_limit(self) -> None:
        """End a task whose processes together hold more than it was given."""
        assert self.limit is not None
        pids = descendants(os.getpid())
        if len(pids) < 2:
            return
        tree = look(pids, with_pss=False)
        if tree.rss_bytes <= self.limit.limit_bytes:
            return
        exact = look(pids)
        if (exact.pss_bytes or exact.rss_bytes) > self.limit.limit_bytes:
            self.killed_for_memory = True
            self._kill(pids)

    def _kill(self, pids: list[int]) -> None:
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def _pass_on(self, number: int) -> None:
        with suppress(OSError):
            if self.order.strict:
                os.killpg(self.child.pid, number)
            elif number != signal.SIGINT:
                # Ctrl-C reaches the whole foreground group by itself
                os.kill(self.child.pid, number)


def _was_oom(
    exit_code: int, watch: _Watch, limit: MemoryLimit | None, order: Order
) -> tuple[bool, str]:
    """Say whether the command died for lack of memory, and how we know."""
    if exit_code == 0:
        return False, ""
    if watch.timed_out:
        return False, f"not finished after {order.timeout_s:g} s"
    if watch.killed_for_memory:
        return True, "its processes together exceeded the limit"
    kills = limit.oom_kills() if limit else None
    if kills:
        return True, "the kernel killed it at its limit"
    if exit_code == 128 + signal.SIGKILL:
        if kills == 0:
            return False, "killed from outside"
        if limit is None:
            return True, "exit 137: killed, most likely for lack of memory"
        near = watch.peak_bytes(0) > 0.9 * limit.limit_bytes
        return near, "killed near its limit" if near else "killed from outside"
    tail = watch.stderr_tail if order.stderr is None else _tail(Path(order.stderr))
    if limit is not None and any(words in tail for words in _OUT_OF_MEMORY_WORDS):
        return True, "memory was refused to it"
    return False, f"exit {exit_code}"


def _tail(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - _LOG_TAIL_BYTES))
            return stream.read()
    except OSError:
        return b""


def _prepare_child(limit: MemoryLimit | None, strict: bool) -> None:
    """Runs in the child, before the command takes over."""
    if strict:
        _libc().prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if limit is not None:
        limit.enter()


def _become_reaper() -> None:
    """Have processes whose parent ended come to us, so that they stay in the tree."""
    _libc().prctl(_SET_CHILD_SUBREAPER, 1)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _reap_orphans(child: int) -> None:
    """Wait for adopted processes that have ended; the command itself is waited for elsewhere."""
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid == child:
            return
        with suppress(ChildProcessError):
            os.waitpid(found.si_pid, 0)


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


def _lock(order: Order, open_things: ExitStack) -> None:
    """Hold a lock for as long as we live, so that others see that the command is running."""
    if order.lock is not None:
        handle = open_things.enter_context(Path(order.lock).open("a"))  # noqa: SIM115
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _outputs(order: Order, open_things: ExitStack) -> tuple[Any, Any]:
    out, err = (
        open_things.enter_context(Path(path).open("ab")) if path else None  # noqa: SIM115
        for path in (order.stdout, order.stderr)
    )
    if err is not None:
        return out, err
    # under a limit we read along, to see whether it says that memory was refused
    return out, subprocess.PIPE if order.memory_gib is not None else None


def _own_io() -> tuple[int, int]:
    from prophase.runs.usage.process_tree import io_bytes

    return io_bytes("self")


def _not_started(order: Order, cause: Exception, began_s: float) -> Ending:
    missing = isinstance(cause, FileNotFoundError)
    said = f"{order.command[0]}: command not found" if missing else f"{order.command[0]}: {cause}"
    if missing and order.cwd is not None and not Path(order.cwd).is_dir():
        said = f"{order.cwd}: there is no such folder to run in"
    code = COMMAND_NOT_FOUND if missing else NOT_EXECUTABLE
    nothing = {"memory_peak_gib": 0.0, "cpu_peak_cores": 0.0, "cpu_mean_cores": 0.0}
    return Ending(
        exit_code=code,
        oom=False,
        because=said,
        started_at_s=began_s,
        duration_s=0.0,
        read_bytes=0,
        write_bytes=0,
        samples=0,
        lost_samples=0,
        limit_gib=order.memory_gib,
        limit_kind=None,
        **nothing,
    )


def _write_result(order: Order, ending: Ending) -> None:
    write_durably(Path(order.result), json.dumps(asdict(ending)))


def write_durably(path: Path, text: str) -> None:
    """Write a small file so that it is there whole or not at all, even after a crash."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.part")
    with fresh.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(path)


def main() -> int:
    """Carry out the order in the file that is named, and leave as the command left."""
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    # whoever ordered it may have noted more in the file, for himself
    order = Order(**{name: given[name] for name in Order.__dataclass_fields__ if name in given})
    ending = run_measured(order)
    if ending.exit_code in (COMMAND_NOT_FOUND, NOT_EXECUTABLE) and not ending.samples:
        sys.stderr.write(f"{ending.because}\n")
    return ending.exit_code


if __name__ == "__main__":
    sys.exit(main())
