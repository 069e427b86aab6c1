"""How well are requests used? Utilisation, groups of tasks, drivers, money, static advice."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.sizing.assess.assessment import Assessment, assess
    from prophase.sizing.assess.clusters import cluster_tasks
    from prophase.sizing.assess.cores import core_advice
    from prophase.sizing.assess.drivers import rank_drivers
    from prophase.sizing.assess.utilisation import utilisation

_HOMES = {
    "Assessment": "assessment",
    "assess": "assessment",
    "cluster_tasks": "clusters",
    "core_advice": "cores",
    "rank_drivers": "drivers",
    "utilisation": "utilisation",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "Assessment",
    "assess",
    "cluster_tasks",
    "core_advice",
    "rank_drivers",
    "utilisation",
]
