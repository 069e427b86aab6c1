"""The front door: every question of ``import prophase as ph``, asked as the commands ask it.

A history is given as a path (a workspace, or a file or folder of any known source), as the
:class:`Trace` that :func:`read` returns, or as a DataFrame in the columns of the job table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pandas as pd

from prophase.errors import InputError, ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from prophase.profile.classify.classifier import ProfileClassifier
    from prophase.profile.job_forecast.forecast import JobForecast
    from prophase.profile.predict.job_model import JobModel
    from prophase.sim.cluster import Cluster
    from prophase.sim.schedule import Schedule
    from prophase.sim.why.explanation import Why
    from prophase.sim.workload import Workload
    from prophase.sizing.kind_recommendation import ResourceRecommendations
    from prophase.study.pipeline import StudyResult
    from prophase.study.proof.proof import Proof
    from prophase.trace.describe.description import Description
    from prophase.trace.trace_tables import Trace

#: how a history of jobs may be given, and how a cluster may be
History: TypeAlias = "Trace | pd.DataFrame | str | Path"
Nodes: TypeAlias = "Cluster | pd.DataFrame | str | Path"
#: seed of replays, as the commands have it
_REPLAY_SEED = 42


def read(
    path: str | Path,
    *,
    source: str | None = None,
    options: Mapping[str, str] | None = None,
    by: str | None = None,
) -> Trace:
    """Read a trace: a workspace, or files of a known source.

    Parameters
    ----------
    path : str or Path
        A workspace, or a file or folder of a trace.
    source : str, optional
        Name of the reader, such as ``"sacct"``; recognised by the columns if not given.
    options : mapping, optional
        Settings of the reader, such as ``{"map": "mapping.toml"}`` for a CSV file of your own.
    by : str, optional
        Columns that tell kinds of job apart, joined by commas, such as ``"user,name"``; chosen
        from the jobs if not given.

    Returns
    -------
    Trace
        ``.jobs``, ``.usage`` and ``.nodes`` are DataFrames, in the same columns for all sources.

    Examples
    --------
    >>> import prophase as ph
    >>> path = getfixture("tmp_path") / "jobs.csv"
    >>> _ = path.write_text("job_id,user,submit_s,duration_s\\na,ann,0,60\\nb,bob,5,600\\n")
    >>> ph.read(path, source="csv")
    Trace of csv: 2 jobs
    data ...
    """
    from prophase.trace.trace_tables import open_trace

    return open_trace(path, source=source, options=options, by=by)


def synth(name: str = "pai", *, seed: int = 0, **parameters: Any) -> Trace:
    """Make a synthetic trace: seeded, with requests, measured use and nodes.

    Parameters
    ----------
    name : {"pai", "pipeline", "containers", "cluster"}, default="pai"
        Jobs of a GPU cluster, runs of a pipeline of tasks, usage series of containers, or a
        small cluster. ``jobs`` counts whole submissions, which have a row per task.
    seed : int, default=0
        The same seed gives the same trace.
    parameters
        Of the generator, such as ``jobs=2000``, ``days=7``; see ``prophase synth list``.

    Examples
    --------
    >>> import prophase as ph
    >>> ph.synth("pai", jobs=300, days=2.0)
    Trace of synth-pai: 363 jobs, 9 nodes
    data ...
    """
    from prophase.trace.synth.generator import generator_named

    return generator_named(name).make_from_values(parameters, random_state=seed)


def describe(
    history: History, *, short_below_s: float = 3600.0, low_gpus: float = 1.0, laws: bool = True
) -> Description:
    """Describe a trace: counts, arrivals, run times, waits, classes, use, recurrence, laws.

    Parameters
    ----------
    history : Trace, DataFrame or path
        What is described.
    short_below_s, low_gpus : float
        Jobs that ran for less are short; jobs that ask for at most so many GPUs are low.
    laws : bool, default=True
        Fit arrival and service laws, which takes most of the time.

    Examples
    --------
    >>> import prophase as ph
    >>> found = ph.describe(ph.synth("pai", jobs=300, days=2.0), laws=False)
    >>> len(found.table) > 100, found.counts.jobs
    (True, 363)
    """
    from prophase.trace.describe.description import describe as described

    trace = _trace(history)
    return described(trace, short_below_s=short_below_s, low_gpus=low_gpus, laws=laws)


def learn(
    history: History,
    targets: Sequence[str] | None = None,
    *,
    method: str = "default",
    seed: int = 0,
) -> JobModel:
    """Learn from finished jobs how long jobs run and what they use.

    Parameters
    ----------
    history : Trace, DataFrame or path
        Finished jobs.
    targets : sequence of str, optional
        Columns to predict; duration and every usage column that has values if not given.
    method : str, default="default"
        How; ``prophase evaluate`` compares all.

    Returns
    -------
    JobModel
        ``.predict(jobs)`` answers for a table, ``.save(path)`` keeps it in a file that
        :func:`ask` and the command ``prophase ask --model`` read.

    Examples
    --------
    >>> import pandas as pd
    >>> import prophase as ph
    >>> jobs = pd.DataFrame({"user": ["ann", "bob"] * 20, "duration_s": [60.0, 600.0] * 20})
    >>> ph.learn(jobs, method="backoff-median")
    JobModel (backoff-median) of 40 jobs
    predicts duration_s
    """
    from prophase.profile.predict.job_model import learn as learnt

    trace = _trace(history, "jobs")
    return learnt(trace.jobs, targets, method=method, random_state=seed, data_hash=trace.data_hash)


def ask(
    model: JobModel | History,
    job: Mapping[str, Any] | str | Path,
    *,
    targets: Sequence[str] | None = None,
) -> JobForecast:
    """Ask how long a job will run and what it will use, before it is submitted.

    Parameters
    ----------
    model : JobModel, path of one, or a history
        What to answer from. A workspace answers from the model that it keeps, as the service
        and the commands do, and keeps the one that is learnt if it has none; of any other
        history a model is learnt first.
    job : mapping or path
        Columns of the job table, everyday names and units allowed (``{"memory": "16Gi"}``), or
        a job file: YAML, JSON, a Kubernetes manifest or a Slurm script.

    Returns
    -------
    JobForecast
        Each target with a 90 % range, a confidence and a reason.

    Examples
    --------
    >>> import pandas as pd
    >>> import prophase as ph
    >>> jobs = pd.DataFrame({"user": ["ann", "bob"] * 30, "duration_s": [60.0, 600.0] * 30})
    >>> answer = ph.ask(ph.learn(jobs, method="backoff-median"), {"user": "bob", "gpus": 2})
    >>> round(answer["duration_s"].value)
    600
    """
    from prophase.profile.job_forecast.forecast_builder import ask as asked
    from prophase.profile.submission.job_file import read_submissions

    known = _model(model, targets)
    profiles = _classifier(model)
    if isinstance(job, Mapping):
        return asked(known, job, targets=targets, classifier=profiles)
    submissions = read_submissions(job)
    if len(submissions) != 1:
        raise InputError(
            f"{job}: holds {len(submissions):,} jobs, and one is asked for. Read them as a table "
            "and use .predict(table) of the model."
        )
    return asked(known, submissions[0], targets=targets, classifier=profiles)


def size(
    history: History,
    *,
    risk: float = 0.01,
    resource: str = "auto",
    min_runs: int = 10,
    min_saving: float = 0.0,
    max_oom: float | None = None,
    by: str | None = None,
    prior: Literal["none", "kind", "tenant"] = "none",
    min_memory_gib: float = 0.03125,
) -> ResourceRecommendations:
    """Recommend what each task should ask for, tried out on the task's own past.

    Parameters
    ----------
    history : Trace, DataFrame or path
        Finished jobs with requests, run times and measured peaks.
    risk : float, default=0.01
        Share of runs that may be killed at their first request. Lower saves less.
    resource : {"auto", "memory", "cpu", "gpu-memory", "gpu", "time"}, default="auto"
        What is sized: memory if it was measured, else GPUs or CPU cores; the time limit of a
        history that measures no use.
    min_runs, min_saving, max_oom
        Tasks with fewer runs, with a smaller share saved, or killed more often in the back-test
        (three times ``risk`` if not given, or today's share if higher) keep their request.
    by : str, optional
        Columns that tell tasks apart, joined by commas, such as ``"user,name"``, instead of the
        identity that the history has.
    prior : {"none", "kind", "tenant"}, default="none"
        Whose runs may stand beside those of a task that has at least three but fewer than
        ``min_runs``: the same kind of other tenants, or other kinds of the same tenant. They
        never lower a request by themselves.
    min_memory_gib : float, default=0.03125
        No request of memory is below it, unless jobs ask for less today. 32 MiB.

    Returns
    -------
    ResourceRecommendations
        ``.table`` has a row per task; :func:`prove` takes it as it is.

    Examples
    --------
    >>> import pandas as pd
    >>> import prophase as ph
    >>> at = range(40)
    >>> jobs = pd.DataFrame({"task": "align", "submit_s": [700.0 * i for i in at]})
    >>> jobs["duration_s"], jobs["request_memory_gib"] = 600.0, 16.0
    >>> jobs["memory_peak_gib"] = [2 + 0.1 * (i % 5) for i in at]
    >>> ph.size(jobs, risk=0.05)
    1 task of 1 should change the memory they ask for (risk 5 %)
    align: 16 GiB to 2.4 GiB, saves ...
    """
    from prophase.sizing.gpu_grants import parts_given
    from prophase.sizing.kind_recommendation import Gate, recommend
    from prophase.trace.identity.job_identity import with_identity

    trace = _trace(history, "jobs", "nodes")
    parts = parts_given(trace.jobs, trace.tables.get("nodes"))
    gate = Gate(min_runs, min_saving, max_oom, prior, parts, min_memory_gib)
    jobs = with_identity(trace.jobs, by=by)
    return recommend(jobs, risk=risk, gate=gate, resource=resource, data_hash=trace.data_hash)


def prove(
    history: History,
    recommendations: ResourceRecommendations | str | Path | None = None,
    cluster: Nodes | None = None,
    *,
    max_oom: float = 0.01,
    min_saving: float = 0.0,
    max_longer_wait: float | None = None,
    prior: Literal["none", "kind", "tenant"] = "none",
    min_memory_gib: float = 0.03125,
    seed: int = 0,
    **settings: Any,
) -> Proof:
    """Prove recommendations on your own history before you apply them.

    The history is replayed with the requests of today and with the recommended ones.

    Parameters
    ----------
    history : Trace, DataFrame or path
        The jobs to prove it on.
    recommendations : ResourceRecommendations or path, optional
        What :func:`size` returned, or a file of ``prophase size --export json``; made of the
        history if not given.
    cluster : Cluster, DataFrame, path or str, optional
        Where the jobs run, such as ``"20x8 V100 96c 512g"``; the nodes of the trace if not
        given. Without any, waits are not compared.
    max_oom, min_saving, max_longer_wait : float
        Shares that the verdict is about: of runs killed, of what is reserved today, and by
        which the mean wait may grow (not judged if None).
    prior : {"none", "kind", "tenant"}, default="none"
        As for :func:`size`, of recommendations that are made here and at the cut-off dates.
    min_memory_gib : float, default=0.03125
        As for :func:`size`.
    settings
        Further ones of :func:`prophase.study.prove`, such as ``risk``, ``resource``, ``prices``,
        ``splits``, ``seeds``, ``workers``.

    Returns
    -------
    Proof
        ``.verdict.outcome`` is ``"pass"``, ``"fail"`` or ``"undecided"``.

    Examples
    --------
    >>> import pandas as pd
    >>> import prophase as ph
    >>> at = range(800)
    >>> jobs = pd.DataFrame({"task": "align", "submit_s": [3600.0 * i for i in at]})
    >>> jobs["duration_s"], jobs["request_memory_gib"] = 500.0, 16.0
    >>> jobs["memory_peak_gib"] = [2 + 0.01 * (i % 7) for i in at]
    >>> ph.prove(jobs, cluster="1x0 8c 64g", seeds=0).verdict.outcome
    'pass'
    """
    from prophase.sizing.gpu_grants import parts_given
    from prophase.sizing.kind_recommendation import Gate, ResourceRecommendations
    from prophase.study.proof.candidate import Candidate, read_candidate
    from prophase.study.proof.prover import prove as proven
    from prophase.study.proof.verdict import Limits

    trace = _trace(history, "jobs", "nodes")
    candidate: Candidate | None = None
    if isinstance(recommendations, ResourceRecommendations):
        candidate = Candidate.made(recommendations)
    elif recommendations is not None:
        candidate = read_candidate(recommendations)
    parts = parts_given(trace.jobs, trace.tables.get("nodes"))
    settings.setdefault("gate", Gate(prior=prior, gpu_parts=parts, min_memory_gib=min_memory_gib))
    return proven(
        trace.jobs,
        candidate,
        _cluster(trace, cluster),
        limits=Limits(max_oom, min_saving, max_longer_wait),
        seed=seed,
        **settings,
    )


def simulate(
    jobs: Workload | History,
    cluster: Nodes | None = None,
    *,
    order: str | Callable[[Workload], NDArray[np.float64]] = "fifo",
    place: str = "best_fit",
    queue: str = "skip",
    seed: int = _REPLAY_SEED,
    **settings: Any,
) -> Schedule:
    """Replay jobs on a cluster: when and where would each have run?

    Parameters
    ----------
    jobs : Workload, Trace, DataFrame or path
        Jobs with submit times, run times and requests.
    cluster : Cluster, DataFrame, path or str, optional
        Such as ``"100x8"`` (nodes x GPUs) or ``"50x8 V100 96c 512g, 20x2 T4"``; the nodes of
        the trace if not given.
    order : str or function, default="fifo"
        Who goes first: a policy, ``"column:NAME"``, or a function of the workload that returns
        a key per job; the smallest starts first.
    place : str, default="best_fit"
        Which node a job goes to.
    queue : {"skip", "strict", "easy", "conservative"}, default="skip"
        What happens behind a job that does not fit.
    settings
        Further ones of :func:`prophase.sim.simulate`, such as ``preempt``, ``failures``,
        ``leave_out_unfit``.

    Returns
    -------
    Schedule
        ``.table`` has a row per job, ``.to_dict()`` waits, utilisation and fairness.

    Examples
    --------
    >>> import pandas as pd
    >>> import prophase as ph
    >>> jobs = pd.DataFrame({"submit_s": [0.0, 0.0], "duration_s": 3600.0, "request_gpus": 1.0})
    >>> ph.simulate(jobs, "1x1")
    Schedule of 2 jobs on 1 node, 1 GPU
    order fifo, place best_fit, queue skip
    mean wait 30 min, longest 1 h
    """
    from prophase.sim.simulation import simulate as simulated

    workload, nodes, _ = _replayed(jobs, cluster)
    return simulated(workload, nodes, order=order, place=place, queue=queue, seed=seed, **settings)


def why(
    jobs: Workload | History,
    cluster: Nodes | None = None,
    *,
    order: str | Callable[[Workload], NDArray[np.float64]] = "fifo",
    place: str = "best_fit",
    queue: str = "skip",
    by: str = "class",
    remove: bool = True,
    seed: int = _REPLAY_SEED,
    **settings: Any,
) -> Why:
    """Split all waiting time by cause, and say what removing each cause would do.

    Parameters
    ----------
    jobs, cluster, order, place, queue, settings
        As for :func:`simulate`.
    by : str, default="class"
        Split the causes by class too: ``"class"``, ``"gpus"``, or a column such as ``"user"``.
    remove : bool, default=True
        Replay once more without each cause; quicker if False.

    Examples
    --------
    >>> import pandas as pd
    >>> import prophase as ph
    >>> jobs = pd.DataFrame({"submit_s": [0.0, 1.0, 2.0], "duration_s": 10.0})
    >>> jobs["request_gpus"] = [1.0, 2.0, 1.0]
    >>> ph.why(jobs, "1x2", queue="strict")
    3 jobs wait 27 s in all, 9 s each
    whoever fits may start: saves 59 % of it, most of the settings
    every node twice: saves 100 % of it, most of all
    capacity: 70 % of the waiting
    order: 30 % of the waiting
    """
    from prophase.sim.why.explanation import why as explained

    workload, nodes, clock = _replayed(jobs, cluster)
    return explained(
        workload,
        nodes,
        by=by,
        clock=clock,
        remove=remove,
        order=order,
        place=place,
        queue=queue,
        seed=seed,
        **settings,
    )


def study(history: History, out: str | Path | None = None, **settings: Any) -> StudyResult:
    """Run the whole loop: describe, profiles, predictions, sizing, proof, report.

    Parameters
    ----------
    history : path, Trace or DataFrame
        A plan (``.toml``), a workspace, a file or folder of a trace, or tables in memory.
    out : str or Path, optional
        Folder for results; tables in memory need it. A second run does only what has changed.
    settings
        Of the plan, such as ``cluster="20x8"``, ``max_oom=0.01``, ``min_saving=0.2``,
        ``steps=("describe", "size")``, ``seeds=10``; see :class:`prophase.study.StudyPlan`.

    Returns
    -------
    StudyResult
        ``.report`` is also written as HTML, Markdown and JSON into ``.folder``.

    Examples
    --------
    >>> import prophase as ph
    >>> trace = ph.synth("pai", jobs=300, days=2.0)
    >>> found = ph.study(trace, getfixture("tmp_path") / "out", steps=("describe",))
    >>> found.table["step"].tolist()[:2], (found.folder / "report.html").is_file()
    (['import', 'describe'], True)
    """
    from prophase.plots.result_files import write_report
    from prophase.study.pipeline import run_study
    from prophase.study.plan import StudyPlan, read_plan

    if not isinstance(history, str | Path):
        history = _stored(_trace(history), out)
    path = Path(history)
    plan = read_plan(path) if path.suffix == ".toml" else StudyPlan(str(path))
    plan = plan.changed(**settings)
    found = run_study(plan, out=out, command=f"prophase study {path}")
    write_report(found.report, found.folder)
    return found


def _trace(history: History, *tables: str) -> Trace:
    """Return a history as a trace; of a path only the tables named, or all."""
    from prophase.trace.trace_tables import Trace, open_trace

    if isinstance(history, Trace):
        return history
    if isinstance(history, pd.DataFrame):
        return _trace_of_jobs(history)
    if not isinstance(history, str | Path):
        raise ParameterError(
            f"jobs are given as {type(history).__name__}. Pass a path, a table of jobs (DataFrame) "
            "or what ph.read returned."
        )
    return open_trace(history, tables=list(tables) or None)


def _trace_of_jobs(jobs: pd.DataFrame) -> Trace:
    """Return a table of jobs as a trace; rows without a ``job_id`` are numbered."""
    from prophase.trace.schema import check_jobs
    from prophase.trace.trace_tables import Trace

    table = jobs.reset_index(drop=True)
    if "job_id" not in table:
        table.insert(0, "job_id", [str(row) for row in range(1, len(table) + 1)])
    rows = pd.util.hash_pandas_object(table, index=False).to_numpy()
    digest = hashlib.sha256(",".join(map(str, table.columns)).encode() + rows.tobytes())
    return Trace({"jobs": check_jobs(table)}, "table", digest.hexdigest())


def _model(given: JobModel | History, targets: Sequence[str] | None) -> JobModel:
    """Return a model: the one given, a file's, the one a workspace keeps, or a new one."""
    from prophase.profile.predict.job_model import JobModel
    from prophase.study.workspace_models import answering_model

    if isinstance(given, JobModel):
        return given
    if isinstance(given, str | Path):
        if Path(given).suffix == ".model":
            return JobModel.load(given)
        return answering_model(given, targets)
    return learn(given, targets)


def _classifier(given: JobModel | History) -> ProfileClassifier | None:
    """Return what tells the profile of a job, if a workspace is asked that has learnt it."""
    if not isinstance(given, str | Path):
        return None
    from prophase.study.workspace_models import kept_classifier

    return kept_classifier(given)


def _cluster(trace: Trace | None, cluster: Nodes | None) -> Cluster | None:
    """Return the cluster that is given, else that of the trace's nodes; None without either."""
    from prophase.sim.cluster import Cluster
    from prophase.study.cluster import machines
    from prophase.trace.trace_tables import Trace

    if isinstance(cluster, Cluster):
        return cluster
    if isinstance(cluster, pd.DataFrame):
        return Cluster.from_nodes(cluster)
    if not isinstance(cluster, str | Path | None):
        raise ParameterError(
            f"the cluster is given as {type(cluster).__name__}. Pass '100x8', a table of nodes "
            "(DataFrame), a path or a Cluster."
        )
    return machines(trace or Trace({}, "", ""), cluster)


def _replayed(jobs: Workload | History, cluster: Nodes | None) -> tuple[Workload, Cluster, str]:
    """Return the workload, the cluster and the clock of a replay."""
    from prophase.sim.workload import Workload

    trace = None if isinstance(jobs, Workload) else _trace(jobs, "jobs", "nodes")
    nodes = _cluster(trace, cluster)
    if nodes is None:
        raise ParameterError(
            'there is no node table, so the cluster must be given: cluster="100x8" for a hundred '
            "nodes with eight GPUs each, or a table of nodes."
        )
    if isinstance(jobs, Workload):
        return jobs, nodes, "relative"
    assert trace is not None
    return Workload.from_jobs(trace.jobs), nodes, trace.clock


def _stored(trace: Trace, out: str | Path | None) -> Path:
    """Keep tables that are in memory in a workspace, which a study needs."""
    from prophase.trace.workspace import Workspace

    if out is None:
        raise ParameterError(
            "tables in memory have no folder for the results: pass out=, such as out='my-study'."
        )
    Workspace.create(out).store_frames(
        trace.tables, source=trace.source, source_hash=trace.data_hash, clock=trace.clock,
        command="prophase.study", replace=True,
    )  # fmt: skip
    return Path(out)
