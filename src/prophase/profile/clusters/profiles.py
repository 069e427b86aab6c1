"""Profile objects: what kind of job it is, by metadata known before and by use seen after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from prophase import units
from prophase.array_types import Floats
from prophase.json_types import JsonMapping, JsonObject
from prophase.plural import counted
from prophase.profile.clusters.clustering import Clustering
from prophase.profile.clusters.metric_summary import MetricSummary, Season, Trend, summarise
from prophase.profile.clusters.quality import OUTLIERS, Silhouettes
from prophase.trace.schema import JOBS, known_at_submit

#: values of a metadata column that a profile names
_TOP = 5
#: a profile is doubtful if more than this share of its jobs lies nearer to another
DOUBTFUL_FROM = 0.2
#: times as common as in all jobs: a value that sets a profile apart
APART_FROM = 1.5
#: columns that say who submits, the most telling first
_WHOSE = ("user", "tenant", "group")
#: submit-time columns that are clocks, not metadata
_CLOCKS = ("submit_s", "submit_order")


@dataclass(frozen=True)
class Metadata:
    """One submit-time column inside a profile: its commonest values and their shares."""

    column: str
    mode: str
    #: share of the profile's jobs with that value
    share: float
    #: how much commoner it is here than in all jobs
    lift: float
    values: int
    #: commonest values -> share
    top: dict[str, float]

    @property
    def sets_apart(self) -> bool:
        """Say whether half of the jobs share the value, and clearly fewer of all jobs do."""
        return self.share >= 0.5 and self.lift >= APART_FROM


@dataclass(frozen=True)
class Separation:
    """Silhouette of a profile's jobs; ``doubtful`` if over a fifth lies nearer to another."""

    mean: float
    negative_frac: float
    quantiles: dict[str, float]
    rows: int
    doubtful: bool


@dataclass(frozen=True)
class Profile:
    """A kind of job: static metadata, and the dynamic part learned from its use."""

    profile: int
    name: str
    n: int
    share: float
    #: mean strength of membership; 0 in the outlier group
    strength: float
    static: list[Metadata]
    dynamic: dict[str, MetricSummary]
    separation: Separation | None

    @property
    def outliers(self) -> bool:
        """Say whether this is the group of jobs that fit no profile."""
        return self.profile == OUTLIERS

    def to_dict(self) -> JsonObject:
        """Return what JSON holds, and ``profile_from_dict`` reads."""
        return asdict(self)

    def common(self) -> str:
        """Return the metadata that most of its jobs share and other jobs do not."""
        modes = sorted((one for one in self.static if one.sets_apart), key=lambda one: -one.lift)
        return ", ".join(f"{one.column} {one.mode} ({one.share:.0%})" for one in modes[:3])

    def typical_user(self) -> str:
        """Return who submits most of its jobs; nothing if the jobs do not say."""
        held = {one.column: one for one in self.static if one.values}
        whose = next((held[name] for name in _WHOSE if name in held), None)
        return f"{whose.mode} ({whose.share:.0%})" if whose else ""

    def sentence(self) -> str:
        """Return one line: size, how long its jobs run, whose they are, what sets them apart."""
        common, user = self.common(), self.typical_user()
        length = self.dynamic.get("duration_s")
        typical = f"; median {units.duration(length.quantiles['q50'])}" if length else ""
        kind = "outliers" if self.outliers else f"profile {self.profile}, {self.name}"
        size = f"{counted(self.n, 'job')} ({self.share:.1%})"
        typical += f"; most often by {user}" if user else ""
        apart = f"; set apart by {common}" if common else ""
        return f"{kind}: {size}{typical}{apart}"


def describe_profiles(
    jobs: pd.DataFrame,
    found: Clustering,
    *,
    metrics: Sequence[str],
    scores: Silhouettes | None = None,
) -> list[Profile]:
    """Return a profile per group, the outliers (-1) first if there are any.

    Parameters
    ----------
    jobs : DataFrame
        The job table that was clustered, in the same order.
    metrics : sequence of str
        Columns of the dynamic part.
    scores : Silhouettes, optional
        For the separation of each profile.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job_id": list("abc"), "user": ["a", "a", "b"]})
    >>> jobs["duration_s"] = [10.0, 20.0, 900.0]
    >>> found = Clustering(np.array([0, 0, -1]), np.array([1.0, 1.0, 0.0]))
    >>> for profile in describe_profiles(jobs, found, metrics=["duration_s"]):
    ...     print(profile.sentence())
    outliers: 1 job (33.3%); median 15 min; most often by b (100%); set apart by user b (100%)
    profile 0, 0: 2 jobs (66.7%); median 15 s; most often by a (100%); set apart by user a (100%)
    """
    ids = jobs["job_id"] if "job_id" in jobs else pd.Series(jobs.index, index=jobs.index)
    job_ids = ids.astype(str).to_numpy()
    clock = next((n for n in ("submit_s", "start_s") if n in jobs and jobs[n].notna().any()), None)
    clock_s = jobs[clock].to_numpy(np.float64) if clock is not None else None
    texts = {name: _words(jobs, name) for name in metadata_columns(jobs)}
    overall = {name: text.value_counts(normalize=True) for name, text in texts.items()}
    profiles = []
    for number in np.unique(found.labels):
        rows = np.flatnonzero(found.labels == number)
        part = jobs.iloc[rows]
        dynamic = {}
        for metric in metrics:
            summary = summarise(
                part[metric].to_numpy(np.float64, na_value=np.nan),
                clock_s[rows] if clock_s is not None else None,
                job_ids[rows].tolist(),
            )
            if summary is not None:
                dynamic[metric] = summary
        profiles.append(
            Profile(
                profile=int(number),
                name=found.names.get(int(number), str(int(number))),
                n=len(rows),
                share=len(rows) / len(jobs),
                strength=float(found.strength[rows].mean()),
                static=[
                    _metadata(name, text.iloc[rows], overall[name]) for name, text in texts.items()
                ],
                dynamic=dynamic,
                separation=_separation(int(number), scores),
            )
        )
    return profiles


def profile_from_dict(held: JsonMapping) -> Profile:
    """Return the profile that ``Profile.to_dict`` wrote."""
    dynamic = {}
    for metric, summary in held["dynamic"].items():
        trend, season = summary["trend"], summary["season"]
        updated = {
            "trend": Trend(**trend) if trend else None,
            "season": Season(**season) if season else None,
        }
        dynamic[metric] = MetricSummary(**{**summary, **updated})
    separation = held["separation"]
    return Profile(
        **{
            **held,
            "static": [Metadata(**{**one, "top": _by_share(one["top"])}) for one in held["static"]],
            "dynamic": dynamic,
            "separation": Separation(**separation) if separation else None,
        }
    )


def _by_share(top: Mapping[str, float]) -> dict[str, float]:
    """Bring values into their order again: model files sort by name."""
    return dict(sorted(top.items(), key=lambda one: -one[1]))


def metadata_columns(jobs: pd.DataFrame) -> list[str]:
    """Return the submit-time columns with values, clocks left out."""
    names = known_at_submit(map(str, jobs.columns))
    return [name for name in names if name not in _CLOCKS and jobs[name].notna().any()]


def _words(jobs: pd.DataFrame, name: str) -> pd.Series[str]:
    """Return a column as words; requests such as 4.0 and 4 are one value."""
    column = JOBS.get(name)
    if column is not None and column.kind == "number":
        return jobs[name].map(lambda value: f"{value:g}", na_action="ignore").astype("string")
    return jobs[name].astype("string")


def _metadata(column: str, values: pd.Series[str], overall: pd.Series[float]) -> Metadata:
    shares = values.value_counts(normalize=True)
    if shares.empty:
        return Metadata(column, "", 0.0, 0.0, 0, {})
    mode = str(shares.index[0])
    # of the jobs that have a value at all
    share = float(shares.iloc[0])
    top = {str(value): float(part) for value, part in shares.head(_TOP).items()}
    return Metadata(column, mode, share, share / float(overall[mode]), len(shares), top)


def _separation(profile: int, scores: Silhouettes | None) -> Separation | None:
    if scores is None or profile == OUTLIERS:
        return None
    own: Floats = scores.values[scores.labels == profile]
    if not own.size:
        return None
    negative = float((own < 0).mean())
    marks = (0.0, 0.25, 0.5, 0.75, 1.0)
    quantiles = {f"q{round(100 * mark):02d}": float(np.quantile(own, mark)) for mark in marks}
    return Separation(float(own.mean()), negative, quantiles, len(own), negative > DOUBTFUL_FROM)
