"""How far a backfilling queue plans ahead, and how often."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from prophase.sim.kernels.dynamic.array_layout import Rules
from prophase.sim.rules.parsing import at_least


@dataclass(frozen=True)
class Backfill:
    """Limits of backfilling; the default plans at every event, without limits.

    Attributes
    ----------
    every_s : float
        Backfill only every so many seconds; in between, jobs start strictly in order. 0: always.
    depth : float
        Jobs that a reservation is sought for in one pass (queue conservative).
    per_user : int
        Jobs of one user looked at in one pass, from the first that cannot start on; 0: all.
    window_s : float
        How far ahead reservations are made (queue conservative).
    whole_nodes : bool
        A reservation keeps its nodes to itself even where it needs a part of them, as Slurm's does.
    resolution_s : float
        Reservations are rounded down to this; 0: exact.
    clock_s : float
        The scheduler's clock began so many seconds before the first submission: it sets when the
        passes of ``every_s`` are, and when moving orders look at their keys.
    """

    every_s: float = 0.0
    depth: float = float("inf")
    per_user: int = 0
    window_s: float = float("inf")
    whole_nodes: bool = False
    resolution_s: float = 0.0
    clock_s: float = 0.0

    def __post_init__(self) -> None:
        at_least("backfill every_s", self.every_s, 0)
        at_least("backfill depth", self.depth, 1, finite=False)
        at_least("backfill per_user", self.per_user, 0)
        at_least("backfill window_s", self.window_s, 1, finite=False)
        at_least("backfill resolution_s", self.resolution_s, 0)
        at_least("backfill clock_s", self.clock_s, 0)

    @property
    def plans_all(self) -> bool:
        """Tell whether there are limits to a plan of more than one reservation."""
        return self != replace(self, depth=inf, window_s=inf, whole_nodes=False, resolution_s=0.0)

    def add_to(self, rules: Rules) -> Rules:
        """Return the loop's rules with this one."""
        return rules._replace(
            clock_s=self.clock_s,
            tick_s=self.every_s,
            plan_on_tick=self.every_s > 0,
            depth=self.depth,
            per_user=self.per_user,
            window_s=self.window_s,
            whole_nodes=self.whole_nodes,
            resolution_s=self.resolution_s,
        )
