"""Sample a running command until it has ended. Standard library only."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from contextlib import suppress

from prophase.runs.usage.cgroup import ControlGroup
from prophase.runs.usage.gpu import gpus_here
from prophase.runs.usage.measurement_order import MeasurementOrder
from prophase.runs.usage.peak_memory import (
    Cadence,
    GroupMeter,
    MemoryMeter,
    PeakMemory,
    SampledMeter,
)
from prophase.runs.usage.process_tree import descendants, look
from prophase.runs.usage.recorded_command import RecordedCommand
from prophase.runs.usage.sampler import DurableLines, TreeSampler

#: the first samples come sooner, so that short commands have some as well
_FIRST_SAMPLE_S = 0.1
#: how much of what a command says last is kept
TAIL_BYTES = 64 * 1024
GIB = 2**30


class CommandWatch:
    """Samples a running command until it has ended."""

    def __init__(
        self,
        order: MeasurementOrder,
        child: subprocess.Popen[bytes] | RecordedCommand,
        group: ControlGroup | None,
        lines: DurableLines,
    ) -> None:
        self.order, self.child, self.group, self.lines = order, child, group, lines
        #: our own child: the command, or its keeper
        self._waited = child.waited_pid if isinstance(child, RecordedCommand) else child.pid
        self.exceeded = self.timed_out = False
        self.stderr_tail = b""
        self.samples = 0
        self.limit_bytes = None if order.memory_gib is None else int(order.memory_gib * GIB)
        # taken now: later it would count what sampling itself needs
        self._own_high_bytes = look([os.getpid()]).processes[0].high_bytes
        self.meter: MemoryMeter
        if group is not None and group.has_mark:
            self.meter = GroupMeter(group)
        else:
            self.meter = SampledMeter(self._pids, fresh=True, limit_bytes=self.limit_bytes)
        self.sampler = TreeSampler(self._pids, self.meter, gpus=gpus_here())
        self._cadence = Cadence()

    def until_end(self) -> None:
        """Wait for the end of the command; pass on signals that are meant for it."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda sent, frame: self._pass_on(sent))
        events = select.poll()
        descriptor = os.pidfd_open(self._waited)
        events.register(descriptor, select.POLLIN)
        if self.child.stderr is not None:
            os.set_blocking(self.child.stderr.fileno(), False)
            events.register(self.child.stderr, select.POLLIN)
        pause_s = min(_FIRST_SAMPLE_S, self.order.every_s)
        look_s = time.monotonic()
        row_s = look_s + pause_s
        last_s = look_s + (self.order.timeout_s or float("inf"))
        while True:
            if time.monotonic() > last_s:
                self.timed_out, last_s = True, float("inf")
                self._kill()
            wait_s = max(0.0, min(look_s, row_s, last_s) - time.monotonic())
            happened = [which for which, _ in events.poll(wait_s * 1000)]
            spoke = self.child.stderr is not None and self.child.stderr.fileno() in happened
            if spoke and self._copy_stderr() == 0:
                events.unregister(self.child.stderr.fileno())  # type: ignore[union-attr]
            if descriptor in happened:
                break
            _reap_orphans(self._waited)
            if time.monotonic() >= row_s:
                self._sample()
                pause_s = min(2 * pause_s, self.order.every_s)
                row_s = time.monotonic() + pause_s
            if time.monotonic() >= look_s:
                look_s = time.monotonic() + self._look()
        self._sample()
        self.child.wait()
        os.close(descriptor)
        if self.child.stderr is not None:
            while self._copy_stderr():
                pass
            self.child.stderr.close()

    def peak(self, largest_ended_bytes: int) -> PeakMemory:
        """Return the highest memory: as the kernel counted it, or as the samples saw it."""
        self.meter.look()
        # a process inherits our own mark between fork and exec, so below that it says nothing
        if self.meter.peak().bytes and largest_ended_bytes <= self._own_high_bytes * 1.05:
            largest_ended_bytes = 0
        return self.meter.peak(largest_ended_bytes)

    def oom_kills(self) -> int | None:
        """Return how many of its processes the kernel has killed; None if nobody counts."""
        return None if self.group is None else self.group.oom_kills()

    def _pids(self) -> list[int]:
        kept = self._waited if self._waited != self.child.pid else None
        return [pid for pid in descendants(os.getpid()) if pid != kept]

    def _look(self) -> float:
        """See what is held, end what holds too much, and return the pause until the next look."""
        held = self.meter.look()
        if self.limit_bytes is not None:
            # version 1 kills one process; what is left of the command is of no use
            if self.group is not None and self.group.oom_kills():
                self._kill()
            elif self.group is None and held > self.limit_bytes:
                self.exceeded = True
                self._kill()
        return self._cadence.after(held)

    def _sample(self) -> None:
        sample = self.sampler.sample()
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

    def _kill(self) -> None:
        for pid in self._pids():
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
