"""prophase watch: are predictions and profiles still right?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.output import Format, FormatOption, as_typed, emit, finite, progress_bar
from prophase.cli.trace_options import SourceOption
from prophase.errors import ParameterError

if TYPE_CHECKING:
    from prophase.profile.clusters.profiler import WorkloadProfiler
    from prophase.profile.drift.store import WatchFolder
    from prophase.profile.drift.watcher import Watcher
    from prophase.trace.workspace import Workspace


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
    target: Annotated[
        str, typer.Option(help="At the first call: column that is predicted and watched.")
    ] = "duration_s",
    method: Annotated[
        str, typer.Option(help="At the first call: how to predict; see prophase evaluate.")
    ] = "default",
    no_profiles: Annotated[
        bool, typer.Option("--no-profiles", help="At the first call: watch predictions alone.")
    ] = False,
    false_alarms: Annotated[
        float, typer.Option(help="At the first call: false alarms per job to aim at.")
    ] = 2e-5,
    restart: Annotated[
        bool, typer.Option("--restart", help="Forget what was watched and begin anew.")
    ] = False,
    figures: Annotated[
        Path | None, typer.Option(help="Write the monitors' charts to this folder.")
    ] = None,
    seed: Annotated[int, typer.Option(help="At the first call: seed of everything random.")] = 0,
    source: SourceOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Watch finished jobs against their predictions; notice changes and mend what broke.

    The first call learns from the workspace what is usual. Each further one takes finished jobs,
    in any number, and each job once. After an alarm only what broke is learnt anew, and every step
    can be undone. A run that was killed goes on where it stopped.

    Examples:

    `prophase watch ws`

    `prophase watch ws --with finished.csv --figures charts`

    `prophase watch ws --undo 3`
    """
    from prophase.profile.drift.store import WatchFolder
    from prophase.trace.workspace import Workspace

    if undo is not None and (finished is not None or restart):
        raise ParameterError("--undo stands alone: no --with and no --restart beside it.")
    workspace = Workspace(path)
    history = workspace.read("jobs")
    folder = WatchFolder(path / "watch", history, workspace.tables["jobs"].table_hash)
    remarks: list[str] = []
    with workspace.writing(), progress_bar() as show:
        if restart:
            folder.clear()
        if undo is not None:
            remarks.append(_undone(folder, undo, path))
        if folder.started:
            watcher = folder.load()
        else:
            show("learning what is usual", None)
            settings: Any = {
                "target": target, "method": method,
                "false_alarms": false_alarms, "random_state": seed,
            }  # fmt: skip
            profiler = None if no_profiles else _profiles(workspace, path, remarks)
            watcher = folder.start(settings, profiler)
        if finished is not None:
            show("reading the finished jobs", None)
            remarks += _taken(folder, finished, source)
        if undo is None:
            folder.go_on(
                watcher,
                lambda done, all_: show(f"watching {all_:,} jobs", 100 * done / max(all_, 1)),
            )
        _publish(workspace, watcher)
    standing = folder.standing()
    steps = [one for one in folder.log() if one["step"] in standing]
    if figures is not None:
        remarks.append(_drawn(watcher, steps, figures))
    _show(watcher, folder, steps, format, remarks)


def _undone(folder: WatchFolder, step: int, path: Path) -> str:
    undone = folder.undo(step)
    words = ", ".join(map(str, undone))
    return (
        f"Undone: step {words}. The jobs since then are watched again by: "
        f"prophase watch {as_typed(path)}"
    )


def _taken(folder: WatchFolder, finished: Path, source: str | None) -> list[str]:
    from prophase.trace.loading import open_trace

    taken = folder.take(open_trace(finished, source=source, tables=["jobs"]).jobs)
    said = [f"{finished}: {taken.new:,} jobs are new."]
    if taken.known:
        said.append(f"{taken.known:,} were known by their job_id and are not counted twice.")
    if taken.repeated:
        said.append(f"{taken.repeated:,} repeat a job_id of the same file and are left out.")
    return said


def _profiles(workspace: Workspace, path: Path, remarks: list[str]) -> WorkloadProfiler | None:
    """Return the profiles of the workspace, or new ones; none if its jobs record no usage."""
    from prophase.cli.profile.places import IN_WORKSPACE
    from prophase.errors import MissingColumnError
    from prophase.profile.clusters.profiler import WorkloadProfiler
    from prophase.profile.clusters.selecting import ended_jobs

    if (path / IN_WORKSPACE).is_file():
        return WorkloadProfiler.load(path / IN_WORKSPACE)
    try:
        return WorkloadProfiler().fit(ended_jobs(workspace.read("jobs")).jobs)
    except MissingColumnError as error:
        remarks.append(f"Only predictions are watched: {error}")
        return None


def _publish(workspace: Workspace, watcher: Watcher) -> None:
    """Let other commands use what was kept right: the profiles, and a predictor they have."""
    from dataclasses import replace

    from prophase.cli.learnt_model import IN_WORKSPACE as PREDICTIONS
    from prophase.cli.profile.places import IN_WORKSPACE as PROFILES
    from prophase.profile.predict.job_model import JobModel

    profiler = watcher.profiles()
    if profiler is not None:
        profiler.save(workspace.folder / PROFILES)
    saved = workspace.folder / PREDICTIONS
    if not saved.is_file():
        return
    model = JobModel.load(saved)
    same = model.data_hash == workspace.tables["jobs"].source_hash
    if same and watcher.target in model.predictors and model.method == watcher.method_:
        predictors = {**model.predictors, watcher.target: watcher.predictor_}
        replace(model, predictors=predictors).save(saved)


def _drawn(watcher: Watcher, steps: list[dict[str, Any]], folder: Path) -> str:
    from prophase.plots.drift import write_drift_figures

    if not watcher.chart_:
        return "There is nothing to draw yet: no job has been watched."
    names = write_drift_figures(watcher.chart_, steps, folder)
    return f"Wrote {', '.join(names)} to {folder}."


def _show(
    watcher: Watcher,
    folder: WatchFolder,
    steps: list[dict[str, Any]],
    format: Format,
    remarks: list[str],
) -> None:
    monitors = watcher.monitor_.table()
    quality = watcher.records_.quality(len(watcher.records_) - 1_000)
    waiting = len(folder.given()) - watcher.watched_
    document = {
        "target": watcher.target,
        "method": watcher.method_,
        "watched_jobs": watcher.watched_,
        "waiting_jobs": waiting,
        "state": monitors[0]["state"],
        "recent": quality,
        "monitors": monitors,
        "steps": steps,
        "log": folder.log(),
        "remarks": remarks,
    }
    if format is not Format.table:
        emit(_rows(monitors), format, document=finite(document))
        return
    emit(_rows(monitors), format)
    typer.echo()
    if steps:
        emit([_step_row(one) for one in steps], format)
        typer.echo()
    said = [
        "Numbers are the way to an alarm, in percent.",
        f"{watcher.watched_:,} jobs watched. Of the last {quality['jobs']:,} jobs half are "
        f"predicted within a factor of {2.718281828 ** quality['error']:.2f}, "
        f"{quality['outside']:.1%} lie outside their range.",
        *remarks,
    ]
    if waiting:
        said.append(f"{waiting:,} jobs wait to be watched.")
    if steps:
        said.append(f"Take a step back with: --undo {steps[-1]['step']}")
    typer.echo("\n".join(said))


def _rows(monitors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: round(100 * item) if isinstance(item, float) else item for name, item in row.items()}
        for row in monitors
    ]


def _step_row(step: dict[str, Any]) -> dict[str, Any]:
    repair = step["repair"] or {}
    action = repair.get("action", "")
    if action == "rescale":
        action = f"old outcomes x {repair['factor']:.2g}"
    profiles = [
        f"{word} {', '.join(map(str, step[word]))}" for word in ("retired", "new") if step[word]
    ]
    return {
        "step": step["step"],
        "kind": step["kind"],
        "jobs": step["jobs"],
        "since": step["since_jobs"],
        "reason": step["reason"].split(":")[0],
        "whose": step["culprit"],
        "predictor": action,
        "profiles": "; ".join(profiles),
    }
