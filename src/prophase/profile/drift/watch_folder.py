"""A watcher in a workspace: survives a kill, counts no job twice, and can be taken back.

    watch/jobs-0001.parquet    finished jobs that were given, in the order they ended
    watch/state.model          the watcher after some of them
    watch/before-0003.model    the same before step 3 touched anything
    watch/steps.jsonl          every step and every undo, one line each, only ever added to

Jobs are written first and the state after every few hundred of them, both in one piece, so
a run that was killed goes on where the state stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from prophase.array_types import Ints
from prophase.atomic_files import write_whole
from prophase.errors import (
    InputError,
    MissingColumnError,
    ModelFileError,
    ParameterError,
    WorkspaceError,
    storage_error,
)
from prophase.json_types import JsonMapping, JsonObject
from prophase.modelfile import load_model, save_model
from prophase.plain import finite
from prophase.plural import counted
from prophase.profile.clusters.default_profiles import ended_jobs
from prophase.profile.clusters.generators.generator_names import paper_generator
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.drift.finished_jobs import in_time_order
from prophase.profile.drift.step_log import StepLog, WatchStep
from prophase.profile.drift.watcher import STRIDE, Watcher
from prophase.profile.predict.packed_objects import Packer, Unpacker
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import PREDICTIONS, PROFILES, WATCH

KIND = "profile.watch"
#: raised when what the state holds changes its meaning
LAYOUT = 3
#: jobs between two checkpoints
_CHECKPOINT = 20 * STRIDE


@dataclass(frozen=True)
class Taken:
    """What became of a table of finished jobs that was given."""

    new: int
    known: int
    repeated: int


class WatchFolder:
    """The watch folder of a workspace.

    Parameters
    ----------
    folder : path
        Where the files are; made when something is written.
    history : DataFrame
        Finished jobs the watcher has learned from.
    history_hash : str
        Says whether the history is still the same.
    """

    def __init__(self, folder: Path | str, history: pd.DataFrame, history_hash: str) -> None:
        self.folder = Path(folder)
        self.history_hash = history_hash
        self.log = StepLog(self.folder / "steps.jsonl")
        self._history = history

    @property
    def started(self) -> bool:
        """Say whether there is a watcher."""
        return self._state.is_file()

    @cached_property
    def history(self) -> pd.DataFrame:
        """The history in the order in which its jobs ended."""
        return in_time_order(_with_ids(self._history, "the history"))

    def start(
        self, settings: JsonMapping | None = None, profiler: WorkloadProfiler | None = None
    ) -> Watcher:
        """Let a new watcher with these settings learn from the history, and keep it."""
        watcher = Watcher(**(settings or {})).fit(self.history, profiler)
        self._write(watcher, self._state)
        return watcher

    def clear(self) -> None:
        """Remove everything that was watched."""
        try:
            for path in (*self.folder.glob("*.model"), *self._batches()):
                path.unlink(missing_ok=True)
            self.log.clear()
        except OSError as cause:
            raise storage_error(cause, self.folder) from cause

    def take(self, finished: pd.DataFrame) -> Taken:
        """Keep further finished jobs; those that were given before are left out by their job_id."""
        jobs = _with_ids(finished, "the finished jobs")
        held = set(self.history["job_id"].astype(str)) | set(self.given()["job_id"].astype(str))
        ids = jobs["job_id"].astype(str)
        repeated = ids.duplicated().to_numpy()
        known = ids.isin(held).to_numpy() & ~repeated
        fresh = in_time_order(jobs[~known & ~repeated])
        if len(fresh):
            number = len(self._batches()) + 1
            target = self.folder / f"jobs-{number:04d}.parquet"
            # whole or not at all: half a batch would be read at every later start
            write_whole(target, fresh.to_parquet(compression="zstd", index=False))
        return Taken(len(fresh), int(known.sum()), int(repeated.sum()))

    def given(self) -> pd.DataFrame:
        """Return all finished jobs that were given, in the order they are watched."""
        parts = [pd.read_parquet(path) for path in self._batches()]
        if not parts:
            return self.history.iloc[:0]
        return pd.concat(parts, ignore_index=True)

    def load(self) -> Watcher:
        """Return the watcher as it stands; jobs that still wait are not watched yet."""
        watcher = self._read(self._state)
        logged = self.log.lines()
        numbers = {entry["step"] for entry in logged}
        # a run killed between the state and the log left its last steps out
        self.log.add([one for one in watcher.steps_ if one.step not in numbers])
        used = [number for entry in logged for number in entry.get("new", ())]
        watcher.next_step_ = max([watcher.next_step_ - 1, *numbers]) + 1
        watcher.next_profile_ = max([watcher.next_profile_ - 1, *used]) + 1
        return watcher

    def go_on(
        self, watcher: Watcher, progress: Callable[[int, int], None] = lambda done, all_: None
    ) -> list[WatchStep]:
        """Watch all jobs that wait, with a checkpoint every few hundred."""
        given = self.given()
        waiting = given.iloc[watcher.watched_ :]
        total = len(waiting)
        begun = saved = watcher.watched_
        made: list[WatchStep] = []

        def checkpoint(steps: list[WatchStep]) -> None:
            nonlocal saved
            done = watcher.watched_ - begun
            if steps or watcher.watched_ - saved >= _CHECKPOINT or done == total:
                self._write(watcher, self._state)
                self.log.add(steps)
                saved = watcher.watched_
            made.extend(steps)
            progress(done, total)

        def keep(step: int) -> None:
            self._write(watcher, self._before(step))

        # batches were put in order when they were given; a late one does not move earlier rows
        for _, batch in waiting.groupby(self._batch_of(given)[watcher.watched_ :], sort=True):
            watcher.update(batch, before_step=keep, after_stride=checkpoint)
        return made

    def undo(self, step: int) -> list[int]:
        """Go back to what was before a step, byte by byte; returns all steps that are undone.

        Steps after it built on it and are undone as well. The change it answered counts as
        the new usual. Jobs watched since then wait to be watched again.
        """
        standing = self.log.standing()
        if step not in standing:
            known = ", ".join(map(str, standing)) or "none"
            raise ParameterError(f"there is no step {step} to undo. Steps that stand: {known}.")
        source = self._before(step)
        if not source.is_file():
            raise WorkspaceError(f"{source}: is missing, so step {step} cannot be undone.")
        load_model(source, kind=KIND)
        write_whole(self._state, source.read_bytes())
        undone = [number for number in standing if number >= step]
        self.log.undone(undone, jobs=self._read(self._state).watched_)
        return undone

    @property
    def _state(self) -> Path:
        return self.folder / "state.model"

    def _before(self, step: int) -> Path:
        return self.folder / f"before-{step:04d}.model"

    def _batches(self) -> list[Path]:
        return sorted(self.folder.glob("jobs-[0-9]*.parquet"))

    def _batch_of(self, given: pd.DataFrame) -> Ints:
        import pyarrow.parquet as pq

        sizes = [pq.read_metadata(path).num_rows for path in self._batches()]
        return np.repeat(np.arange(len(sizes)), sizes)[: len(given)]

    def _write(self, watcher: Watcher, target: Path) -> None:
        packer = Packer()
        save_model(
            target,
            kind=KIND,
            meta={
                "layout": LAYOUT,
                "history": self.history_hash,
                "watcher": packer.pack(watcher.to_state()),
            },
            arrays=packer.arrays,
            blobs=packer.blobs,
            data_hash=watcher.records_.data_hash,
            seed=watcher.random_state,
        )

    def _read(self, source: Path) -> Watcher:
        held = load_model(source, kind=KIND)
        if held.meta.get("layout") != LAYOUT:
            raise ModelFileError(
                f"{source}: was written by Prophase {held.version} with another layout. Start "
                "over with --restart."
            )
        if held.meta.get("history") != self.history_hash:
            raise WorkspaceError(
                f"{source}: watches other jobs than the workspace holds now; they were imported "
                "again. Start over with --restart."
            )
        try:
            state = Unpacker(held.arrays, held.blobs).unpack(held.meta["watcher"])
            given = self.given()
            if len(given) < state["watched_"]:
                raise WorkspaceError(
                    f"{self.folder}: some of the {counted(state['watched_'], 'watched job')} are "
                    "missing. Restore jobs-*.parquet, or start over with --restart."
                )
            rows = pd.concat([self.history, given.iloc[: state["watched_"]]], ignore_index=True)
            return Watcher.from_state(state, rows)
        except (KeyError, TypeError, ValueError, AttributeError) as cause:
            raise ModelFileError(
                f"{source}: cannot be put together again: {cause}. Start over with --restart."
            ) from cause


def _with_ids(jobs: pd.DataFrame, what: str) -> pd.DataFrame:
    if "job_id" not in jobs:
        raise MissingColumnError(
            f"{what} have no job_id, by which a job is known again. Give each job one."
        )
    if jobs["job_id"].isna().any():
        lacking = int(jobs["job_id"].isna().sum())
        raise InputError(f"{what}: {counted(lacking, 'row has', 'rows have')} no job_id.")
    return jobs


def watch_folder(workspace: Workspace) -> WatchFolder:
    """Return where the workspace keeps its watcher."""
    entry = workspace.tables.get("jobs")
    history = workspace.read("jobs")
    assert entry is not None
    return WatchFolder(workspace.folder / WATCH, history, entry.table_hash)


def begin_watching(
    workspace: Workspace,
    folder: WatchFolder,
    settings: JsonMapping | None = None,
    *,
    profiles: bool = True,
) -> tuple[Watcher, list[str]]:
    """Let a new watcher learn what is usual in a workspace; returns it, and what to remark.

    Parameters
    ----------
    profiles : bool, default=True
        Watch profiles beside predictions, if the jobs record what they use.
    """
    Watcher(**(settings or {})).refuse_short(workspace.read("jobs"))
    profiler, remarks = profiles_to_watch(workspace) if profiles else (None, [])
    return folder.start(settings, profiler), remarks


def profiles_to_watch(workspace: Workspace) -> tuple[WorkloadProfiler | None, list[str]]:
    """Return the profiles of the workspace, or new ones; none if its jobs record no usage."""
    if (workspace.folder / PROFILES).is_file():
        found = WorkloadProfiler.load(workspace.folder / PROFILES)
    else:
        try:
            ended = ended_jobs(workspace.read("jobs")).jobs
            # narrow groups show a change that wide ones swallow
            found = WorkloadProfiler(paper_generator(len(ended))).fit(ended)
        except MissingColumnError as error:
            return None, [f"Only predictions are watched: {error}"]
    if all(one.outliers for one in found.profiles_):
        return None, [
            "Only predictions are watched: every job is an outlier, so none has a profile."
        ]
    return found, []


def watch_as_json(
    watcher: Watcher, folder: WatchFolder, remarks: list[str] | None = None
) -> JsonObject:
    """Return how right predictions and profiles are, and what was done about it."""
    scopes, standing = watcher.table(), folder.log.standing()
    status: JsonObject = finite(
        {
            "target": watcher.target,
            "method": watcher.method_,
            "seed": watcher.random_state,
            "data_hash": watcher.records_.data_hash,
            "watched_jobs": watcher.watched_,
            "waiting_jobs": len(folder.given()) - watcher.watched_,
            "state": scopes[0]["state"],
            "scopes": scopes,
            "steps": [{**one, "stands": one["step"] in standing} for one in folder.log.lines()],
            "remarks": remarks or [],
        }
    )
    return status


def publish(workspace: Workspace, watcher: Watcher) -> None:
    """Let others use what was kept right: the profiles, and a predictor they have."""
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
