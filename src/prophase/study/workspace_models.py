"""Train every model a workspace answers from, with the settings of its prophase.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from prophase import units
from prophase.errors import (
    InputError,
    ModelFileError,
    ParameterError,
    ProphaseError,
    not_among,
)
from prophase.json_types import JsonMapping, JsonObject
from prophase.plural import as_typed, counted
from prophase.trace.service_database import has_service_database, may_have_reports
from prophase.trace.workspace import Workspace
from prophase.trace.workspace_paths import CLASSIFIER, PREDICTIONS, PROFILES, REQUESTS

if TYPE_CHECKING:
    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.predict.job_model import JobModel
    from prophase.sizing.kind_recommendation import Gate
    from prophase.sizing.recommender import Recommender
    from prophase.study.submission.job_recommender import JobRecommender
    from prophase.trace.trace_tables import Trace


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
    from prophase.trace.trace_tables import open_trace

    folder = Path(workspace)
    show("reading the history", None)
    trace = open_trace(folder, tables=["jobs", "nodes"])
    kept = learn_predictions(
        trace, folder / PREDICTIONS, targets, method=method, seed=seed, show=show
    )
    return LearnedModels(
        kept.path,
        kept.checksum,
        kept.model,
        requests=bool(_learn_requests(folder, trace, show).by_resource),
        profiles=_learn_to_tell_profiles(folder, trace, seed, show),
    )


@dataclass(frozen=True)
class KeptPredictions:
    """The model that a workspace answers from, at every door, or why it has none."""

    model: JobModel | None
    #: why there is none that answers
    why_not: str = ""
    #: whether the workspace holds other jobs now than it was learnt from
    older: bool = False


def kept_predictions(
    workspace: Path | str,
    targets: Sequence[str] | None = None,
    *,
    method: str | None = None,
    seed: int | None = None,
) -> KeptPredictions:
    """Return the model that a workspace keeps, with the jobs that were reported to its service.

    Command, Python, service, dashboard, webhook and plug-ins answer from it, however it was
    learnt; only a method, a seed or a target that is asked for by name and is another one makes
    it silent.
    """
    from prophase.profile.predict.job_model import JobModel
    from prophase.profile.predict.methods import full_name

    folder = Path(workspace)
    if not (folder / PREDICTIONS).is_file():
        return KeptPredictions(None, "nothing was learnt yet")
    held = Workspace(folder).tables.get("jobs") if Workspace.is_at(folder) else None
    try:
        found = JobModel.load(folder / PREDICTIONS)
    except ModelFileError as error:
        return KeptPredictions(None, str(error).rstrip("."))
    wanted = found.method if method is None else full_name(method)
    if found.method != wanted or (seed is not None and found.random_state != seed):
        said = f"it was learnt with {found.method} and seed {found.random_state}"
        return KeptPredictions(None, said)
    missing = [name for name in targets or () if name not in found.targets]
    if missing:
        return KeptPredictions(None, f"it has not learnt {', '.join(missing)}")
    older = held is not None and found.data_hash != held.source_hash
    if older and (method is not None or seed is not None):
        # whoever asks for a method by name wants it learnt from what is there
        return KeptPredictions(None, "it was learnt from other jobs than the workspace holds now")
    return KeptPredictions(_with_reported(folder, found), older=older)


def kept_classifier(workspace: Path | str) -> ProfileClassifier | None:
    """Return what tells the profile of a job, if the workspace has learnt it."""
    path = Path(workspace) / CLASSIFIER
    if not path.is_file():
        return None
    from prophase.profile.classify.classifier import ProfileClassifier

    return ProfileClassifier.load(path)


def _with_reported(folder: Path, model: JobModel) -> JobModel:
    """Return the model as the service has it: with the jobs that were reported since."""
    if not may_have_reports(folder):
        return model
    from prophase.study.feedback.store import FeedbackStore

    store = FeedbackStore(folder)
    rows = store.since(0)
    store.close()
    if not rows:
        return model
    from prophase.study.feedback.updated_models import known_jobs, learnt_from_each

    held = Workspace(folder).tables.get("jobs")
    known: dict[str, frozenset[str]] = {}
    if held is not None and model.data_hash == held.source_hash:
        known = known_jobs(model, Workspace(folder).read("jobs"), folder)
    return learnt_from_each(model, [job for _, job in rows], known)


def answering_model(
    workspace: Path | str,
    targets: Sequence[str] | None = None,
    *,
    method: str | None = None,
    seed: int | None = None,
    show: Show = lambda step, percent: None,
    tell: Callable[[str], None] = lambda sentence: None,
) -> JobModel:
    """Return the model that questions about a workspace or trace are answered from.

    The one that the workspace keeps, else a new one; a new one of a workspace with every usual
    target is kept there, so that the next question is answered at once and alike everywhere.

    Parameters
    ----------
    workspace : path
        A workspace, or a file or folder of a trace.
    tell : callable, optional
        Receives what is worth knowing about where the answer comes from, a sentence at a time.
    """
    folder = Path(workspace)
    quoted = as_typed(workspace)
    found = kept_predictions(folder, targets, method=method, seed=seed)
    if found.model is not None:
        if found.older:
            tell(
                "Answered from what was last learnt, as the service does; newer jobs count after: "
                f"prophase learn {quoted}"
            )
        return found.model
    ours = Workspace.is_at(folder)
    if (folder / PREDICTIONS).is_file():
        tell(f"{folder / PREDICTIONS} is not used: {found.why_not}.")
    from prophase.profile.predict.job_model import learn
    from prophase.trace.trace_tables import open_trace

    show("reading the jobs", None)
    trace = open_trace(folder, tables=["jobs"])
    if trace.jobs.empty:
        raise InputError(f"{folder}: holds no jobs to learn from. Import a trace of finished jobs.")
    keep = ours and targets is None and method is None and seed is None
    after = "; kept for the next question" if keep else ""
    tell(f"Learning from {counted(len(trace.jobs), 'job')} first{after} ...")
    model = learn(
        trace.jobs,
        targets,
        method=method or "default",
        random_state=seed or 0,
        data_hash=trace.data_hash,
        progress=lambda name: show(f"learning {name}", None),
    )
    if keep:
        with suppress(ProphaseError, OSError):
            # a workspace that cannot be written to learns again each time
            model.save(folder / PREDICTIONS)
        return _with_reported(folder, model)
    return model


def answering_recommender(
    workspace: Path | str,
    *,
    show: Show = lambda step, percent: None,
    tell: Callable[[str], None] = lambda sentence: None,
) -> JobRecommender:
    """Return who recommends requests for a job of a workspace, from what the service uses, too."""
    from prophase.study.submission.job_recommender import JobRecommender

    folder = Path(workspace)
    model = answering_model(folder, show=show, tell=tell)
    found = _kept_requests(folder, tell)
    if found is None:
        from prophase.trace.trace_tables import open_trace

        trace = open_trace(folder, tables=["jobs", "nodes"])
        found = _learn_requests(folder, trace, show)
    return JobRecommender(model, kept_classifier(folder), found)


def _kept_requests(folder: Path, tell: Callable[[str], None]) -> Recommender | None:
    """Return the kept recommender with the jobs that were reported since, if there is one."""
    from prophase.sizing.recommender import Recommender

    if not (folder / REQUESTS).is_file():
        return None
    try:
        found = Recommender.load(folder / REQUESTS)
    except ModelFileError as error:
        tell(str(error))
        return None
    if not has_service_database(folder):
        return found
    from prophase.study.feedback.store import FeedbackStore
    from prophase.study.feedback.updated_models import observed_by

    store = FeedbackStore(folder)
    rows = store.since(0)
    store.close()
    held = Workspace(folder).tables.get("jobs")
    known: frozenset[str] = frozenset()
    if rows and held is not None and found.data_hash == held.source_hash:
        known = frozenset(Workspace(folder).read("jobs", ["job_id"])["job_id"].astype(str))
    return observed_by(found, [job for _, job in rows], known)


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


def _learn_requests(folder: Path, trace: Trace, show: Show) -> Recommender:
    """Learn what each task should ask for, as far as peaks and requests are known."""
    from prophase.sizing.gpu_grants import parts_given
    from prophase.sizing.recommender import learn_recommender

    risk, gate = request_settings(Workspace(folder).settings)
    gate = replace(gate, gpu_parts=parts_given(trace.jobs, trace.tables.get("nodes")))
    found = learn_recommender(
        trace.jobs,
        risk=risk,
        gate=gate,
        data_hash=trace.data_hash,
        progress=lambda step: show(step, None),
    )
    found.save(folder / REQUESTS)
    return found


def _learn_to_tell_profiles(folder: Path, trace: Trace, seed: int, show: Show) -> bool:
    """Learn to tell the profiles of a workspace by metadata, if it has some."""
    if not (folder / PROFILES).is_file():
        return False
    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.clusters.default_profiles import ended_jobs
    from prophase.profile.clusters.profiler import WorkloadProfiler

    show("learning to tell profiles", None)
    known = WorkloadProfiler.load(folder / PROFILES).recognise(ended_jobs(trace.jobs).jobs)
    # what a job asks for is known at its submission, and much of what tells its profile
    found = ProfileClassifier(metadata="all", random_state=seed).fit(known.jobs, known.labels)
    found.save(folder / CLASSIFIER)
    return True


_KNOWN = ("risk", "min_saving", "min_runs", "max_oom", "prior", "min_memory")


def request_settings(settings: JsonMapping) -> tuple[float, Gate]:
    """Return risk and gate of a workspace, those of ``prophase size`` unless it says otherwise.

    Examples
    --------
    >>> request_settings({"requests": {"risk": "2%", "min_saving": "20%"}})
    (0.02, Gate(fewest_runs=10, least_saving=0.2, most_oom=None, prior='none', ...))
    """
    from prophase.sizing.kind_recommendation import Gate
    from prophase.sizing.wider_level import known_prior

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
        prior=known_prior(str(held.get("prior", usual.prior)), where="prophase.toml: prior"),
        min_memory_gib=units.parse_memory(
            held.get("min_memory", usual.min_memory_gib),
            g_is="binary",
            bare="GiB",
            where="prophase.toml: min_memory",
        ),
    )


def _share(held: JsonMapping, name: str, usual: float) -> float:
    said = held.get(name)
    return usual if said is None else units.parse_share(str(said), where=f"prophase.toml: {name}")
