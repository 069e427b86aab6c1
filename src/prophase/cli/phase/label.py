"""prophase phase label: the phase of every sample, of a file or as it happens."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase import units
from prophase.cli.output import Format, FormatOption, finite, say, show_result, write_table
from prophase.cli.phase.options import ModelArgument, open_phases, read_usage
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import FiguresOption
from prophase.cli.trace_options import (
    LastOption,
    ReaderOption,
    SourceOption,
    StepOption,
    UrlOption,
    named_values,
)
from prophase.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from prophase.phase.detector import PhaseDetector
    from prophase.phase.phase_changes import PhaseChange


@dataclass(frozen=True)
class PrometheusSettings:
    """Which samples a Prometheus server is asked for."""

    url: UrlOption = None
    query: Annotated[
        list[str] | None,
        typer.Option("--query", help="Prometheus: METRIC=EXPRESSION; repeatable."),
    ] = None
    series_label: Annotated[
        str, typer.Option(help="Prometheus: label that names a series."), Formerly("--by")
    ] = "pod"
    step: StepOption = "30s"
    last: LastOption = "1h"


def command(
    path: ModelArgument,
    server: PrometheusSettings,
    series: Annotated[
        Path | None, typer.Argument(help="Series to label: a workspace, file or folder.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="CSV file for a row per sample. [default: a summary]")
    ] = None,
    demand_out: Annotated[
        Path | None,
        typer.Option(help="CSV file with what each phase holds, for simulate --demand."),
    ] = None,
    hold: Annotated[
        str, typer.Option(help="With --demand-out: max, q95, q50 or mean of the phase.")
    ] = "max",
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Wait for further rows, and print changes of phase."),
    ] = False,
    changes: Annotated[
        bool, typer.Option("--changes", help="Print changes of phase up to now, and stop.")
    ] = False,
    figures: FiguresOption = None,
    source: SourceOption = None,
    option: ReaderOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Give every sample its phase; no phase depends on a later sample.

    With `--follow`, a growing CSV or a Prometheus server is watched and changes are printed as
    they happen, as text or as a JSON document per line.

    Examples:

    `prophase phase label ws more.csv --out phases.csv`

    `prophase phase label ws more.csv --demand-out demand.csv`

    `prophase phase label phases.model live.csv --follow`

    `prophase phase label phases.model --url http://localhost:9090 --query
    'cpu_cores=sum by (pod) (rate(container_cpu_usage_seconds_total[1m]))' --follow`
    """
    detector = open_phases(path)
    if server.url is None and series is None:
        raise ParameterError("say what to label: a file or folder, or --url of Prometheus.")
    if server.url is not None:
        if series is not None or out is not None:
            raise ParameterError("--url goes without a file of series and without --out.")
        changed = _from_prometheus(detector, server.url, server, follow)
        _tell(changed, format, detector.usual_step_s_)
        return
    assert series is not None
    if follow or changes:
        _tell(_from_file(detector, series, follow), format, detector.usual_step_s_)
        return
    from prophase.phase.phase_result import labels_result

    usage = read_usage(series, source, option)
    labels = detector.label(usage)
    if out is not None:
        write_table(labels, out, "sample")
    if demand_out is not None:
        _write_demand(detector, usage, demand_out, hold)
    if figures is not None:
        from prophase.plots.phase_figures import save_figures

        drawn = save_figures(detector, usage, figures)
        say(f"Drew {', '.join(str(one) for one in drawn)}.")
    show_result(labels_result(detector, usage, labels), format)


def _write_demand(detector: PhaseDetector, usage: pd.DataFrame, out: Path, hold: str) -> None:
    from prophase.phase.phase_demand import killed_share, phase_demand

    table = phase_demand(detector, usage, hold=hold)
    write_table(table, out, "row")
    share = killed_share(table)
    if share > 0:
        say(f"{units.percent(share)} of the series take more memory than a phase of theirs holds.")


def _from_file(detector: PhaseDetector, path: Path, follow: bool) -> Iterable[PhaseChange]:
    from prophase.phase.phase_changes import PhaseWatch, tail_rows
    from prophase.trace.readers.containers import ORIGINAL_FEATURES

    return PhaseWatch(detector, ORIGINAL_FEATURES, say).changes(tail_rows(path, follow=follow))


def _from_prometheus(
    detector: PhaseDetector, url: str, server: PrometheusSettings, follow: bool
) -> Iterable[PhaseChange]:
    import time

    from prophase.integrations.prometheus.usage import follow_prometheus
    from prophase.phase.phase_changes import PhaseWatch

    queries = named_values(server.query, "--query")
    lacking = [metric for metric in detector.metrics_ if metric not in queries]
    if lacking:
        raise ParameterError(
            f"the phases were learnt with {', '.join(detector.metrics_)}; give a --query for "
            f"{', '.join(lacking)} as well, as METRIC=EXPRESSION."
        )
    watch = PhaseWatch(detector, tell=say)
    asked = {metric: queries[metric] for metric in detector.metrics_}
    step_s = units.parse_duration(server.step, bare="s", where="--step", positive=True)
    begin = time.time() - units.parse_duration(server.last, bare="s", where="--last")
    for sample in follow_prometheus(
        url, asked, step_s=step_s, label=server.series_label, since_s=begin, go_on=lambda: follow
    ):
        change = watch.push(*sample)
        if change is not None:
            yield change


def _tell(changes: Iterable[PhaseChange], format: Format, step_s: float) -> None:
    """Print changes as they come; end quietly when the user has seen enough."""
    if format not in (Format.table, Format.csv, Format.json):
        raise ParameterError(
            f"--format {format.value}: changes are written as they come. Choose table, csv or json."
        )
    if format is Format.csv:
        typer.echo("series_id,time_s,phase,before,new,next_phase,remaining_samples")
    try:
        for change in changes:
            typer.echo(_line(change, format, step_s))
    except KeyboardInterrupt:
        say("Stopped.")


def _line(change: PhaseChange, format: Format, step_s: float) -> str:
    step, ahead = change.step, change.forecast
    if format is Format.table:
        told = f"phase {step.before} -> {step.phase}" if step.changed else f"phase {step.phase}"
        told = told.replace("-1 ->", "none ->")
        unlike = "  unlike anything known" if step.new else ""
        then = (
            f"  next {ahead.next_phase} ({100 * ahead.probability:.0f} %) in about "
            f"{units.duration(ahead.remaining.value * step_s)}"
            if ahead
            else ""
        )
        return f"{step.time_s:.0f} s  {change.series_id}  {told}{unlike}{then}"
    fields = {
        "series_id": change.series_id,
        "time_s": step.time_s,
        "phase": step.phase,
        "before": step.before,
        "new": step.new,
        "next_phase": ahead.next_phase if ahead else None,
        "remaining_samples": ahead.remaining.value if ahead else None,
    }
    if format is Format.json:
        return json.dumps(finite(fields))
    return ",".join("" if value is None else str(value) for value in fields.values())
