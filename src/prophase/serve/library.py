"""What a service keeps in memory of its workspace, replaced in one step when files change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from prophase.errors import ProphaseError
from prophase.profile.places import CLASSIFIER, PREDICTIONS, PROFILES
from prophase.serve.problems import Problem
from prophase.trace.workspace import INDEX, TableEntry, Workspace

if TYPE_CHECKING:
    import pandas as pd

    from prophase.profile.classify import ProfileClassifier
    from prophase.profile.clusters.profiler import WorkloadProfiler
    from prophase.profile.predict.job_model import JobModel

T = TypeVar("T")
#: what a part of the workspace looks like from outside: time, size and inode of its file
Stamp = tuple[int, int, int] | None
#: name of a model -> its file in the workspace
MODELS = {"predictions": PREDICTIONS, "classifier": CLASSIFIER, "profiles": PROFILES}


@dataclass(frozen=True)
class Held:
    """A workspace as it was loaded at one moment; never changed afterwards."""

    workspace: Workspace
    tables: Mapping[str, TableEntry]
    models: Mapping[str, Any]
    #: model -> why its file is not used
    broken: Mapping[str, ProphaseError]
    stamps: Mapping[str, Stamp]
    loaded_at: str
    _answers: dict[Any, Any] = field(default_factory=dict, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @property
    def model(self) -> JobModel:
        """Return what predicts, or say how to learn it."""
        found: JobModel = self._model("predictions", "prophase learn")
        return found

    @property
    def profiler(self) -> WorkloadProfiler:
        """Return the profiles, or say how to learn them."""
        found: WorkloadProfiler = self._model("profiles", "prophase profile fit")
        return found

    @property
    def classifier(self) -> ProfileClassifier | None:
        """Return what tells the profile of a job from its metadata, if it was learnt."""
        return self.models.get("classifier")

    def table(self, name: str) -> pd.DataFrame:
        """Return a table; read at its first use. Never change what is returned."""
        return self.answer(("table", name), lambda: self.workspace.read(name))

    def answer(self, key: Any, make: Callable[[], T]) -> T:
        """Return what ``make`` gives, made once for as long as the workspace stays the same."""
        with self._lock:
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


class Library:
    """Keeps a ``Held`` and replaces it when the workspace has changed.

    Parameters
    ----------
    folder : path
        The workspace.

    Examples
    --------
    >>> Workspace.create(getfixture("tmp_path") / "ws").folder.name
    'ws'
    >>> library = Library(getfixture("tmp_path") / "ws")
    >>> sorted(library.now.models), library.reload()
    ([], False)
    """

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace(folder)
        self._reloading = threading.Lock()
        self._now = self._load(None)

    @property
    def now(self) -> Held:
        """Return the workspace as it is loaded; hold on to it for the whole of one answer."""
        return self._now

    def reload(self, *, force: bool = False) -> bool:
        """Load what has changed and switch to it; returns whether something had."""
        with self._reloading:
            before = self._now
            if not force and self._stamps() == before.stamps:
                return False
            self._now = self._load(None if force else before)
            return True

    def _stamps(self) -> dict[str, Stamp]:
        folder = self.workspace.folder
        files = {"tables": folder / INDEX, **{n: folder / p for n, p in MODELS.items()}}
        return {name: _stamp(path) for name, path in files.items()}

    def _load(self, before: Held | None) -> Held:
        stamps = self._stamps()
        models: dict[str, Any] = {}
        broken: dict[str, ProphaseError] = {}
        for name, path in MODELS.items():
            if stamps[name] is None:
                continue
            if before is not None and stamps[name] == before.stamps[name]:
                if name in before.models:
                    models[name] = before.models[name]
                if name in before.broken:
                    broken[name] = before.broken[name]
                continue
            try:
                models[name] = _loaded(name, self.workspace.folder / path)
            except ProphaseError as error:
                broken[name] = error
                # what was loaded before still answers; the status says what is wrong with the file
                if before is not None and name in before.models:
                    models[name] = before.models[name]
        return Held(
            workspace=self.workspace,
            tables=self.workspace.tables,
            models=models,
            broken=broken,
            stamps=stamps,
            loaded_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _loaded(name: str, path: Path) -> Any:
    if name == "predictions":
        from prophase.profile.predict.job_model import JobModel

        return JobModel.load(path)
    if name == "classifier":
        from prophase.profile.classify import ProfileClassifier

        return ProfileClassifier.load(path)
    from prophase.profile.clusters.profiler import WorkloadProfiler

    return WorkloadProfiler.load(path)
