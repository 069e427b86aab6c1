"""Which policy, how large a cluster, how much load? Many replays with intervals."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.sim.sweeping.plan import SweepPlan, read_plan
    from prophase.sim.sweeping.resampling import Resampler, interval_of_resamples, paired_change
    from prophase.sim.sweeping.results import SweepResult, pareto_front
    from prophase.sim.sweeping.running import run_sweep

_HOMES = {
    "Resampler": "resampling",
    "SweepPlan": "plan",
    "SweepResult": "results",
    "interval_of_resamples": "resampling",
    "paired_change": "resampling",
    "pareto_front": "results",
    "read_plan": "plan",
    "run_sweep": "running",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "Resampler",
    "SweepPlan",
    "SweepResult",
    "interval_of_resamples",
    "paired_change",
    "pareto_front",
    "read_plan",
    "run_sweep",
]
