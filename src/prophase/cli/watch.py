"""prophase watch: are predictions and profiles still right?"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.model_options import METHOD, TARGET
from prophase.cli.output import Format, FormatOption, as_typed, progress_bar, show_result
from prophase.cli.shared_options import SEED, FiguresOption
from prophase.cli.trace_options import SourceOption
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.result import Result, Table

if TYPE_CHECKING:
    from prophase.profile.drift.watch_folder import WatchFolder
    from prophase.profile.drift.watcher import Watcher

#: profiles that are shown as a table; JSON and CSV have all
_MOST_ROWS = 12


def command(
    path: Annotated[Path, typer.Argument(help="Workspace with the history of finished jobs.")],
    finished: Annotated[
        Path | None,
        typer.Option("--with", help="Further finished jobs: a trace file or another workspace."),
    ] = None,
    undo: Annotated[
        int | None,
        typer.Option(help="Go back to what was before this step of the list."),
    ] = None,
    target: Annotated[str | None, TARGET] = None,
    method: Annotated[str | None, METHOD] = None,
    no_profiles: Annotated[
        bool, typer.Option("--no-profiles", help="At the first call: watch predictions alone.")
    ] = False,
    false_alarms: Annotated[
        float | None,
        typer.Option(help="At the first call: alarms per job to allow.", show_default="1e-5"),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Forget what was watched and start again.")
    ] = False,
    figures: FiguresOption = None,
    seed: Annotated[int | None, SEED] = None,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Watch finished jobs against their predictions; detect drift and retrain what broke.

    The first call learns from the workspace what is usual. Each further one takes finished jobs,
    in any number, and each job once. After an alarm only what broke is retrained, and every step
    can be undone. --target, --method and --seed are of the first call. A run that was
    killed is resumed.

    Examples:

    `prophase watch ws`

    `prophase watch ws --with finished.csv --figures charts`

    `prophase watch ws --undo 3`
    """
    from prophase.profile.drift.watch_folder import begin_watching, publish, watch_folder
    from prophase.trace.workspace import Workspace

    if undo is not None and (finished is not None or restart):
        raise ParameterError("--undo stands alone: no --with and no --restart beside it.")
    workspace = Workspace(path)
    folder = watch_folder(workspace)
    remarks: list[str] = []
    given: JsonObject = {
        "target": target,
        "method": method,
        "false_alarms": false_alarms,
        "random_state": seed,
    }
    settings = {name: value for name, value in given.items() if value is not None}
    with workspace.writing(), progress_bar() as show:
        if restart:
            folder.clear()
        if undo is not None:
            remarks.append(_undone(folder, undo, path))
        if folder.started:
            watcher = folder.load()
            _refuse_other_settings(watcher, settings)
        else:
            show("learning what is usual", None)
            watcher, told = begin_watching(workspace, folder, settings, profiles=not no_profiles)
            remarks += told
        if finished is not None:
            show("reading the finished jobs", None)
            remarks += _taken(folder, watcher, finished, source)
        if undo is None:
            folder.go_on(
                watcher,
                lambda done, all_: show(f"watching {all_:,} jobs", 100 * done / max(all_, 1)),
            )
        publish(workspace, watcher)
    log = folder.log.lines()
    if figures is not None:
        standing = folder.log.standing()
        remarks.append(_drawn(watcher, [one for one in log if one["step"] in standing], figures))
    _show(watcher, folder, log, format, remarks)


def _refuse_other_settings(watcher: Watcher, settings: JsonObject) -> None:
    for name, value in settings.items():
        held = getattr(watcher, name)
        if value not in (held, getattr(watcher, f"{name}_", held)):
            option = "seed" if name == "random_state" else name.replace("_", "-")
            raise ParameterError(
                f"--{option} is {value}, but these jobs are watched with {held} since the first "
                "call. Leave the option out, or start again with --restart."
            )


def _undone(folder: WatchFolder, step: int, path: Path) -> str:
    undone = folder.undo(step)
    words = ", ".join(map(str, undone))
    return (
        f"Undone: step {words}. The jobs since then are watched again by: "
        f"prophase watch {as_typed(path)}"
    )


def _taken(folder: WatchFolder, watcher: Watcher, finished: Path, source: str | None) -> list[str]:
    from prophase.cli.model_options import jobs_at

    jobs = jobs_at(finished, source)
    if jobs.empty:
        return [f"{finished}: holds no jobs."]
    # before they are kept: what cannot be watched must not stand in the way of later jobs
    watcher.refuse_other_schema(jobs)
    taken = folder.take(jobs)
    said = [f"{finished}: {taken.new:,} jobs are new."]
    if taken.known:
        said.append(f"{taken.known:,} were known by their job_id and are not counted twice.")
    if taken.repeated:
        said.append(f"{taken.repeated:,} repeat a job_id of the same file and are left out.")
    return said


def _drawn(watcher: Watcher, steps: list[JsonObject], folder: Path) -> str:
    from prophase.plots.drift import write_drift_figures

    if not watcher.chart_:
        return "There is nothing to draw yet: no job has been watched."
    names = write_drift_figures(watcher.chart_, steps, folder)
    return f"Wrote {', '.join(names)} to {folder}."


def _show(
    watcher: Watcher,
    folder: WatchFolder,
    log: list[JsonObject],
    format: Format,
    remarks: list[str],
) -> None:
    from prophase.profile.drift.watch_folder import watch_as_json

    values = watch_as_json(watcher, folder, remarks)
    scopes, standing = watcher.table(), folder.log.standing()
    shown, left_out = _worth_showing(scopes)
    said = [*_said(watcher, values["waiting_jobs"], left_out), *remarks, *_next(standing)]
    result = Result(
        "watch",
        tables=[
            Table("scopes", [_scope_row(one) for one in shown]),
            Table("steps", [_step_row(one, one["step"] in standing) for one in log]),
        ],
        records=[_scope_row(one) for one in scopes],
        notes=said,
        values=values,
    )
    show_result(result, format)


def _worth_showing(scopes: list[JsonObject]) -> tuple[list[JsonObject], str]:
    """Leave out profiles that have too few jobs to be watched alone, and calm ones if many."""
    watched = [one for one in scopes[1:] if one["state"] != "learning"]
    learning = len(scopes) - 1 - len(watched)
    watched.sort(key=lambda one: (one["state"] == "ok", -one["watched_jobs"]))
    calm = max(len(watched) - _MOST_ROWS, 0)
    said = [f"{learning:,} with too few jobs to be watched alone"] if learning else []
    said += [f"{calm:,} more that are as usual"] if calm else []
    words = f"Profiles not shown: {', '.join(said)}." if said else ""
    return [scopes[0], *watched[:_MOST_ROWS]], words


def _said(watcher: Watcher, waiting: int, left_out: str) -> list[str]:
    said = [
        f"{watcher.watched_:,} jobs watched since the history. Error (median factor between "
        f"{watcher.target} and its prediction), outside and new are of the last 1,000 jobs.",
        left_out,
        f"{waiting:,} jobs wait to be watched." if waiting else "",
    ]
    return [one for one in said if one]


def _next(standing: list[int]) -> list[str]:
    return [f"Take the last step back with: --undo {standing[-1]}"] if standing else []


def _scope_row(scope: JsonObject) -> JsonObject:
    levels = {name: level for name, level in scope["levels"].items() if level is not None}
    nearest = max(levels, key=lambda name: levels[name]) if levels else None
    known = scope["jobs"] > 0
    return {
        "scope": scope["scope"] if scope["scope"] == "overall" else f"profile {scope['scope']}",
        "state": scope["state"],
        "watched": scope["watched_jobs"],
        "error_factor": round(math.exp(scope["error"]), 2) if known else None,
        "outside_pct": round(100 * scope["outside"], 1) if known else None,
        "new_pct": round(100 * scope["new"], 1) if known else None,
        "to_alarm_pct": round(100 * levels[nearest]) if nearest else None,
        "by": nearest if nearest and levels[nearest] > 0 else None,
    }


def _step_row(step: JsonObject, stands: bool) -> JsonObject:
    if step["kind"] == "undo":
        undone = ", ".join(map(str, step["undoes"]))
        return {"step": step["step"], "kind": "undo", "at_job": step["jobs"], "what": undone}
    repair = step["repair"] or {}
    action = repair.get("action", "")
    if action == "rescale":
        action = f"old outcomes x {repair['factor']:.2g}"
    profiles = [
        f"{word} {', '.join(map(str, step[word]))}" for word in ("retired", "new") if step[word]
    ]
    return {
        "step": step["step"],
        "kind": step["kind"] if stands else f"{step['kind']}, undone",
        "at_job": step["jobs"],
        "since_job": step["since_jobs"],
        "what": step["reason"].split(":")[0],
        "whose": step["culprit"],
        "error_before": round(math.exp(step["before"]["error"]), 2),
        "error_since": round(math.exp(step["since"]["error"]), 2),
        "predictor": action,
        "profiles": "; ".join(profiles),
    }
