"""Run a study: finished steps are kept, a failed one is named, and a rerun resumes there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pandas as pd

from prophase.atomic_files import write_whole
from prophase.errors import InputError, MissingExtraError, ProphaseError, storage_error
from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.result.document import Result
from prophase.result.json_form import from_dict, to_dict
from prophase.short_form import ShortForm
from prophase.study.opening import opening
from prophase.study.plan import StudyPlan, check_columns, check_plan
from prophase.study.steps.cache import StepCache, held_alone, key_of
from prophase.study.steps.context import StepContext
from prophase.study.steps.import_trace import imported, place_of
from prophase.study.steps.registry import STEPS, StudyStep, steps_named
from prophase.study.study_report import study_result
from prophase.trace.prices import Prices, kept_prices
from prophase.trace.source_files import file_hash
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import PROFILES
from prophase.workers import connected, parse_workers

Done = Literal["done", "kept", "cannot"]
#: below the folder of a study: report and exports
REPORT = Path("reports", "study")


class StepFailedError(ProphaseError):
    """A step of a study failed; the finished ones are kept."""

    def __init__(
        self,
        step: str,
        place: str,
        cause: BaseException,
        finished: Sequence[str] = (),
        others: Sequence[str] = (),
    ) -> None:
        ours = isinstance(cause, ProphaseError)
        what = (str(cause) if ours else f"{type(cause).__name__}: {cause}").rstrip()
        end = "" if what.endswith((".", "!", "?")) else "."
        said = [f"{what}{end}"]
        # before the trace is read there is nothing to resume
        begun = not ours or step != "import"
        if begun:
            said[0] = f"the study's step {step} ({place}) failed: {said[0]}"
        if finished:
            said.append(f"Finished steps are kept: {', '.join(finished)}.")
        if ours and begun:
            said.append("Correct that and run the same command again to resume.")
        elif not ours:
            said.append("That is a defect of Prophase: the same command with --debug shows where.")
            if others:
                said.append(f"A report without this step: --steps {','.join(others)}")
        super().__init__(" ".join(said))
        self.step = step
        if isinstance(cause, ProphaseError):
            self.exit_code = cause.exit_code


@dataclass(frozen=True)
class StepDone:
    """How a step went."""

    name: str
    state: Done
    seconds: float
    #: why it could not be done
    reason: str = ""


@dataclass(frozen=True, repr=False)
class StudyResult(ShortForm):
    """A finished study: its report, every step, and all numbers."""

    report: Result
    steps: list[StepDone]
    #: step -> its numbers
    results: dict[str, JsonObject]
    workspace: Path
    folder: Path
    plan: StudyPlan
    data_hash: str = ""

    @property
    def cannot(self) -> dict[str, str]:
        """Steps that could not be done, each with the reason."""
        return {one.name: one.reason for one in self.steps if one.state == "cannot"}

    @property
    def table(self) -> pd.DataFrame:
        """A row per step: how it went, how long it took, what was missing."""
        return pd.DataFrame(self.rows())

    def rows(self) -> list[JsonObject]:
        """Return a row per step: how it went, how long it took, what was missing."""
        return [
            {"step": one.name, "state": one.state, "seconds": round(one.seconds, 1),
             "missing": one.reason or None}
            for one in self.steps
        ]  # fmt: skip

    def summary(self) -> list[str]:
        """Return the answer of the report and its first numbers."""
        facts = [f"{one.label}: {one.text()}" for one in self.report.facts]
        return [self.report.answer, *facts[:4], f"report in {self.folder}"]

    def to_dict(self) -> JsonObject:
        """Return everything as JSON knows it."""
        return {
            "plan": self.plan.to_dict(),
            "data_hash": self.data_hash,
            "steps": [one.__dict__ for one in self.steps],
            "cannot": self.cannot,
            "results": self.results,
        }


@dataclass(frozen=True)
class Watching:
    """How a study reports progress: each step as it starts and ends, and progress within it."""

    begin: Callable[[int, int, StudyStep], None] = lambda number, total, step: None
    end: Callable[[StepDone], None] = lambda done: None
    show: Callable[[str, float | None], None] = lambda step, percent: None
    #: receives what was recognised, a line at a time, before the first step that works with it
    tell: Callable[[str], None] = lambda line: None
    steps: tuple[StudyStep, ...] = field(default=STEPS)


_IMPORT = StudyStep("import", "every source becomes the same tables", lambda work: None)  # type: ignore[arg-type, return-value]


def run_study(
    plan: StudyPlan,
    *,
    out: str | Path | None = None,
    watching: Watching | None = None,
    command: str = "",
) -> StudyResult:
    """Run every step of a plan and return the report.

    A step whose inputs (data, settings, results of earlier steps, version) are those of an
    earlier run is not run again. A step that the trace lacks columns for is named with what it
    needs, and the others continue. A step that fails raises :class:`StepFailedError`.

    Parameters
    ----------
    out : path, optional
        Folder of results: for a trace in raw files the workspace they are read into, beside them
        if not given; for a workspace where cache and report go instead of into it.
    watching : Watching, optional
        What progress is reported to.
    command : str
        How to run it again, for the report.
    """
    watch = watching or Watching()
    if plan.prices is None and (kept := kept_prices(plan.trace)) is not None:
        plan = plan.changed(prices=str(kept))
    chosen = steps_named(plan.steps)
    check_plan(plan)
    total = len(chosen) + 1
    watch.begin(1, total, _IMPORT)
    began = time.monotonic()
    with ExitStack() as held:
        with _named(_IMPORT.name, f"1 of {total}"):
            extra = _check_files(plan)
            place = place_of(plan, out)
            cache = StepCache(held.enter_context(held_alone(place)))
            found = imported(plan, place, watch.show)
            if (profiles := found.workspace / PROFILES).is_file():
                extra["profiles"] = file_hash(profiles)
            if "jobs" in (tables := Workspace(found.workspace).tables):
                check_columns(plan, tables["jobs"].columns)
        first = StepDone("import", "done" if found.fresh else "kept", time.monotonic() - began)
        watch.end(first)
        for line in opening(plan, found.workspace):
            watch.tell(line)
        work = StepContext(plan, found.workspace, watch.show, folder=place / REPORT)
        steps, reports = _all_steps(chosen, work, cache, extra, [first], watch)
        finished = [one.name for one in steps if one.state != "cannot"]
        with _named("report", "the last", finished):
            report = study_result(plan, reports, work, command=command)
        return StudyResult(
            report, steps, work.found, work.workspace, work.folder, plan, work.trace.data_hash
        )


def _all_steps(
    chosen: Sequence[StudyStep],
    work: StepContext,
    cache: StepCache,
    extra: Mapping[str, str],
    steps: list[StepDone],
    watch: Watching,
) -> tuple[list[StepDone], dict[str, Result]]:
    """Run what is not kept; return how each step went, and its part of the report."""
    tables = {name: one.table_hash for name, one in Workspace(work.workspace).tables.items()}
    reports: dict[str, Result] = {}
    total = len(chosen) + 1
    for number, step in enumerate(chosen, start=2):
        watch.begin(number, total, step)
        began = time.monotonic()
        inputs: JsonObject = {
            "tables": tables,
            "settings": {name: getattr(work.plan, name) for name in step.settings},
            "after": {name: work.found.get(name, work.cannot.get(name)) for name in step.after},
            "files": {name: extra[name] for name in step.reads if name in extra},
        }
        key = key_of(step.name, inputs)
        kept = cache.get(step.name, key)
        finished = [one.name for one in steps if one.state != "cannot"]
        others = [one.name for one in chosen if step.name not in (one.name, *one.after)]
        with _named(step.name, f"{number} of {total}", finished, others):
            held = _run(step, work) if kept is None else kept
            for name in step.files:
                _export(work, name, held.get("files", {}).get(name))
            if kept is None and "cannot" not in held:
                cache.put(step.name, key, held)
        seconds = time.monotonic() - began
        if "cannot" in held:
            done = StepDone(step.name, "cannot", seconds, held["cannot"])
            work.cannot[step.name] = held["cannot"]
        else:
            done = StepDone(step.name, "done" if kept is None else "kept", seconds)
            work.found[step.name] = held["result"]
            work.files |= held["files"]
            reports[step.name] = from_dict(held["report"])
        steps.append(done)
        watch.end(done)
    return steps, reports


def _run(step: StudyStep, work: StepContext) -> JsonObject:
    """Run one step; say what it lacks if it cannot be done."""
    try:
        done = step.run(work)
    except (InputError, MissingExtraError) as cause:
        return {"cannot": str(cause)}
    found = {"report": to_dict(done.part), "result": finite(done.result)}
    return {**found, "files": dict(done.files)}


def _export(work: StepContext, name: str, text: str | None) -> None:
    """Put what a step made beside the report; what an earlier study left there goes."""
    path = work.folder / name
    try:
        if text is None:
            path.unlink(missing_ok=True)
        elif not path.is_file() or path.read_bytes() != text.encode():
            write_whole(path, text)
    except OSError as cause:
        raise storage_error(cause, path) from cause


@contextmanager
def _named(
    step: str, place: str, finished: Sequence[str] = (), others: Sequence[str] = ()
) -> Iterator[None]:
    """Say which step failed, what is kept and what to do."""
    try:
        yield
    except Exception as cause:
        raise StepFailedError(step, place, cause, finished, others) from cause


def _check_files(plan: StudyPlan) -> dict[str, str]:
    """Read what the plan names beside the trace before any work; return what is in it."""
    if isinstance(address := parse_workers(plan.workers), str):
        # a wrong address would show only after the first steps
        with connected(address):
            pass
    found = {}
    if plan.prices is not None:
        Prices.read(plan.prices)
        found["prices"] = file_hash(Path(plan.prices))
    if plan.cluster is not None:
        path = Path(plan.cluster)
        found["cluster"] = file_hash(path) if path.is_file() else plan.cluster
        if not path.exists():
            from prophase.study.cluster import machines
            from prophase.trace.trace_tables import Trace

            machines(Trace({}, "", ""), plan.cluster)
    return found
