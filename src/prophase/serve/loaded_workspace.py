"""A workspace in memory, replaced in one step when its files change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from prophase.errors import ProphaseError
from prophase.json_types import JsonMapping, JsonObject
from prophase.serve.problems import Problem
from prophase.study.feedback.store import FeedbackStore
from prophase.trace.workspace import INDEX, TableEntry, Workspace
from prophase.trace.workspace_paths import (
    BINS,
    CLASSIFIER,
    PHASES,
    PREDICTIONS,
    PROFILES,
    REQUESTS,
)

if TYPE_CHECKING:
    import pandas as pd

    from prophase.phase.detector import PhaseDetector
    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.clusters.profiler import WorkloadProfiler
    from prophase.profile.clusters.profiles import Profile
    from prophase.profile.predict.job_model import JobModel
    from prophase.sizing.bins.pipeline_bins import PipelineBins
    from prophase.study.feedback.updated_models import LiveSummaries


#: what a file looks like from outside: time, size and inode; None if it is not there
Stamp = tuple[int, int, int] | None
#: name of a model -> its file in the workspace
MODELS = {
    "predictions": PREDICTIONS,
    "classifier": CLASSIFIER,
    "profiles": PROFILES,
    "phases": PHASES,
    "requests": REQUESTS,
    "bins": BINS,
}


def stamps_of(folder: Path) -> dict[str, Stamp]:
    """Return how the list of tables and each model look now."""
    files = {"tables": folder / INDEX, **{n: folder / p for n, p in MODELS.items()}}
    return {name: _stamp(path) for name, path in files.items()}


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def load_model_of(name: str, path: Path) -> Any:
    """Return a model of :data:`MODELS`; a damaged or foreign file is refused."""
    if name == "predictions":
        from prophase.profile.predict.job_model import JobModel

        return JobModel.load(path)
    if name == "classifier":
        from prophase.profile.classify.classifier import ProfileClassifier

        return ProfileClassifier.load(path)
    if name == "phases":
        from prophase.phase.detector import PhaseDetector

        return PhaseDetector.load(path)
    if name == "requests":
        from prophase.sizing.recommender import Recommender

        return Recommender.load(path)
    if name == "bins":
        from prophase.sizing.bins.pipeline_bins import PipelineBins

        return PipelineBins.load(path)
    from prophase.profile.clusters.profiler import WorkloadProfiler

    return WorkloadProfiler.load(path)


# What a service keeps in memory of its workspace, replaced in one step when files change.
#
# Reported jobs are learnt from as well: a copy of the model learns, then takes the model's place.


T = TypeVar("T")


@dataclass(frozen=True)
class LoadedWorkspace:
    """A workspace as it was loaded at one moment; never changed afterwards."""

    workspace: Workspace
    tables: Mapping[str, TableEntry]
    models: JsonMapping
    #: model -> why its file is not used
    broken: Mapping[str, ProphaseError]
    stamps: Mapping[str, Stamp]
    loaded_at: str
    #: reported jobs that the model has learnt from, by the number of the last
    reported: int = 0
    #: the same for recommended requests
    sized: int = 0
    _answers: dict[Any, Any] = field(default_factory=dict, repr=False)
    _locks: dict[Any, threading.Lock] = field(default_factory=dict, repr=False)

    @property
    def model(self) -> JobModel:
        """Return what predicts, or say how to learn it."""
        found: JobModel = self._model("predictions", "prophase learn")
        return found

    @property
    def profiler(self) -> WorkloadProfiler:
        """Return the profiles as they were learnt, or say how to learn them."""
        found: WorkloadProfiler = self._model("profiles", "prophase profile fit")
        return found

    @property
    def phases(self) -> PhaseDetector:
        """Return what finds phases, or say how to learn it."""
        found: PhaseDetector = self._model("phases", "prophase phase fit")
        return found

    @property
    def bins(self) -> PipelineBins:
        """Return the trained bins, or say how to train them."""
        found: PipelineBins = self._model("bins", "prophase size bins")
        return found

    @property
    def classifier(self) -> ProfileClassifier | None:
        """Return what tells the profile of a job from its metadata, if it was learnt."""
        return self.models.get("classifier")

    def table(self, name: str) -> pd.DataFrame:
        """Return a table; read at its first use. Never change what is returned."""
        return self.answer(("table", name), lambda: self.workspace.read(name))

    def answer(self, key: Any, make: Callable[[], T]) -> T:
        """Return what ``make`` gives, made once for as long as the files stay the same.

        Whoever asks for the same meanwhile waits; other answers are not held up.
        """
        if key not in self._answers:
            with self._locks.setdefault(key, threading.Lock()):
                if key not in self._answers:
                    self._answers[key] = make()
        found: T = self._answers[key]
        return found

    def _model(self, name: str, how: str) -> Any:
        if name in self.models:
            return self.models[name]
        if name in self.broken:
            raise self.broken[name]
        folder = self.workspace.folder
        raise Problem(409, f"{folder.name}: has no {name} yet. Learn with: {how} {folder.name}")


class WorkspaceCache:
    """Keeps a ``LoadedWorkspace`` and replaces it when files have changed or jobs were reported.

    Parameters
    ----------
    folder : path
        The workspace.

    Examples
    --------
    >>> Workspace.create(getfixture("tmp_path") / "ws").folder.name
    'ws'
    >>> library = WorkspaceCache(getfixture("tmp_path") / "ws")
    >>> sorted(library.now.models), library.reload()
    ([], False)
    """

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace(folder)
        self.feedback = FeedbackStore(folder)
        self._changing = threading.Lock()
        self._counting = threading.Lock()
        self._live: tuple[WorkloadProfiler, LiveSummaries, int] | None = None
        self._now = self._load(None)

    @property
    def now(self) -> LoadedWorkspace:
        """Return the workspace as it is loaded; hold on to it for the whole of one answer."""
        return self._now

    def reload(self, *, force: bool = False) -> bool:
        """Load what has changed and switch to it; returns whether something had."""
        with self._changing:
            before = self._now
            if not force and stamps_of(self.workspace.folder) == before.stamps:
                return False
            self._now = self._load(None if force else before)
            return True

    def learn_reported(self) -> int:
        """Let the models learn from jobs reported since; returns how many were new to one."""
        with self._changing:
            return max(self._predictions_learn(), self._requests_learn())

    def _predictions_learn(self) -> int:
        held = self._now
        if "predictions" not in held.models:
            return 0
        rows = self.feedback.since(held.reported)
        if not rows:
            return 0
        model = held.model
        from prophase.study.feedback.updated_models import known_jobs, learnt_from_each

        known: dict[str, frozenset[str]] = {}
        entry = held.tables.get("jobs")
        if entry is not None and model.data_hash == entry.source_hash:
            known = held.answer(
                "jobs the model knows",
                lambda: known_jobs(model, held.table("jobs"), self.workspace.folder),
            )
        later = learnt_from_each(model, [job for _, job in rows], known)
        models = {**held.models, "predictions": later}
        self._now = replace(held, models=models, reported=rows[-1][0])
        return len(rows)

    def _requests_learn(self) -> int:
        held = self._now
        if "requests" not in held.models:
            return 0
        rows = self.feedback.since(held.sized)
        if not rows:
            return 0
        from prophase.study.feedback.updated_models import observed_by

        entry = held.tables.get("jobs")
        recommender = held.models["requests"]
        known: frozenset[str] = frozenset()
        if entry is not None and recommender.data_hash == entry.source_hash:
            known = frozenset(held.table("jobs")["job_id"].astype(str))
        later = observed_by(recommender, [job for _, job in rows], known)
        self._now = replace(held, models={**held.models, "requests": later}, sized=rows[-1][0])
        return len(rows)

    def profiles(self, held: LoadedWorkspace) -> list[Profile]:
        """Return the profiles with every reported job counted in."""
        profiler = held.profiler
        if not self.feedback.count or "jobs" not in held.tables:
            return list(profiler.profiles_)
        from prophase.study.feedback.updated_models import LiveSummaries

        with self._counting:
            if self._live is None or self._live[0] is not profiler:
                made = LiveSummaries(profiler, held.classifier, held.table("jobs"))
                self._live = (profiler, made, 0)
            _, summaries, upto = self._live
            rows = self.feedback.since(upto)
            summaries.add([job for _, job in rows])
            self._live = (profiler, summaries, rows[-1][0] if rows else upto)
            return summaries.profiles()

    def close(self) -> None:
        """Finish what is being written."""
        self.feedback.close()

    def _load(self, before: LoadedWorkspace | None) -> LoadedWorkspace:
        """Load every model whose file is not the one that is loaded."""
        folder = self.workspace.folder
        stamps = stamps_of(folder)
        models: JsonObject = {}
        broken: dict[str, ProphaseError] = {}
        kept = set()
        for name, path in MODELS.items():
            if stamps[name] is None:
                continue
            if before is not None and stamps[name] == before.stamps[name]:
                kept.add(name)
                models |= {name: before.models[name]} if name in before.models else {}
                broken |= {name: before.broken[name]} if name in before.broken else {}
                continue
            try:
                models[name] = load_model_of(name, folder / path)
            except ProphaseError as error:
                broken[name] = error
                # what was loaded before still answers; the status says what is wrong with the file
                if before is not None and name in before.models:
                    models[name] = before.models[name]
                    kept.add(name)
        return LoadedWorkspace(
            workspace=self.workspace,
            tables=self.workspace.tables,
            models=models,
            broken=broken,
            stamps=stamps,
            loaded_at=datetime.now(UTC).isoformat(timespec="seconds"),
            # a model that was read again has not seen a reported job yet
            reported=before.reported if before is not None and "predictions" in kept else 0,
            sized=before.sized if before is not None and "requests" in kept else 0,
        )
