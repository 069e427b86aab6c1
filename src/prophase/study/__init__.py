"""Which choice is best, and is it proven?"""

from typing import TYPE_CHECKING

from prophase.lazy_imports import lazy_names

if TYPE_CHECKING:
    from prophase.study.cluster import machines
    from prophase.study.cold_start import FirstRun, first_run
    from prophase.study.ledger.balance import balance_of
    from prophase.study.ledger.ledger import Ledger
    from prophase.study.measurement_plan import NextRuns, next_runs
    from prophase.study.pipeline import StudyResult, run_study
    from prophase.study.plan import StudyPlan, read_plan
    from prophase.study.proof.candidate import Candidate, read_candidate
    from prophase.study.proof.proof import Proof
    from prophase.study.proof.prover import prove
    from prophase.study.proof.verdict import Limits
    from prophase.study.scheduling.comparison import ScheduleStudy, schedule_study
    from prophase.study.workspace_models import LearnedModels, learn_models

_HOMES = {
    "FirstRun": "cold_start",
    "Candidate": "proof.candidate",
    "LearnedModels": "workspace_models",
    "Ledger": "ledger.ledger",
    "Limits": "proof.verdict",
    "NextRuns": "measurement_plan",
    "Proof": "proof.proof",
    "ScheduleStudy": "scheduling.comparison",
    "StudyPlan": "plan",
    "StudyResult": "pipeline",
    "balance_of": "ledger.balance",
    "first_run": "cold_start",
    "learn_models": "workspace_models",
    "machines": "cluster",
    "next_runs": "measurement_plan",
    "prove": "proof.prover",
    "read_candidate": "proof.candidate",
    "read_plan": "plan",
    "run_study": "pipeline",
    "schedule_study": "scheduling.comparison",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "Candidate",
    "FirstRun",
    "LearnedModels",
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
    "read_candidate",
    "read_plan",
    "run_study",
    "schedule_study",
]
