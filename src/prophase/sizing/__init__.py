"""How much should a job ask for? Requests per attempt, learnt from what runs used."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.sizing.advising.advice import Gate, advise
    from prophase.sizing.advising.exporting import export
    from prophase.sizing.batch import Sizer
    from prophase.sizing.registry import SIZERS, make_online_sizer
    from prophase.sizing.replaying.comparing import compare
    from prophase.sizing.replaying.replay import replay
    from prophase.sizing.replaying.tasks import task_runs
    from prophase.sizing.sizer import Features, OnlineSizer, Outcome

_HOMES = {
    "SIZERS": "registry",
    "Features": "sizer",
    "Gate": "advising.advice",
    "OnlineSizer": "sizer",
    "Outcome": "sizer",
    "Sizer": "batch",
    "advise": "advising.advice",
    "compare": "replaying.comparing",
    "export": "advising.exporting",
    "make_online_sizer": "registry",
    "replay": "replaying.replay",
    "task_runs": "replaying.tasks",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "SIZERS",
    "Features",
    "Gate",
    "OnlineSizer",
    "Outcome",
    "Sizer",
    "advise",
    "compare",
    "export",
    "make_online_sizer",
    "replay",
    "task_runs",
]
