"""What simulate writes beside its answer: tables, figures, and a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prophase.cli.output import Format, emit, say, typed_command
from prophase.cli.shared_options import FiguresOption, PageOption, PricesOption
from prophase.errors import ParameterError, storage_error
from prophase.plural import counted

if TYPE_CHECKING:
    import pandas as pd

    from prophase.plots.page import Page
    from prophase.sim import Cluster, Schedule, Workload

_ENDINGS = (".csv", ".csv.gz", ".parquet", ".json")
_CLASS_COLUMNS = (
    "jobs", "mean_wait_s", "p50_wait_s", "p90_wait_s", "p99_wait_s", "mean_jct_s",
    "mean_bounded_slowdown", "gpu_hours_allocated", "cost",
)  # fmt: skip
_MOST_CLASSES = 20
#: what the printed table leaves to JSON, CSV and the page
_DETAILS = ("p50_bounded", "p90_bounded", "p99_bounded", "waited_over_1m", "waited_over_10m")


@dataclass(frozen=True)
class SimulateOutputs:
    """Where tables, figures and page go, and what the schedule is measured by."""

    by: Annotated[
        str | None,
        typer.Option(help="Group jobs by class, gpus, or a column such as user or queue."),
    ] = None
    prices: PricesOption = None
    out: Annotated[
        Path | None,
        typer.Option(help="Write one row per job to this .csv, .parquet or .json file."),
    ] = None
    attempts_out: Annotated[
        Path | None,
        typer.Option(help="Write one row per attempt and instance, with node and GPUs."),
    ] = None
    page: PageOption = None
    figures: FiguresOption = None

    def check(self, *, preset: str | None) -> None:
        """Say before the work begins what cannot be written."""
        if preset is not None:
            for name, value in vars(self).items():
                if value is not None and name != "out":
                    option = f"--{name.replace('_', '-')}"
                    raise ParameterError(
                        f"{option}: --preset {preset} answers with its own measures only."
                    )
        for option, table in (("--out", self.out), ("--attempts-out", self.attempts_out)):
            if table is not None:
                _check_table(option, table)
        if self.page is not None:
            if self.page.is_dir():
                raise ParameterError(f"--page {self.page}: is a folder. Name a file: report.html.")
            _check_folder("--page", self.page)
        if self.figures is not None and self.figures.exists() and not self.figures.is_dir():
            raise ParameterError(f"--figures {self.figures}: is a file. Name a folder.")

    def check_measures(self, workload: Workload, cluster: Cluster) -> None:
        """Say before the replay that a class or a price is not known."""
        from prophase.sim.measures.cost import gpu_prices
        from prophase.sim.measures.job_classes import groups_of
        from prophase.trace.prices import Prices

        if self.by is not None:
            groups_of(workload, self.by)
        if self.prices is not None:
            gpu_prices(cluster, Prices.read(self.prices))

    def measure(self, schedule: Schedule, *, shown: bool) -> dict[str, Any]:
        """Return the measures; a page shows classes even if nobody asked for any."""
        by = self.by or ("class" if self.page is not None or shown else None)
        return schedule.metrics(by=by, prices=self.prices)

    def write(self, schedule: Schedule, clock: str, page: Callable[[], Page]) -> None:
        """Write figures, page and the table of attempts."""
        if self.attempts_out is not None:
            write_table(schedule.attempt_table, self.attempts_out, "attempt row")
        if self.figures is not None:
            from prophase.plots.schedule_figures import write_schedule_figures

            names = write_schedule_figures(schedule, self.figures, by=self.by, clock=clock)
            say(f"Wrote {len(names)} figures to {self.figures}: {', '.join(names)}.")
        if self.page is not None:
            from prophase.plots.page import write_page

            write_page(page(), self.page)
            say(f"Wrote {self.page}.")


def page_of(
    schedule: Schedule,
    metrics: Mapping[str, Any],
    *,
    clock: str,
    data: str,
    seed: int,
    theory: Mapping[str, Any] | None = None,
) -> Page:
    """Return the page of a schedule, with what tells it from another."""
    from prophase.plots.schedule_page import schedule_page

    about = {"command": typed_command(), "seed": str(seed), "data hash": data}
    return schedule_page(schedule, metrics, clock=clock, about=about, theory=theory)


def write_table(table: pd.DataFrame, target: Path, what: str) -> None:
    """Write a table in the format its name ends in."""
    try:
        if target.name.endswith((".csv", ".csv.gz")):
            table.to_csv(target, index=False)
        elif target.suffix == ".parquet":
            table.to_parquet(target, index=False)
        else:
            table.to_json(target, orient="records", double_precision=15)
    except OSError as cause:
        raise storage_error(cause, target) from cause
    say(f"Wrote {counted(len(table), what)} to {target}.")


def measure_rows(metrics: Mapping[str, Any], format: Format) -> list[dict[str, Any]]:
    """One line per number; the printed table leaves out details and what is not there."""
    short, rows = format is Format.table, []
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            rows += [
                {"measure": f"{name}.{part}", "value": number}
                for part, number in value.items()
                if number or not short
            ]
        elif not (short and (value is None or name.startswith(_DETAILS))):
            rows.append({"measure": name, "value": value})
    return rows


def class_rows(classes: list[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    """One line per class and number, for CSV."""
    return [
        {"measure": f"{name} of {by} {row[by]}", "value": value}
        for row in classes
        for name, value in row.items()
        if name != by
    ]


def print_classes(classes: list[dict[str, Any]], by: str) -> None:
    """Print the classes below the table of all jobs."""
    typer.echo(f"\nBy {by}\n")
    shown = [
        {by: row[by], **{name: row[name] for name in _CLASS_COLUMNS if name in row}}
        for row in classes[:_MOST_CLASSES]
    ]
    left_out = len(classes) - len(shown)
    more = [f"{left_out:,} smaller classes are not shown; --format json has them."]
    emit(shown, Format.table, remarks=more if left_out else [])


def _check_table(option: str, target: Path) -> None:
    if not target.name.endswith(_ENDINGS):
        raise ParameterError(f"{option} {target}: end the name in {', '.join(_ENDINGS)}.")
    _check_folder(option, target)


def _check_folder(option: str, target: Path) -> None:
    if not target.resolve().parent.is_dir():
        raise ParameterError(f"{option} {target}: the folder {target.parent} does not exist.")
