"""How much should a job ask for? Requests per attempt, learned from what runs used."""

from typing import TYPE_CHECKING

from prophase.lazy_imports import lazy_names

if TYPE_CHECKING:
    from prophase.sizing.export_formats import export
    from prophase.sizing.kind_recommendation import Gate, recommend
    from prophase.sizing.registry import SIZERS, make_online_sizer
    from prophase.sizing.replays.comparison import compare
    from prophase.sizing.replays.replay import replay
    from prophase.sizing.replays.task_runs import task_runs
    from prophase.sizing.sizer import Features, OnlineSizer, Outcome
    from prophase.sizing.table_sizer import Sizer

_HOMES = {
    "SIZERS": "registry",
    "Features": "sizer",
    "Gate": "kind_recommendation",
    "OnlineSizer": "sizer",
    "Outcome": "sizer",
    "Sizer": "table_sizer",
    "recommend": "kind_recommendation",
    "compare": "replays.comparison",
    "export": "export_formats",
    "make_online_sizer": "registry",
    "replay": "replays.replay",
    "task_runs": "replays.task_runs",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "SIZERS",
    "Features",
    "Gate",
    "OnlineSizer",
    "Outcome",
    "Sizer",
    "compare",
    "export",
    "make_online_sizer",
    "recommend",
    "replay",
    "task_runs",
]
