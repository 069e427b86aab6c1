"""prophase profile show: what is profile 8?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import Format, FormatOption, finite, show_result, text_table
from prophase.cli.profile.fit import overview
from prophase.cli.profile.options import ModelArgument, open_profiles
from prophase.json_types import JsonObject
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.profile.clusters.metric_summary import MetricSummary
    from prophase.profile.clusters.profiles import Profile

#: lets -1, the number of the outliers, through
CONTEXT = {"ignore_unknown_options": True}


def command(
    path: ModelArgument,
    profile: Annotated[
        str | None, typer.Argument(help="Number or name of one profile; -1 or outliers. All else.")
    ] = None,
    format: FormatOption = Format.table,
) -> None:
    """Say what a profile is: its metadata, and what its jobs use; or list all profiles.

    JSON holds all there is: quantiles, histograms, trends, seasons, anomalous jobs.

    Examples:

    `prophase profile show ws`

    `prophase profile show ws 8`

    `prophase profile show profiles.model outliers --format json`
    """
    profiler = open_profiles(path)
    if profile is None:
        remarks = list(profiler.notes_)
        show_result(
            Result.of_rows(
                "profile-show", overview(profiler), values=profiler.to_dict(), notes=remarks
            ),
            format,
        )
        return
    one = profiler.profile(profile)
    rows = [_metric_row(name, summary) for name, summary in one.dynamic.items()]
    if format is Format.table:
        _tell(one)
    show_result(
        Result.of_rows("profile-show", rows, values=finite(one.to_dict()), notes=_remarks(one)),
        format,
    )


def _tell(one: Profile) -> None:
    """Print the static part; the table of metrics follows."""
    typer.echo(one.sentence())
    if one.separation is not None:
        said = (
            f"Strength of membership {one.strength:.2f}; silhouette {one.separation.mean:.2f}, "
            f"{one.separation.negative_frac:.0%} of the jobs nearer to another profile"
        )
        typer.echo(said + (": doubtful." if one.separation.doubtful else "."))
    typer.echo("\nKnown at submission")
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
    for line in text_table(static):
        typer.echo(f"  {line}")
    typer.echo("\nMeasured")


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


def _remarks(one: Profile) -> list[str]:
    said = [
        "trend: does the metric move with time; by_hour_pct: part of the differences that the hour "
        "of the day explains, and the hour of the highest values if that is not chance; anomalies: "
        "jobs far outside. A dash: these jobs cannot tell."
    ]
    strange = {job for held in one.dynamic.values() for job in held.anomalous_jobs[:2]}
    if strange:
        said.append(f"Anomalous jobs are, among others: {', '.join(sorted(strange)[:3])}.")
    return said
