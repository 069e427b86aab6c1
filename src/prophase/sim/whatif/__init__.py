"""What if there were other nodes, more jobs, another policy, other requests?"""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.sim.whatif.comparing import Comparison, compare_scenarios, ready
    from prophase.sim.whatif.requests import read_requests, with_requests
    from prophase.sim.whatif.scenarios import Question, Scenario, scenarios_of
    from prophase.sim.whatif.target import parse_target, smallest_clusters

_HOMES = {
    "Comparison": "comparing",
    "Question": "scenarios",
    "Scenario": "scenarios",
    "compare_scenarios": "comparing",
    "parse_target": "target",
    "read_requests": "requests",
    "ready": "comparing",
    "scenarios_of": "scenarios",
    "smallest_clusters": "target",
    "with_requests": "requests",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "Comparison",
    "Question",
    "Scenario",
    "compare_scenarios",
    "parse_target",
    "read_requests",
    "ready",
    "scenarios_of",
    "smallest_clusters",
    "with_requests",
]
