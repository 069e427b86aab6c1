"""Profiles as results: all of them, and one with its metadata and its use."""

from __future__ import annotations

from prophase.json_types import JsonObject
from prophase.plain import finite
from prophase.profile.clusters.metric_summary import MetricSummary
from prophase.profile.clusters.profiler import WorkloadProfiler
from prophase.profile.clusters.profiles import Profile
from prophase.result import Result, Section, Table


def profiles_result(profiler: WorkloadProfiler, **values: object) -> Result:
    """Return a row per profile, the largest first and the outliers last."""
    rows = []
    for one in sorted(profiler.profiles_, key=lambda each: (each.outliers, -each.n)):
        told = one.separation
        duration = one.dynamic.get("duration_s")
        rows.append(
            {
                "profile": one.profile,
                "name": "outliers" if one.outliers else one.name,
                "n": one.n,
                "share_pct": 100 * one.share,
                "strength": None if one.outliers else one.strength,
                "silhouette": told.mean if told else None,
                "negative_pct": 100 * told.negative_frac if told else None,
                "doubtful": "doubtful" if told and told.doubtful else "",
                "median_duration_s": duration.quantiles["q50"] if duration else None,
                "typical_user": one.typical_user(),
                "set_apart_by": one.common(),
            }
        )
    whole = {**values, **profiler.to_dict()}
    return Result.of_rows("profiles", rows, values=whole, notes=list(profiler.notes_))


def doubtful_profiles(profiler: WorkloadProfiler) -> str:
    """Say which profiles are doubtful, or nothing."""
    found = [one for one in profiler.profiles_ if one.separation and one.separation.doubtful]
    if not found:
        return ""
    numbers = ", ".join(str(one.profile) for one in found)
    return f"Doubtful: over a fifth of the jobs of {numbers} lies nearer to another profile."


def profile_result(one: Profile) -> Result:
    """Return what one profile is: its metadata, and what its jobs use."""
    said = [one.sentence()]
    if one.separation is not None:
        said.append(
            f"Strength of membership {one.strength:.2f}; silhouette {one.separation.mean:.2f}, "
            f"{one.separation.negative_frac:.0%} of the jobs nearer to another profile"
            + (": doubtful." if one.separation.doubtful else ".")
        )
    static: list[JsonObject] = [
        {
            "column": held.column,
            "commonest": held.mode,
            "share_pct": 100 * held.share,
            "times_as_common": held.lift,
            "values": held.values,
            "next": ", ".join(f"{v} {100 * s:.0f} %" for v, s in list(held.top.items())[1:3]),
        }
        for held in one.static
        if held.values
    ]
    rows = [_metric_row(name, summary) for name, summary in one.dynamic.items()]
    notes = [
        "trend: does the metric move with time; by_hour_pct: part of the differences that the hour "
        "of the day explains, and the hour of the highest values if that is not chance; anomalies: "
        "jobs far outside. A dash: these jobs cannot tell."
    ]
    strange = {job for held in one.dynamic.values() for job in held.anomalous_jobs[:2]}
    if strange:
        notes.append(f"Anomalous jobs are, among others: {', '.join(sorted(strange)[:3])}.")
    return Result(
        "profile",
        sections=[
            Section.told("what", "", said),
            Section.told("static", "Known at submission", tables=[Table("static", static)]),
            Section.told("measured", "Measured", tables=[Table("measured", rows)]),
        ],
        records=rows,
        notes=notes,
        values=finite(one.to_dict()),
    )


def _metric_row(name: str, summary: MetricSummary) -> JsonObject:
    trend, season = summary.trend, summary.season
    return {
        "metric": name,
        "n": summary.n,
        "mean": summary.mean,
        "std": summary.std,
        "q05": summary.quantiles["q05"],
        "q50": summary.quantiles["q50"],
        "q95": summary.quantiles["q95"],
        "trend": trend.direction if trend else "-",
        "per_day": trend.per_day if trend and trend.direction != "steady" else None,
        "by_hour_pct": 100 * season.explained if season else None,
        "high_hour": f"{season.high_hour}:00" if season and season.daily else "",
        "anomalies": summary.anomalies,
    }
