"""All rules of one replay together."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypedDict, Unpack

import pandas as pd

from prophase.sim.rules.backfill import Backfill
from prophase.sim.rules.carbon import Deferral
from prophase.sim.rules.demand import PhasedDemand
from prophase.sim.rules.dependencies import Dependencies, as_dependencies
from prophase.sim.rules.elastic import Elastic
from prophase.sim.rules.mig import Mig
from prophase.sim.rules.node_availability import Autoscaler, Failures
from prophase.sim.rules.parsing import as_rule, as_table, span
from prophase.sim.rules.preemption import Preemption
from prophase.sim.rules.retry_ladder import Ladder
from prophase.sim.rules.speed_and_sharing import Sharing, Speeds, as_sharing, as_speeds
from prophase.sim.rules.topology import Topology
from prophase.sim.workload import Workload

#: rules that only the loop in plain Python follows
STEP_RULES = ("elastic", "cohorts", "topology", "demand", "mig", "reservations")


class RuleKeywords(TypedDict, total=False):
    """The rules of a replay as keywords of ``simulate``."""

    backfill: Backfill | str | None
    preempt: Preemption | str | None
    share: Sharing | str | None
    speeds: Speeds | str | None
    scaling: Autoscaler | str | None
    calendar: pd.DataFrame | str | None
    failures: Failures | str | None
    ladder: Ladder | str | None
    quotas: pd.DataFrame | str | None
    hours: pd.DataFrame | str | None
    shares: pd.DataFrame | str | None
    half_life_s: float | str
    depends: Dependencies | str | None
    defer: Deferral | str | None
    elastic: Elastic | str | None
    cohorts: pd.DataFrame | str | None
    topology: Topology | str | None
    demand: PhasedDemand | str | None
    mig: Mig | str | None
    reservations: pd.DataFrame | str | None


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
    #: hours in which only short jobs start
    hours: pd.DataFrame | None = None
    #: for orders that share fairly: what users own, and when usage counts half
    shares: pd.DataFrame | None = None
    half_life_s: float = 0.0
    #: who waits for whom
    depends: Dependencies | None = None
    #: who is held back for a cleaner hour
    defer: Deferral | None = None
    #: more or fewer workers, quotas that queues lend each other, and what being spread costs
    elastic: Elastic | None = None
    cohorts: pd.DataFrame | None = None
    topology: Topology | None = None
    #: what jobs hold in each phase of their run
    demand: PhasedDemand | None = None
    #: GPUs that are divided into instances
    mig: Mig | None = None
    #: nodes that only some may use for a time
    reservations: pd.DataFrame | None = None

    @classmethod
    def read(cls, workload: Workload, **given: Unpack[RuleKeywords]) -> SchedulingRules:
        """Return the rules that were given as objects, as text or as the path of a table."""
        unknown = set(given) - set(RuleKeywords.__annotations__)
        if unknown:
            raise TypeError(f"simulate() got an unexpected keyword argument {min(unknown)!r}")
        return cls(
            as_rule(Backfill, given.get("backfill"), "backfill"),
            as_rule(Preemption, given.get("preempt"), "preempt"),
            as_sharing(given.get("share")),
            as_speeds(given.get("speeds"), workload),
            as_rule(Autoscaler, given.get("scaling"), "scaling"),
            as_table(given.get("calendar"), "calendar"),
            as_rule(Failures, given.get("failures"), "failures"),
            as_rule(Ladder, given.get("ladder"), "ladder"),
            as_table(given.get("quotas"), "quotas"),
            as_table(given.get("hours"), "hours"),
            as_table(given.get("shares"), "shares"),
            span(given.get("half_life_s", 0.0), "half_life_s"),
            as_dependencies(given.get("depends")),
            as_rule(Deferral, given.get("defer"), "defer"),
            as_rule(Elastic, given.get("elastic"), "elastic"),
            as_table(given.get("cohorts"), "cohorts"),
            as_rule(Topology, given.get("topology"), "topology"),
            as_rule(PhasedDemand, given.get("demand"), "demand"),
            as_rule(Mig, given.get("mig"), "mig"),
            as_table(given.get("reservations"), "reservations"),
        )

    def stepwise(self) -> bool:
        """Tell whether there is a rule that only the loop in plain Python can follow."""
        return any(getattr(self, name) is not None for name in STEP_RULES)

    def dynamic(self) -> bool:
        """Tell whether there is a rule that only the dynamic loop can follow."""
        static = ("share", "shares", "half_life_s", "depends", "defer", *STEP_RULES)
        return any(
            getattr(self, field.name) is not None
            for field in fields(self)
            if field.name not in static
        ) or (self.share is not None and self.share.slows)


def check_rule(name: str, value: object) -> None:
    """Refuse a rule's text that is not understood, before any work begins."""
    kinds = {
        "backfill": Backfill,
        "preempt": Preemption,
        "scaling": Autoscaler,
        "failures": Failures,
        "ladder": Ladder,
        "defer": Deferral,
        "elastic": Elastic,
        "topology": Topology,
        "demand": PhasedDemand,
        "mig": Mig,
    }
    if name in kinds:
        as_rule(kinds[name], value, name)
    if name == "depends":
        as_dependencies(value)  # type: ignore[arg-type]
