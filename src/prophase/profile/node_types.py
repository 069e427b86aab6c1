"""Which type of node suits a job or a profile? How long alike jobs ran on each type.

As a scheduler does it, in two stages: types on which no job ever asked for as much are filtered
out, the others are scored by how long alike jobs ran there. Jobs choose their nodes and are not
assigned at random, so a rank is an association.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from prophase.array_types import Floats, Ints
from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.json_types import JsonMapping, JsonObject
from prophase.plural import counted
from prophase.profile.classify.classifier import ProfileClassifier
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.clusters.quality import OUTLIERS
from prophase.profile.predict.history import History
from prophase.profile.predict.submit_columns import numbers

#: columns that may hold the type of node a job ran on, the surest first
NODE_TYPES = ("after_gpu_type", "after_node_type", "gpu_type", "attr_node_type", "queue")
#: fewer jobs on a type than this prove nothing
ENOUGH = 30
METRICS = ("cpu_mean_cores", "memory_peak_gib", "gpu_util_mean_pct")
#: what a type has to hold; the largest request of a past job on it is what it surely holds
REQUESTS = ("request_gpus", "request_cpu_cores", "request_memory_gib")
#: alike jobs that make it worth to compare types
_LEAST_ALIKE = 2 * ENOUGH


def rank_node_types(
    jobs: pd.DataFrame,
    *,
    column: str | None = None,
    metrics: Sequence[str] = METRICS,
    enough: int = ENOUGH,
) -> list[JsonObject]:
    """Return one row per node type, the one on which jobs ran shortest first.

    Parameters
    ----------
    jobs : DataFrame
        Finished jobs that are alike, such as those of one profile.
    column : str, optional
        Column with the node type; the first of ``NODE_TYPES`` that has values if not given.
    enough : int, default=30
        Types with fewer jobs get no rank.

    Returns
    -------
    list of dict
        ``rank`` (None without an answer), ``score`` (100 for the shortest median, 50 for twice as
        long), ``node_type``, ``jobs``, median duration with a 90 % interval,
        ``relative_duration`` against all of the jobs, the median of each metric with a 90 %
        interval, and ``reason``. ``rank`` is one more than the number of types whose whole
        interval is quicker, so types that cannot be distinguished share it.

    Examples
    --------
    >>> jobs = pd.DataFrame({"gpu_type": ["T4", "V100"] * 40, "duration_s": [90.0, 30.0] * 40})
    >>> [(row["rank"], row["node_type"]) for row in rank_node_types(jobs)]
    [(1, 'V100'), (2, 'T4')]
    """
    if enough < 1:
        raise ParameterError(f"enough is {enough}; a rank needs one job or more.")
    named = node_type_column(jobs, column)
    duration = numbers(jobs, "duration_s")
    usual = float(np.nanmedian(duration)) if np.isfinite(duration).any() else np.nan
    types = jobs[named].astype("string")
    rows = []
    for name in sorted(types.dropna().unique()):
        chosen = (types == name).fillna(False).to_numpy(dtype=bool)
        rows.append(_row(str(name), jobs[chosen], duration[chosen], usual, metrics, enough))
    ranked = sorted((row for row in rows if row["enough"]), key=lambda row: row["duration_s"])
    thin = sorted((row for row in rows if not row["enough"]), key=lambda row: -row["jobs"])
    _give_ranks(ranked)
    return [*ranked, *thin]


def jobs_of_profile(
    profiler: WorkloadProfiler, history: pd.DataFrame, number: int | str
) -> tuple[pd.DataFrame, str]:
    """Return the finished jobs of one profile, assigned by their use, and what to call them."""
    known = profiler.profile(number)
    chosen = history[profiler.predict(history) == known.profile]
    if chosen.empty:
        raise InputError(f"no job of the trace belongs to profile {known.name} by its use.")
    return chosen, f"{len(chosen):,} jobs of profile {known.name}"


def rank_for_job(
    history: pd.DataFrame,
    job: JsonMapping,
    *,
    column: str | None = None,
    enough: int = ENOUGH,
    predicted: tuple[WorkloadProfiler, ProfileClassifier] | None = None,
) -> tuple[list[JsonObject], str]:
    """Return node types ranked by jobs like this one, and which jobs count as alike.

    The finest kind of job with 60 finished jobs or more is taken; the node type itself is left
    out of what makes jobs alike. With ``predicted``, profiles and what tells them by metadata,
    jobs of the predicted profile are alike, unless its probability is below one half. Types on
    which no job asked for as much as this one get no rank.

    Examples
    --------
    >>> jobs = pd.DataFrame({"user": ["ann"] * 80 + ["bob"] * 80, "gpu_type": ["T4", "A100"] * 80})
    >>> jobs["duration_s"] = [60.0, 20.0] * 40 + [5.0, 9.0] * 40
    >>> rows, alike = rank_for_job(jobs, {"user": "bob"})
    >>> rows[0]["node_type"], alike
    ('T4', '80 finished jobs of the same user')
    """
    named = node_type_column(history, column)
    unknown = ""
    if predicted is not None:
        profiler, classifier = predicted
        asked = pd.DataFrame([dict(job)])
        told = classifier.assign(asked, partial=True, likely=True).iloc[0]
        known = {str(one.profile): one.profile for one in profiler.profiles_}
        if (likely := str(told["profile"])) in known:
            chosen, basis = jobs_of_profile(profiler, history, known[likely])
            rows = rank_node_types(chosen, column=named, enough=enough)
            basis += f", predicted with probability {told['probability']:.2f}: {told['reason']}"
            return _filtered(rows, history, job, named), basis
        unknown = f", as its profile is unknown ({told['reason']})"
    chosen, basis = _alike(history, job, named)
    rows = rank_node_types(chosen, column=named, enough=enough)
    return _filtered(rows, history, job, named), basis + unknown


def _alike(history: pd.DataFrame, job: JsonMapping, named: str) -> tuple[pd.DataFrame, str]:
    """Return the jobs of the finest kind that has enough of them, and what to call them."""
    bare = history.drop(columns=[named])
    past = History(bare)
    asked = pd.DataFrame([{key: value for key, value in job.items() if key != named}])
    kept, wanted = past.ask(bare).keys, past.ask(asked).keys
    for level, keys, key in zip(past.levels, kept, wanted, strict=True):
        alike = keys == key[0]
        if alike.sum() >= _LEAST_ALIKE or not level.columns:
            count = counted(int(alike.sum()), "finished job")
            basis = f"{count} of the same {level.label}" if level.columns else f"all {count}"
            return history[alike], basis
    return history, "all finished jobs"


def _filtered(
    rows: list[JsonObject], history: pd.DataFrame, job: JsonMapping, named: str
) -> list[JsonObject]:
    """Return the rows with types last that are not known to hold the job; they get no rank."""
    types = history[named].astype("string")
    asked = {name: float(job[name]) for name in REQUESTS
             if name in history and isinstance(job.get(name), int | float)}  # fmt: skip
    most = {name: _largest(history, name, types) for name in asked}
    kept: list[JsonObject] = []
    out: list[JsonObject] = []
    for row in rows:
        short = [
            f"{name} {wanted:g}, at most {most[name][row['node_type']]:g} ran there"
            for name, wanted in asked.items()
            if wanted > most[name][row["node_type"]]
        ]
        if short:
            row |= {"rank": None, "score": None, "reason": f"not known to fit: {', '.join(short)}"}
        (out if short else kept).append(row)
    _give_ranks(ranked := [row for row in kept if row["enough"]])
    return [*ranked, *(row for row in kept if not row["enough"]), *out]


def _largest(history: pd.DataFrame, name: str, types: pd.Series[str]) -> dict[str, float]:
    """Return the largest number of a column per node type."""
    largest = history[name].astype(float).groupby(types).max()
    return {str(kind): float(value) for kind, value in largest.items()}


def node_type_column(jobs: pd.DataFrame, column: str | None = None) -> str:
    """Return the column that says on which type of node a job ran."""
    if column is not None and column not in jobs:
        raise MissingColumnError(f"the jobs have no column {column!r}. Name another one.")
    named = column or next((n for n in NODE_TYPES if n in jobs and jobs[n].notna().any()), None)
    if named is None:
        raise MissingColumnError(
            f"no column says which type of node a job ran on ({', '.join(NODE_TYPES)}). Name one, "
            "or import a source with nodes."
        )
    return named


def median_interval(values: Floats, share: float = 0.9) -> tuple[float, float, float]:
    """Return the median and an interval that holds it with at least this probability.

    The interval is made of order statistics, so it needs no law of the values.

    Examples
    --------
    >>> median_interval(np.arange(1.0, 22.0))
    (11.0, 7.0, 15.0)
    """
    from scipy.special import bdtr

    held = np.sort(values[np.isfinite(values)])
    count = len(held)
    if count == 0:
        return np.nan, np.nan, np.nan
    # chance that no more than so many values lie below the median
    chance = bdtr(np.arange((count + 1) // 2), count, 0.5)
    place = max(int(np.searchsorted(chance, (1 - share) / 2, side="right")) - 1, 0)
    return float(np.median(held)), float(held[place]), float(held[count - 1 - place])


def _row(
    name: str,
    jobs: pd.DataFrame,
    duration: Floats,
    usual: float,
    metrics: Sequence[str],
    enough: int,
) -> JsonObject:
    timed = int(np.isfinite(duration).sum())
    is_enough = timed >= enough
    middle, low, high = median_interval(duration)
    row: JsonObject = {
        "rank": None,
        "score": None,
        "node_type": name,
        "jobs": len(jobs),
        "duration_s": middle,
        "duration_low_s": low if is_enough else np.nan,
        "duration_high_s": high if is_enough else np.nan,
        "relative_duration": middle / usual if usual > 0 else np.nan,
    }
    for metric in metrics:
        if metric in jobs:
            held = median_interval(numbers(jobs, metric))
            row |= dict(zip((metric, f"{metric}_low", f"{metric}_high"), held, strict=True))
    row["enough"] = is_enough
    row["reason"] = "" if is_enough else f"only {counted(timed, 'finished job')}; {enough} needed"
    return row


def _give_ranks(rows: list[JsonObject]) -> None:
    """Rank each type behind those whose whole interval is quicker, and score its median."""
    best = min((row["duration_s"] for row in rows), default=np.nan)
    for row in rows:
        row["score"] = 100 * best / row["duration_s"] if row["duration_s"] > 0 else 100.0
        quicker = sum(other["duration_high_s"] < row["duration_low_s"] for other in rows)
        row["rank"] = 1 + quicker
    rows.sort(key=lambda row: (row["rank"], row["duration_s"]))


def node_type_affinity(
    jobs: pd.DataFrame,
    labels: Ints,
    *,
    column: str | None = None,
    metrics: Sequence[str] = METRICS,
    enough: int = ENOUGH,
) -> pd.DataFrame:
    """Return one row per profile and node type, the fastest type of a profile first.

    ``relative_duration`` is the median duration on that type over the median of the profile:
    below 1 the type is faster than usual. Jobs choose their nodes and are not assigned at
    random, so this shows association; ``enough`` says whether there are jobs enough to look.

    Parameters
    ----------
    column : str, optional
        Column with the node type; the first of ``NODE_TYPES`` that has values if not given.
    enough : int, default=30
        Jobs from which on a row counts.

    Examples
    --------
    >>> jobs = pd.DataFrame(
    ...     {"after_gpu_type": ["T4", "V100"] * 2, "duration_s": [90.0, 30, 90, 30]}
    ... )
    >>> table = node_type_affinity(jobs, np.zeros(4, dtype=np.int64), enough=2)
    >>> table[["node_type", "relative_duration"]].values.tolist()
    [['V100', 0.5], ['T4', 1.5]]
    """
    named = node_type_column(jobs, column)
    held = pd.DataFrame({"profile": labels, "node_type": jobs[named].to_numpy()})
    used = [name for name in metrics if name in jobs and jobs[name].notna().any()]
    for name in (*used, "duration_s"):
        held[name] = jobs[name].to_numpy(np.float64) if name in jobs else np.nan
    held = held[held["node_type"].notna() & (held["profile"] != OUTLIERS)]
    if held.empty:
        return pd.DataFrame(columns=["profile", "node_type", "jobs", "share"])
    groups = held.groupby(["profile", "node_type"], observed=True)
    table = groups.agg(
        jobs=("duration_s", "size"),
        duration_median_s=("duration_s", "median"),
        **{f"{name}_median": (name, "median") for name in used},
    ).reset_index()
    table.insert(3, "share", table["jobs"] / table.groupby("profile")["jobs"].transform("sum"))
    usual = held.groupby("profile")["duration_s"].median()
    table.insert(5, "relative_duration", table["duration_median_s"] / table["profile"].map(usual))
    table["enough"] = table["jobs"] >= enough
    return table.sort_values(["profile", "relative_duration", "node_type"], ignore_index=True)
