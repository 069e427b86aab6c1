"""All policies by name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from prophase.autoscale.policies.autopilot import Autopilot
from prophase.autoscale.policies.baselines import (
    Oracle,
    PeakHold,
    PeriodAware,
    RecentMax,
    Static,
)
from prophase.autoscale.policies.next_phase import PhaseAhead
from prophase.autoscale.policies.peak_growth import PeakGrowth
from prophase.autoscale.policies.per_phase import NoPhase, PhaseAbsolute, PhaseRelative
from prophase.autoscale.policies.priced import Priced
from prophase.autoscale.policies.quantile_boosting import QuantileBoosting
from prophase.autoscale.policies.smoothing import Holt
from prophase.autoscale.policies.vpa import TunedVpa, Vpa
from prophase.autoscale.policy import ScalingPolicy
from prophase.errors import ParameterError, not_among

POLICIES: dict[str, type[ScalingPolicy]] = {
    policy.name: policy
    for policy in (
        Static,
        Vpa,
        TunedVpa,
        Autopilot,
        RecentMax,
        PeakHold,
        PeakGrowth,
        PeriodAware,
        Holt,
        NoPhase,
        PhaseAbsolute,
        PhaseRelative,
        PhaseAhead,
        QuantileBoosting,
        Priced,
        Oracle,
    )
}
#: in every report, so that nothing is praised without its baselines
ALWAYS = ("static", "vpa", "recent-max", "no-phase", "oracle")
#: those whose decisions depend on phases
#: and the same policy without them: what phases add is the difference
WITH_PHASES = {
    "phase-absolute": "static",
    "phase-relative": "no-phase",
    "phase-ahead": "no-phase",
}
#: those that need the extra "learn"
TREES = ("boosting", "priced")


def chosen(names: Sequence[str]) -> list[ScalingPolicy]:
    """Return policies by name, with those that every report contains.

    Examples
    --------
    >>> [policy.name for policy in chosen(["phase-relative"])]
    ['static', 'vpa', 'recent-max', 'no-phase', 'phase-relative', 'oracle']
    """
    for name in names:
        if name not in POLICIES:
            raise ParameterError(not_among(f"policy {name!r} is unknown.", name, POLICIES))
    return [make() for name, make in POLICIES.items() if name in ALWAYS or name in names]


def available() -> list[str]:
    """Return the names of the policies that run if none is named: some need an extra."""
    left_out = () if find_spec("xgboost") is not None else TREES
    return [name for name in POLICIES if name not in left_out]
