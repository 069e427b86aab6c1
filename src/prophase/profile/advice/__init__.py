"""What is known of one job before it runs: how long, how much, how sure, and why."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.profile.advice.advice import Advice
    from prophase.profile.advice.asking import ask
    from prophase.profile.advice.node_types import rank_for_job, rank_node_types

_HOMES = {
    "Advice": "advice",
    "ask": "asking",
    "rank_for_job": "node_types",
    "rank_node_types": "node_types",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["Advice", "ask", "rank_for_job", "rank_node_types"]
