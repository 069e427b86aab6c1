"""Which choice is best, and is it proven?"""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.study.machines import machines
    from prophase.study.proof.given import GivenAdvice, read_advice
    from prophase.study.proof.proving import Proof, prove
    from prophase.study.proof.verdict import Limits
    from prophase.study.scheduling.comparing import ScheduleStudy, schedule_study

_HOMES = {
    "GivenAdvice": "proof.given",
    "Limits": "proof.verdict",
    "Proof": "proof.proving",
    "ScheduleStudy": "scheduling.comparing",
    "machines": "machines",
    "prove": "proof.proving",
    "read_advice": "proof.given",
    "schedule_study": "scheduling.comparing",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "GivenAdvice",
    "Limits",
    "Proof",
    "ScheduleStudy",
    "machines",
    "prove",
    "read_advice",
    "schedule_study",
]
