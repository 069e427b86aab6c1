"""A job may push out running jobs that come after it in the order."""

from __future__ import annotations

from dataclasses import dataclass

from prophase.sim.kernels.dynamic import array_layout as r
from prophase.sim.rules.parsing import at_least


@dataclass(frozen=True)
class Preemption:
    """What stopping and starting again costs.

    Attributes
    ----------
    checkpoint_s : float
        A job saves its work every so many seconds of work; what it did since is lost when it is
        stopped. 0: nothing is ever lost; infinite: it starts from the beginning.
    restart_s : float
        Work a job has to do before it goes on where it was.
    min_run_s : float
        A job is not stopped earlier after its start.
    every_s : float
        Keys that move with time are looked at again every so many seconds, besides at each
        event. 0: only at events.
    """

    checkpoint_s: float = 0.0
    restart_s: float = 0.0
    min_run_s: float = 0.0
    every_s: float = 0.0

    def __post_init__(self) -> None:
        at_least("preempt checkpoint_s", self.checkpoint_s, 0, finite=False)
        at_least("preempt restart_s", self.restart_s, 0)
        at_least("preempt min_run_s", self.min_run_s, 0)
        at_least("preempt every_s", self.every_s, 0)

    def rules(self) -> dict[int, float]:
        """Return the numbers the loop is set by."""
        return {
            r.RULE_PREEMPT: 1.0,
            r.RULE_CHECKPOINT: self.checkpoint_s,
            r.RULE_RESTART: self.restart_s,
            r.RULE_MIN_RUN: self.min_run_s,
            r.RULE_TICK: self.every_s,
        }
