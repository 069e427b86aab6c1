"""The steps of a study, in their order: each reads the tables and returns a part of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prophase.errors import ParameterError, not_among
from prophase.study.steps.context import StepContext, StepOutcome
from prophase.study.steps.describe import describe_step, lint_step, phases_step, profiles_step
from prophase.study.steps.predict import NEXT_FILE, next_step, predictions_step
from prophase.study.steps.size import RECOMMENDATION_FILE, proof_step, schedules_step, sizing_step


@dataclass(frozen=True)
class StudyStep:
    """One step: what it is called, what it is for, and what its result depends on."""

    name: str
    why: str
    run: Callable[[StepContext], StepOutcome]
    #: settings of the plan that its result depends on
    settings: tuple[str, ...] = ()
    #: earlier steps whose result it reads
    after: tuple[str, ...] = ()
    #: files it makes, which go beside the report
    files: tuple[str, ...] = ()
    #: files beside the tables that its result depends on: prices, cluster, profiles
    reads: tuple[str, ...] = ()


_LEARNT = ("seed", "most_jobs")
_SIZED = ("resource", "kind", "risk", "min_runs", "advise_above", "prior", "min_memory_gib")
#: every step after the import, in the order they run
STEPS: tuple[StudyStep, ...] = (
    StudyStep("lint", "what is wrong with the data", lint_step),
    StudyStep("describe", "how far requests and use differ", describe_step, ("seed",)),
    StudyStep(
        "profiles", "which kinds of job there are", profiles_step, _LEARNT, reads=("profiles",)
    ),
    StudyStep("phases", "what jobs do while they run", phases_step, ("seed",)),
    StudyStep(
        "predictions",
        "how well needs are known before a job runs",
        predictions_step,
        (*_LEARNT, "methods", "targets", "test_share"),
    ),
    StudyStep(
        "sizing",
        "what each task should ask for",
        sizing_step,
        (*_LEARNT, *_SIZED),
        files=(RECOMMENDATION_FILE,),
    ),
    StudyStep(
        "proof",
        "the history replayed with and without the recommendation",
        proof_step,
        (
            *_LEARNT,
            *_SIZED,
            "max_oom",
            "min_saving",
            "max_longer_wait",
            "order",
            "place",
            "queue",
            "by",
            "seeds",
            "splits",
            "kills_after",
        ),
        ("sizing",),
        reads=("prices", "cluster"),
    ),
    StudyStep(
        "schedules",
        "what other queue orders would do",
        schedules_step,
        (*_LEARNT, "methods", "queue", "place", "by", "seeds"),
        reads=("cluster",),
    ),
    StudyStep("next", "what to measure next", next_step, (*_LEARNT, "measure"), files=(NEXT_FILE,)),
)


def steps_named(names: Iterable[str]) -> list[StudyStep]:
    """Return the steps of these names, in their order, with those they read."""
    wanted = set(names)
    known = {step.name: step for step in STEPS}
    for name in wanted:
        if name not in known:
            raise ParameterError(not_among(f"there is no step {name!r}.", name, known))
    if not wanted:
        return list(STEPS)
    wanted |= {before for name in wanted for before in known[name].after}
    return [step for step in STEPS if step.name in wanted]
