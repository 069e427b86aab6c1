"""Allocate ahead of what comes: policies that learn from fit series, judged on others."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.phase.scale.catalogue import ALWAYS, POLICIES
    from prophase.phase.scale.comparing import Comparison, Judged, compare, divided
    from prophase.phase.scale.fleet import Fleet, fleet_of
    from prophase.phase.scale.measures import Measures, Penalties, measure
    from prophase.phase.scale.policy import Plan, Policy
    from prophase.phase.scale.resizing import Hysteresis
    from prophase.phase.scale.trade_off import frontier
    from prophase.phase.scale.tuning import TunedPolicy, tune

_HOMES = {
    "ALWAYS": "catalogue",
    "POLICIES": "catalogue",
    "Comparison": "comparing",
    "Fleet": "fleet",
    "Hysteresis": "resizing",
    "Judged": "comparing",
    "Measures": "measures",
    "Plan": "policy",
    "Policy": "policy",
    "Penalties": "measures",
    "TunedPolicy": "tuning",
    "compare": "comparing",
    "divided": "comparing",
    "fleet_of": "fleet",
    "frontier": "trade_off",
    "measure": "measures",
    "tune": "tuning",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "ALWAYS",
    "POLICIES",
    "Comparison",
    "Fleet",
    "Hysteresis",
    "Judged",
    "Measures",
    "Penalties",
    "Plan",
    "Policy",
    "TunedPolicy",
    "compare",
    "divided",
    "fleet_of",
    "frontier",
    "measure",
    "tune",
]
