"""What simulate writes beside its answer: tables, figures, and a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import (
    check_file,
    check_folder,
    check_table,
    kept_folder,
    write_figures,
    write_page,
    write_table,
)
from prophase.cli.shared_options import FiguresOption, PageOption, PricesOption, SaveOption
from prophase.cli.trace_options import BY
from prophase.errors import ParameterError
from prophase.json_types import JsonObject

if TYPE_CHECKING:
    import pandas as pd

    from prophase.result import Result
    from prophase.sim import Cluster, Schedule, Workload


@dataclass(frozen=True)
class SimulateOutputs:
    """Where tables, figures and page go, and what the schedule is measured by."""

    by: Annotated[
        str | None,
        BY,
    ] = None
    prices: PricesOption = None
    power: Annotated[
        str | None,
        typer.Option(
            help="Add energy: a table of gpu_type, idle_w, busy_w per node, or "
            "'table=FILE,pue=1.3'."
        ),
    ] = None
    carbon: Annotated[
        str | None,
        typer.Option(help="Add CO2 (with --power): a table of time_s, g_per_kwh."),
    ] = None
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
    keep: SaveOption = None

    def check(self, path: Path, *, preset: str | None) -> None:
        """Say before the work begins what cannot be written."""
        if preset is not None:
            for name, value in vars(self).items():
                if value is not None and name != "out":
                    option = f"--{name.replace('_', '-')}"
                    raise ParameterError(
                        f"{option}: --preset {preset} answers with its own measures only."
                    )
        check_table("--out", self.out)
        check_table("--attempts-out", self.attempts_out)
        check_file("--page", self.page)
        check_folder("--figures", self.figures)
        kept_folder(self.keep, path)

    def check_measures(self, workload: Workload, cluster: Cluster) -> None:
        """Say before the replay that a class or a price is not known."""
        from prophase.sim.measures.cost import gpu_prices
        from prophase.sim.measures.job_classes import groups_of
        from prophase.trace.prices import Prices

        if self.by is not None:
            groups_of(workload, self.by)
        if self.prices is not None:
            gpu_prices(cluster, Prices.read(self.prices))
        if self.carbon is not None and self.power is None:
            raise ParameterError("--carbon needs --power: CO2 is grams per kWh times energy.")
        if self.power is not None:
            from prophase.sim.measures.energy import Power
            from prophase.sim.rules.carbon import CarbonSeries

            Power.of(self.power).watts(cluster)
            if self.carbon is not None:
                CarbonSeries.of(self.carbon)

    def measure(self, schedule: Schedule, *, shown: bool) -> JsonObject:
        """Return the measures; a page shows classes even if nobody asked for any."""
        by = self.by or ("class" if self.page is not None or shown else None)
        found = schedule.metrics(by=by, prices=self.prices)
        if self.power is not None:
            found["energy"] = schedule.energy(self.power, self.carbon)[0]
        return found

    def job_table(self, schedule: Schedule) -> pd.DataFrame:
        """Return one row per job, with energy and CO2 if power is known."""
        table = schedule.table
        if self.power is None:
            return table
        per_job = schedule.energy(self.power, self.carbon)[1]
        return table.assign(**{str(name): per_job[name] for name in per_job})

    def write(self, schedule: Schedule, result: Result) -> None:
        """Write figures, page and the table of attempts."""
        if self.attempts_out is not None:
            write_table(schedule.attempt_table, self.attempts_out, "attempt row")
        if self.figures is not None:
            write_figures(result, self.figures)
        if self.page is not None:
            write_page(result, self.page)
