"""What is ordered of the process beside a task, and what it reports. Standard library only."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class MeasurementOrder:
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
    #: end what the command has left running
    strict: bool = False
    #: end the command if whoever ordered it ends; otherwise it goes on without being measured
    tied: bool = False
    timeout_s: float | None = None


@dataclass
class Ending:
    """How a command ended and what it used."""

    exit_code: int
    #: one of :data:`prophase.runs.end_cause.EndCause`
    cause: str
    #: how the cause was recognised, or why the command could not be started
    because: str
    started_at_s: float
    duration_s: float = 0.0
    memory_peak_gib: float = 0.0
    #: the true peak is at most this far away
    memory_peak_error_gib: float | None = None
    #: ``cgroup v1``, ``cgroup v2``, ``sampled PSS`` or ``sampled RSS``
    memory_method: str | None = None
    cpu_peak_cores: float = 0.0
    cpu_mean_cores: float = 0.0
    read_bytes: int = 0
    write_bytes: int = 0
    samples: int = 0
    lost_samples: int = 0
    limit_gib: float | None = None
    #: ``cgroup``: the kernel holds it to its limit; ``watched``: we end it when it holds more
    limit_kind: str | None = None
    #: nobody knows whether it ran to its end before it was interrupted
    unsure: bool = False
    #: its logger was killed: what it used is known up to then
    partly_measured: bool = False

    @property
    def oom(self) -> bool:
        """Whether it ended for lack of the memory that it had asked for."""
        return self.cause == "host_memory"


def run_order(order: MeasurementOrder, folder: Path) -> int:
    """Carry out an order in a small process of its own and wait for its end."""
    path = folder / "order.json"
    path.write_text(json.dumps(asdict(order)), encoding="utf-8")
    logger = subprocess.Popen(
        [sys.executable, "-m", "prophase.runs.usage.measured_command", str(path)]
    )
    before = {
        number: signal.signal(number, lambda sent, frame: logger.send_signal(sent))
        for number in (signal.SIGTERM, signal.SIGHUP)
    } | {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    try:
        return logger.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
