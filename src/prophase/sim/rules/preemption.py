"""A job may push out running jobs that come after it in the order."""

from __future__ import annotations

from dataclasses import dataclass

from prophase.sim.kernels.dynamic.array_layout import Rules
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

    def add_to(self, rules: Rules) -> Rules:
        """Return the loop's rules with this one."""
        return rules._replace(
            preempt=True,
            checkpoint_s=self.checkpoint_s,
            restart_s=self.restart_s,
            min_run_s=self.min_run_s,
            tick_s=self.every_s,
        )
