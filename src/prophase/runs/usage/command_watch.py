"""Sample a running command until it has ended. Standard library only."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from contextlib import suppress

from prophase.runs.usage.cgroup import ControlGroup, MemoryLimit
from prophase.runs.usage.gpu import gpus_here
from prophase.runs.usage.measurement_order import MeasurementOrder
from prophase.runs.usage.process_tree import descendants, look
from prophase.runs.usage.sampler import DurableLines, TreeSampler

#: the first samples come sooner, so that short commands have some as well
_FIRST_SAMPLE_S = 0.1
#: how often the processes of a task are added up where the kernel limits each one alone
_WATCH_S = 0.25
#: how much of what a command says last is kept
TAIL_BYTES = 64 * 1024


class CommandWatch:
    """Samples a running command until it has ended."""

    def __init__(
        self,
        order: MeasurementOrder,
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
            said = os.read(self.child.stderr.fileno(), TAIL_BYTES)
        except BlockingIOError:
            return 0
        os.write(2, said)
        self.stderr_tail = (self.stderr_tail + said)[-TAIL_BYTES:]
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
