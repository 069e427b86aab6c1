"""How much of a perfect schedule do predictions keep?"""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.study.scheduling.comparing import ScheduleStudy, schedule_study
    from prophase.study.scheduling.foretold import Foretold, foretell
    from prophase.study.scheduling.telling import schedule_report

_HOMES = {
    "Foretold": "foretold",
    "ScheduleStudy": "comparing",
    "foretell": "foretold",
    "schedule_report": "telling",
    "schedule_study": "comparing",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["Foretold", "ScheduleStudy", "foretell", "schedule_report", "schedule_study"]
