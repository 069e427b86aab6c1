"""Train every model a workspace answers from, with the settings of its prophase.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prophase import units
from prophase.errors import ModelFileError, ParameterError, not_among
from prophase.json_types import JsonMapping, JsonObject
from prophase.sizing.recommender import Gate
from prophase.trace.trace_tables import Trace, open_trace
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import CLASSIFIER, PREDICTIONS, PROFILES, REQUESTS

if TYPE_CHECKING:
    from prophase.profile.predict.job_model import JobModel


#: receives what is being done, and the progress in percent if that is known
Show = Callable[[str, float | None], None]


@dataclass(frozen=True)
class LearnedModels:
    """What was learnt, and where it is kept."""

    #: file of the predictions
    path: Path
    checksum: str
    model: JobModel
    #: whether jobs can get a recommended request
    requests: bool = False
    #: whether the profile of a job can be predicted from its metadata
    profiles: bool = False

    def targets(self) -> list[JsonObject]:
        """Return a row per target: how many jobs and kinds of job it was learnt from."""
        return self.model.target_rows()

    def to_dict(self) -> JsonObject:
        """Return what was learnt, for JSON."""
        return {
            "model": str(self.path),
            "checksum": self.checksum,
            **self.model.to_dict(),
            "requests": self.requests,
            "profiles": self.profiles,
        }


def learn_models(
    workspace: Path | str,
    targets: Sequence[str] | None = None,
    *,
    method: str = "default",
    seed: int = 0,
    show: Show = lambda step, percent: None,
) -> LearnedModels:
    """Learn all that new jobs of a workspace are answered from, and keep it there.

    These are predictions of duration and use, what each task should ask for (as daring as
    ``[requests]`` of its prophase.toml allows), and how to tell profiles by metadata if it has
    profiles.

    Parameters
    ----------
    workspace : path
        Folder with a job table.
    targets : sequence of str, optional
        Columns to predict; duration and every usage column with values if not given.
    method : str, default="default"
        How predictions are made; one of ``METHODS``.
    seed : int, default=0
        Seed of every method.

    Examples
    --------
    >>> from prophase.trace.synth.pai import make_pai
    >>> from prophase.trace.workspace import Workspace
    >>> folder = getfixture("tmp_path") / "ws"
    >>> held = Workspace.create(folder)
    >>> made = make_pai(200, days=1.0, random_state=0)
    >>> _ = held.store_frames(made.tables, source="synth", source_hash=made.data_hash)
    >>> learn_models(folder, ["duration_s"], method="backoff-median").targets()[0]["target"]
    'duration_s'
    """
    folder = Path(workspace)
    show("reading the history", None)
    trace = open_trace(folder, tables=["jobs"])
    kept = learn_predictions(
        trace, folder / PREDICTIONS, targets, method=method, seed=seed, show=show
    )
    return LearnedModels(
        kept.path,
        kept.checksum,
        kept.model,
        requests=_learn_requests(folder, trace, show),
        profiles=_learn_to_tell_profiles(folder, trace, seed, show),
    )


def saved_predictions(
    workspace: Path | str,
    targets: Sequence[str] | None = None,
    *,
    method: str = "default",
    seed: int = 0,
) -> tuple[JobModel | None, str]:
    """Return the model that a workspace keeps, or why it does not answer the question."""
    from prophase.profile.predict.job_model import JobModel
    from prophase.profile.predict.methods import DEFAULT

    folder = Path(workspace)
    if not (folder / PREDICTIONS).is_file():
        return None, "there is none"
    held = Workspace(folder).tables.get("jobs") if Workspace.is_at(folder) else None
    try:
        found = JobModel.load(folder / PREDICTIONS)
    except ModelFileError as error:
        return None, str(error).rstrip(".")
    wanted = DEFAULT if method == "default" else method
    if held is None or found.data_hash != held.source_hash:
        return None, "it was learnt from other jobs than the workspace holds now"
    if found.method != wanted or found.random_state != seed:
        return None, f"it was learnt with {found.method} and seed {found.random_state}"
    missing = [name for name in targets or () if name not in found.targets]
    if missing:
        return None, f"it has not learnt {', '.join(missing)}"
    return found, ""


def learn_predictions(
    trace: Trace,
    path: Path,
    targets: Sequence[str] | None = None,
    *,
    method: str = "default",
    seed: int = 0,
    show: Show = lambda step, percent: None,
) -> LearnedModels:
    """Learn predictions alone from any trace, and keep them in a file."""
    from prophase.profile.predict.job_model import learn

    model = learn(
        trace.jobs,
        targets,
        method=method,
        random_state=seed,
        data_hash=trace.data_hash,
        progress=lambda name: show(f"learning {name}", None),
    )
    show("writing the model", None)
    return LearnedModels(path, model.save(path), model)


def _learn_requests(folder: Path, trace: Trace, show: Show) -> bool:
    """Learn what each task should ask for, as far as peaks and requests are known."""
    from prophase.sizing.recommendation_file import learn_recommendations
    from prophase.trace.workspace import Workspace

    risk, gate = request_settings(Workspace(folder).settings)
    found = learn_recommendations(
        trace.jobs,
        risk=risk,
        gate=gate,
        data_hash=trace.data_hash,
        progress=lambda step: show(step, None),
    )
    found.save(folder / REQUESTS)
    return bool(found.by_resource)


def _learn_to_tell_profiles(folder: Path, trace: Trace, seed: int, show: Show) -> bool:
    """Learn to tell the profiles of a workspace by metadata, if it has some."""
    if not (folder / PROFILES).is_file():
        return False
    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.clusters.default_profiles import ended_jobs
    from prophase.profile.clusters.profiler import WorkloadProfiler

    show("learning to tell profiles", None)
    known = WorkloadProfiler.load(folder / PROFILES).recognise(ended_jobs(trace.jobs).jobs)
    found = ProfileClassifier(random_state=seed).fit(known.jobs, known.labels)
    found.save(folder / CLASSIFIER)
    return True


_KNOWN = ("risk", "min_saving", "min_runs", "max_oom")


def request_settings(settings: JsonMapping) -> tuple[float, Gate]:
    """Return risk and gate of a workspace, those of ``prophase size`` unless it says otherwise.

    Examples
    --------
    >>> request_settings({"requests": {"risk": "2%", "min_saving": "20%"}})
    (0.02, Gate(fewest_runs=10, least_saving=0.2, most_oom=None))
    """
    held = settings.get("requests", {})
    if not isinstance(held, Mapping):
        raise ParameterError(
            "prophase.toml: requests is a table: write [requests] above its lines."
        )
    for name in held:
        if name not in _KNOWN:
            raise ParameterError(
                not_among(f"prophase.toml: [requests] knows no {name!r}.", name, _KNOWN)
            )
    usual = Gate()
    runs = held.get("min_runs", usual.fewest_runs)
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 1:
        raise ParameterError(f"prophase.toml: min_runs is {runs!r}, but is a whole number of 1 up.")
    most = held.get("max_oom")
    return _share(held, "risk", 0.01), Gate(
        fewest_runs=runs,
        least_saving=_share(held, "min_saving", usual.least_saving),
        most_oom=None if most is None else _share(held, "max_oom", 0.0),
    )


def _share(held: JsonMapping, name: str, usual: float) -> float:
    said = held.get(name)
    return usual if said is None else units.parse_share(str(said), where=f"prophase.toml: {name}")
