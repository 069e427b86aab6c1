"""Which choice is best, and is it proven?"""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.study.learning import Learnt, learn_models
    from prophase.study.ledger.balance import balance_of
    from prophase.study.ledger.book import Ledger
    from prophase.study.loop.plan import StudyPlan, read_plan
    from prophase.study.loop.running import StudyResult, run_study
    from prophase.study.machines import machines
    from prophase.study.measuring.first_run import FirstRun, first_run
    from prophase.study.measuring.next_runs import NextRuns, next_runs
    from prophase.study.proof.found import Proof
    from prophase.study.proof.given import GivenAdvice, read_advice
    from prophase.study.proof.proving import prove
    from prophase.study.proof.verdict import Limits
    from prophase.study.scheduling.comparing import ScheduleStudy, schedule_study

_HOMES = {
    "FirstRun": "measuring.first_run",
    "GivenAdvice": "proof.given",
    "Learnt": "learning",
    "Ledger": "ledger.book",
    "Limits": "proof.verdict",
    "NextRuns": "measuring.next_runs",
    "Proof": "proof.found",
    "ScheduleStudy": "scheduling.comparing",
    "StudyPlan": "loop.plan",
    "StudyResult": "loop.running",
    "balance_of": "ledger.balance",
    "first_run": "measuring.first_run",
    "learn_models": "learning",
    "machines": "machines",
    "next_runs": "measuring.next_runs",
    "prove": "proof.proving",
    "read_advice": "proof.given",
    "read_plan": "loop.plan",
    "run_study": "loop.running",
    "schedule_study": "scheduling.comparing",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "FirstRun",
    "GivenAdvice",
    "Learnt",
    "Ledger",
    "Limits",
    "NextRuns",
    "Proof",
    "ScheduleStudy",
    "StudyPlan",
    "StudyResult",
    "balance_of",
    "first_run",
    "learn_models",
    "machines",
    "next_runs",
    "prove",
    "read_advice",
    "read_plan",
    "run_study",
    "schedule_study",
]
