"""Run a study: what is finished is kept, what failed is named, and a rerun goes on there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from prophase.errors import InputError, MissingExtraError, MissingFileError, ProphaseError
from prophase.study.loop.cache import StepCache, key_of
from prophase.study.loop.plan import StudyPlan
from prophase.study.loop.steps import STEPS, StudyStep, as_json, steps_named
from prophase.study.loop.telling import study_report
from prophase.study.loop.work import Work
from prophase.study.report import Report, from_dict, to_dict
from prophase.trace.files import file_hash
from prophase.trace.prices import Prices
from prophase.trace.workspace import Workspace

Done = Literal["done", "kept", "cannot"]
#: below a workspace: results of steps; report and exports
CACHE, REPORT = Path(".cache", "study"), Path("reports", "study")


class StepFailedError(ProphaseError):
    """A step of a study failed; the finished ones are kept."""

    def __init__(self, step: str, place: str, cause: BaseException, finished: list[str]) -> None:
        kept = f"Finished steps are kept: {', '.join(finished)}. " if finished else ""
        what = (
            str(cause) if isinstance(cause, ProphaseError) else f"{type(cause).__name__}: {cause}"
        )
        end = "" if what.rstrip().endswith((".", "!", "?")) else "."
        super().__init__(
            f"the study's step {step} ({place}) failed: {what.rstrip()}{end} {kept}"
            "Correct that and run the same command again: it goes on from here."
        )
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


@dataclass(frozen=True)
class StudyResult:
    """A finished study: its report, every step, and all numbers."""

    report: Report
    steps: list[StepDone]
    #: step -> its numbers
    results: dict[str, dict[str, Any]]
    workspace: Path
    folder: Path
    plan: StudyPlan
    data_hash: str = ""

    @property
    def cannot(self) -> dict[str, str]:
        """Steps that could not be done, each with the reason."""
        return {one.name: one.reason for one in self.steps if one.state == "cannot"}

    def to_dict(self) -> dict[str, Any]:
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
    """How a study tells of itself: each step as it begins and ends, and progress within it."""

    begin: Callable[[int, int, StudyStep], None] = lambda number, total, step: None
    end: Callable[[StepDone], None] = lambda done: None
    show: Callable[[str, float | None], None] = lambda step, percent: None
    steps: tuple[StudyStep, ...] = field(default=STEPS)


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
    needs, and the others go on. A step that fails raises :class:`StepFailedError`.

    Parameters
    ----------
    out : path, optional
        Workspace for a trace in raw files; beside them if not given. A workspace keeps its own.
    watching : Watching, optional
        Who is told of progress.
    command : str
        How to run it again, for the report.
    """
    watch = watching or Watching()
    chosen = steps_named(plan.steps)
    total = len(chosen) + 1
    first = StudyStep("import", "every source becomes the same tables", lambda work: None)  # type: ignore[arg-type, return-value]
    watch.begin(1, total, first)
    began = time.monotonic()
    try:
        extra = _check_files(plan)
        workspace, fresh = _imported(plan, out, watch)
    except ProphaseError as cause:
        raise StepFailedError("import", f"1 of {total}", cause, []) from cause
    steps = [StepDone("import", "done" if fresh else "kept", time.monotonic() - began)]
    watch.end(steps[0])
    tables = {name: entry.table_hash for name, entry in Workspace(workspace).tables.items()}
    work = Work(plan, workspace, watch.show, folder=workspace / REPORT)
    cache = StepCache(workspace / CACHE)
    reports: dict[str, Report] = {}
    keys: dict[str, str] = {}
    for number, step in enumerate(chosen, start=2):
        watch.begin(number, total, step)
        began = time.monotonic()
        inputs: dict[str, Any] = {
            "tables": tables,
            "settings": {name: getattr(plan, name) for name in step.settings},
            "after": {name: work.found.get(name, work.cannot.get(name)) for name in step.after},
        }
        if step.name in ("proof", "schedules"):
            inputs["files"] = extra
        keys[step.name] = key_of(step.name, inputs)
        held = cache.get(step.name, keys[step.name])
        if held is not None and all((work.folder / name).exists() for name in step.files):
            kept: Done = "kept"
        else:
            held, kept = _run(step, work, number, total, [one.name for one in steps]), "done"
            if "cannot" not in held:
                cache.put(step.name, keys[step.name], held)
        seconds = time.monotonic() - began
        if "cannot" in held:
            done = StepDone(step.name, "cannot", seconds, held["cannot"])
            work.cannot[step.name] = held["cannot"]
        else:
            done = StepDone(step.name, kept, seconds)
            work.found[step.name] = held["result"]
            reports[step.name] = from_dict(held["report"])
        steps.append(done)
        watch.end(done)
    report = study_report(plan, reports, work, command=command)
    return StudyResult(
        report, steps, work.found, workspace, work.folder, plan, work.trace.data_hash
    )


def _run(
    step: StudyStep, work: Work, number: int, total: int, finished: list[str]
) -> dict[str, Any]:
    """Run one step; say what it lacks, or name it if it fails."""
    try:
        done = step.run(work)
        return {"report": to_dict(done.report), "result": as_json(done.result)}
    except (InputError, MissingExtraError) as cause:
        return {"cannot": str(cause)}
    except Exception as cause:
        raise StepFailedError(step.name, f"{number} of {total}", cause, finished) from cause


def _check_files(plan: StudyPlan) -> dict[str, str]:
    """Read what the plan names beside the trace before any work; return what is in it."""
    found = {}
    if plan.prices is not None:
        Prices.read(plan.prices)
        found["prices"] = file_hash(Path(plan.prices))
    if plan.cluster is not None:
        path = Path(plan.cluster)
        found["cluster"] = file_hash(path) if path.is_file() else plan.cluster
        if not path.exists():
            from prophase.study.machines import machines
            from prophase.trace.loading import Trace

            machines(Trace({}, "", ""), plan.cluster)
    return found


def _imported(plan: StudyPlan, out: str | Path | None, watch: Watching) -> tuple[Path, bool]:
    """Return the workspace of the trace, and whether it had to be filled."""
    from prophase.trace.importing import import_trace
    from prophase.trace.reader import guess_reader

    path = Path(plan.trace)
    if plan.source is None and Workspace.is_at(path):
        if not Workspace(path).tables:
            raise MissingFileError(
                f"{path}: the workspace is empty. Fill it with: prophase import SOURCE PATH "
                f"--workspace {path}"
            )
        return path, False
    if not path.exists():
        raise MissingFileError(f"{path}: there is no such trace, file or workspace.")
    source = plan.source or guess_reader(path).name
    folder = Path(out) if out is not None else _beside(path)
    workspace = Workspace.prepare(folder)
    stamp = _stamp(plan, path, source)
    before = workspace.tables if Workspace.is_at(folder) else {}
    note = folder / ".cache" / "study" / "import.stamp"
    if before and note.is_file() and note.read_text(encoding="utf-8") == stamp:
        return folder, False
    if before and not note.is_file():
        entry = next(iter(before.values()))
        workspace.refuse_to_overwrite(list(before), f"not {entry.source_hash}")
    import_trace(
        source, path, workspace, engine=plan.engine, options=plan.options, keep=plan.keep,
        max_bad=plan.max_bad, mode="replace" if before else "new", command="prophase study",
        progress=lambda step, done: watch.show(step, None),
    )  # fmt: skip
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(stamp, encoding="utf-8")
    return folder, True


def _stamp(plan: StudyPlan, path: Path, source: str) -> str:
    """Name what an import depends on: the bytes of the files, and how they are read."""
    from prophase.trace.files import files_below

    files = {str(one.name): file_hash(one) for one in files_below(path)}
    settings: Mapping[str, Any] = {
        "source": source, "options": plan.options, "keep": plan.keep, "max_bad": plan.max_bad,
        "engine": plan.engine, "files": files,
    }  # fmt: skip
    return key_of("import", settings)


def _beside(path: Path) -> Path:
    stem = path.name.split(".")[0] if path.is_file() else path.name
    return Path(f"{stem or 'trace'}-study")
