"""Speeds of GPU types, and how jobs that share a GPU slow each other down: stated or measured."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from prophase.errors import InputError, ParameterError
from prophase.sim.rules.parsing import as_rule, at_least, number_column
from prophase.sim.signatures import ASK_GPUS, ASK_MILLI, Floats, Ints
from prophase.sim.workload import Workload


@dataclass(frozen=True)
class Sharing:
    """How GPUs are shared, and what that costs.

    Attributes
    ----------
    per_gpu : int
        0: jobs get the share they ask for. 1: nobody shares, a fraction takes a whole GPU. From
        2: a job that asks for up to one GPU gets at most 1 / ``per_gpu`` of one, so that so many
        fit; jobs of several GPUs keep theirs for themselves.
    slowdown : float
        Each neighbour on a GPU makes a job so much longer: 0.28 is 28 %. A job of several GPUs
        goes as its slowest one does.
    table : DataFrame, optional
        Measured instead of stated: ``kind``, ``neighbour``, and ``speed``, the factor (0 to 1)
        that the neighbour leaves. Pairs not listed fall back to ``slowdown``.
    kind_column : str
        Column of the job table that names the kinds of the table.
    """

    per_gpu: int = 0
    slowdown: float = 0.0
    table: pd.DataFrame | None = None
    kind_column: str = "task"

    def __post_init__(self) -> None:
        at_least("sharing per_gpu", self.per_gpu, 0)
        at_least("sharing slowdown", self.slowdown, 0)
        if self.table is not None:
            missing = {"kind", "neighbour", "speed"} - set(self.table.columns)
            if missing:
                raise InputError(f"the sharing table lacks {', '.join(sorted(missing))}.")
            number_column(self.table, "speed", "sharing table", above=0, most=10)

    @property
    def slows(self) -> bool:
        """Tell whether neighbours make a difference."""
        return self.slowdown > 0 or self.table is not None

    def apply(self, workload: Workload) -> Workload:
        """Return the workload with the requests that sharing leaves."""
        if self.per_gpu == 0:
            return workload
        asks = workload.asks.copy()
        small = (asks[:, ASK_GPUS] == 1) & (asks[:, ASK_MILLI] > 0)
        share = 1000 // self.per_gpu
        asks[small, ASK_MILLI] = (
            1000 if self.per_gpu == 1 else np.minimum(asks[small, ASK_MILLI], share)
        )
        return replace(workload, asks=asks)

    def pairs(self, kinds: list[str]) -> Floats:
        """Return the factor that each kind leaves to each other."""
        factor = np.full((len(kinds), len(kinds)), 1.0 / (1.0 + self.slowdown))
        if self.table is not None:
            place = {kind: row for row, kind in enumerate(kinds)}
            for row in self.table.to_dict("records"):
                one, other = place.get(str(row["kind"])), place.get(str(row["neighbour"]))
                if one is not None and other is not None:
                    factor[one, other] = float(row["speed"])
        return factor


@dataclass(frozen=True)
class Speeds:
    """How fast each kind of job runs on each GPU type, relative to the run time in the trace.

    Attributes
    ----------
    table : DataFrame
        ``gpu_type`` and ``speed``, and ``kind`` if kinds differ; ``*`` or an empty kind holds for
        all others. Types that are not listed run at speed 1.
    reference : str, optional
        The GPU type the trace's run times were measured on: speeds are divided by that type's.
    """

    table: pd.DataFrame
    kind_column: str = "task"
    reference: str | None = None

    def __post_init__(self) -> None:
        missing = {"gpu_type", "speed"} - set(self.table.columns)
        if missing:
            raise InputError(f"the table of speeds lacks {', '.join(sorted(missing))}.")
        number_column(self.table, "speed", "table of speeds", above=0)

    def matrix(self, kinds: list[str], gpu_types: tuple[str, ...]) -> Floats:
        """Return the speed of each kind on each GPU type of the cluster."""
        named = self.table["kind"].fillna("*").astype(str) if "kind" in self.table else "*"
        rows = self.table.assign(kind=named)
        known = {
            (str(kind), str(gpu_type)): float(speed)
            for kind, gpu_type, speed in rows[["kind", "gpu_type", "speed"]].to_numpy()
        }

        def speed(kind: str, gpu_type: str) -> float:
            return known.get((kind, gpu_type), known.get(("*", gpu_type), 1.0))

        return np.array(
            [
                [
                    speed(kind, gpu_type) / (speed(kind, self.reference) if self.reference else 1.0)
                    for gpu_type in gpu_types
                ]
                for kind in kinds
            ]
        )


def kinds_of(workload: Workload, column: str) -> tuple[Ints, list[str]]:
    """Return each job's kind as a row number, and the names of the rows."""
    if column not in workload.jobs:
        return np.zeros(len(workload), np.int64), [""]
    codes, names = pd.factorize(workload.jobs[column].fillna("").astype(str))
    return codes.astype(np.int64), [str(name) for name in names]


# Tables of speeds and of sharing, made from what others measured.
#
# Three forms are known: training steps per second alone and beside a partner (as Gavel publishes
# them), seconds per epoch by GPU type (as Zeus does), and the run time of every single job on
# every GPU type (as Hydra does, in columns ``after_duration_<type>_s``).


_OWN_RUN = re.compile(r"after_duration_(\w+)_s")


def sharing_from_throughput(
    table: pd.DataFrame, *, gpu_type: str | None = None, slowdown: float = 0.28, **options: object
) -> Sharing:
    """Return what neighbours leave of each other's speed, as measured on one GPU.

    Parameters
    ----------
    table : DataFrame
        ``model``, ``batch_size``, ``gpus``, ``partner_model``, ``partner_batch_size``,
        ``steps_per_s``; rows without a partner are runs alone. Pairs with 0 steps did not fit or
        were not measured; they fall back to ``slowdown``.
    gpu_type : str, optional
        Use the measurements on this type alone; otherwise the median over types is taken.
    """
    _need(table, "model", "batch_size", "partner_model", "steps_per_s", "gpu_type")
    single = table[(table["gpus"] == 1) & table["consolidated"].astype(bool)]
    if gpu_type is not None:
        single = single[single["gpu_type"] == gpu_type]
    alone = single[single["partner_model"].isna()]
    pairs = single[single["partner_model"].notna() & (single["steps_per_s"] > 0)]
    if pairs.empty or alone.empty:
        raise InputError("the table of throughputs has no pair measured on one GPU.")
    keys = ["gpu_type", "model", "batch_size"]
    base = alone.groupby(keys)["steps_per_s"].first().rename("alone_per_s").reset_index()
    ratio = pairs.merge(base, on=keys, how="left", validate="many_to_one")
    ratio = ratio.assign(speed=(ratio["steps_per_s"] / ratio["alone_per_s"]).clip(upper=1.0))
    ratio = ratio.dropna(subset=["speed"])
    rows = []
    for own, partner in (
        (["model", "batch_size"], ["partner_model", "partner_batch_size"]),
        (["model"], ["partner_model"]),
    ):
        grouped = ratio.groupby([*own, *partner])["speed"].median().reset_index()
        rows.append(
            pd.DataFrame(
                {
                    "kind": _kind(grouped, own),
                    "neighbour": _kind(grouped, partner),
                    "speed": grouped["speed"],
                }
            )
        )
    return Sharing(table=pd.concat(rows, ignore_index=True), slowdown=slowdown, **options)  # type: ignore[arg-type]


def speeds_from_measurements(table: pd.DataFrame, *, reference: str) -> Speeds:
    """Return how fast each kind runs on each GPU type, the reference type being 1.

    Takes steps per second (``model``, ``steps_per_s``; runs alone on one GPU) or seconds per
    epoch (``network``, ``time_per_epoch_s``).
    """
    if "steps_per_s" in table:
        _need(table, "model", "gpu_type")
        alone = table[
            table["partner_model"].isna()
            & (table["gpus"] == 1)
            & (table["steps_per_s"] > 0)
            & table["consolidated"].astype(bool)
        ]
        rate = alone.assign(kind=alone["model"], rate=alone["steps_per_s"], of=alone["batch_size"])
    else:
        _need(table, "network", "gpu_type", "time_per_epoch_s")
        rate = table.assign(
            kind=table["network"], rate=1.0 / table["time_per_epoch_s"], of=table["batch_size"]
        )
    # the same kind and batch size on both types, so that like is compared with like
    each = rate.groupby(["kind", "of", "gpu_type"])["rate"].median().unstack("gpu_type")
    if reference not in each:
        raise InputError(
            f"nothing was measured on {reference!r}. Measured: {', '.join(map(str, each))}."
        )
    ratio = each.div(each[reference], axis=0).groupby(level="kind").median()
    long = ratio.reset_index().melt(id_vars="kind", value_name="speed").dropna()
    return Speeds(long[["kind", "gpu_type", "speed"]], reference=reference)


def speeds_from_own_runs(workload: Workload) -> Speeds:
    """Return the speed of every single job on every GPU type, relative to its ``duration_s``."""
    columns = {match[1]: name for name in workload.jobs if (match := _OWN_RUN.fullmatch(str(name)))}
    if not columns:
        raise InputError("the job table has no column after_duration_<type>_s.")
    parts = [
        pd.DataFrame(
            {
                "kind": workload.jobs["job_id"].astype(str),
                "gpu_type": gpu_type,
                "speed": workload.duration_s / workload.jobs[name].to_numpy(float),
            }
        )
        for gpu_type, name in columns.items()
    ]
    table = pd.concat(parts, ignore_index=True)
    return Speeds(table[table["speed"] > 0], kind_column="job_id")


def as_speeds(value: Speeds | str | None, workload: Workload) -> Speeds | None:
    """Read speeds as people name them.

    ``'own'``: every job's run time per GPU type stands in its own columns. ``'PATH'`` or
    ``'table=PATH,kind_column=...'``: a table of speeds. ``'measured=PATH,reference=v100'``: a
    folder or file of measurements, as Gavel or Zeus publish them.
    """
    if not isinstance(value, str):
        return value
    if value == "own":
        return speeds_from_own_runs(workload)
    if not value.startswith("measured="):
        return as_rule(Speeds, value, "speeds")
    options = dict(part.partition("=")[::2] for part in value.split(","))
    if set(options) - {"measured", "reference", "kind_column"} or "reference" not in options:
        raise ParameterError(
            f"speeds {value!r}: write measured=PATH,reference=TYPE,kind_column=NAME."
        )
    found = speeds_from_measurements(
        _measurements(options["measured"]), reference=options["reference"]
    )
    return replace(found, kind_column=options.get("kind_column", found.kind_column))


def as_sharing(value: Sharing | str | None) -> Sharing | None:
    """Read how GPUs are shared; ``'measured=PATH'`` (and other options) takes Gavel's pairs."""
    if not isinstance(value, str) or not value.startswith("measured="):
        return as_rule(Sharing, value, "share")
    first, _, rest = value.partition(",")
    options = as_rule(Sharing, rest, "share") or Sharing()
    found = sharing_from_throughput(_measurements(first.removeprefix("measured=")))
    return replace(options, table=found.table, slowdown=options.slowdown or found.slowdown)


def _measurements(path: str) -> pd.DataFrame:
    # Ibis takes longer to load than a small replay takes
    from prophase.trace.trace_tables import open_trace

    tables = open_trace(Path(path)).tables
    for name in ("throughput", "time_per_epoch"):
        if name in tables:
            return tables[name]
    raise InputError(f"{path}: holds no measurements of throughput or time per epoch.")


def _kind(rows: pd.DataFrame, columns: list[str]) -> pd.Series:
    names = rows[columns[0]].astype(str)
    return names if len(columns) == 1 else names + "/" + rows[columns[1]].map("{:g}".format)


def _need(table: pd.DataFrame, *columns: str) -> None:
    missing = [name for name in columns if name not in table]
    if missing:
        raise InputError(f"the table of measurements lacks {', '.join(missing)}.")
