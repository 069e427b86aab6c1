"""All rules of one replay together."""

from __future__ import annotations

from dataclasses import dataclass, fields

import pandas as pd

from prophase.sim.rules.backfill import Backfill
from prophase.sim.rules.node_availability import Autoscaler, Failures
from prophase.sim.rules.parsing import as_rule
from prophase.sim.rules.preemption import Preemption
from prophase.sim.rules.retry_ladder import Ladder
from prophase.sim.rules.speed_and_sharing import Sharing, Speeds


@dataclass(frozen=True)
class SchedulingRules:
    """What a cluster does beyond starting jobs in turn; None: it does not."""

    backfill: Backfill | None = None
    preempt: Preemption | None = None
    share: Sharing | None = None
    speeds: Speeds | None = None
    scaling: Autoscaler | None = None
    calendar: pd.DataFrame | None = None
    failures: Failures | None = None
    ladder: Ladder | None = None
    quotas: pd.DataFrame | None = None

    def any(self) -> bool:
        """Tell whether there is a rule that only the live loop can follow."""
        return any(
            getattr(self, field.name) is not None for field in fields(self) if field.name != "share"
        ) or (self.share is not None and self.share.slows)


def check_rule(name: str, value: object) -> None:
    """Refuse a rule's text that is not understood, before any work begins."""
    kinds = {
        "backfill": Backfill,
        "preempt": Preemption,
        "scaling": Autoscaler,
        "failures": Failures,
        "ladder": Ladder,
    }
    if name in kinds:
        as_rule(kinds[name], value, name)
