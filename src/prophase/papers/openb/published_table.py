"""The whole table of the fragmentation experiments, beside what was published.

Source of the published numbers: Weng et al., "Beware of Fragmentation", USENIX ATC 2023, and
the expected results of its simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from prophase.errors import InputError, MissingFileError, ParameterError, nearest
from prophase.json_types import JsonMapping, JsonObject
from prophase.papers.openb.protocol import POLICIES, OpenbCurves, arrival_order, simulate_openb
from prophase.sim.signatures import Floats, Ints
from prophase.trace.trace_tables import open_trace
from prophase.workers import run_all

MEASURES = ("allocation_pct", "fragmentation_ratio_pct", "fragmentation_amount_pct")
NODE_LIST, ARRIVALS = "openb_node_list_gpu_node.csv", "arrival_orders.npz"
_POD_LIST = "openb_pod_list_{}.csv"
#: what the published files call our policies
_NAMES = {
    "random": "01-Random",
    "dot_product": "02-DotProd",
    "gpu_clustering": "03-GpuClustering",
    "gpu_packing": "04-GpuPacking",
    "best_fit": "05-BestFit",
    "fgd": "06-FGD",
}
#: default list, mean of seeds 42..51: (measure, arrival %) -> value by policy
PUBLISHED_MEANS = {
    ("allocation_pct", 100): (86.30, 90.62, 91.65, 91.78, 92.86, 95.23),
    ("allocation_pct", 130): (87.47, 90.85, 91.88, 92.00, 93.08, 95.39),
    ("fragmentation_ratio_pct", 90): (96.6, 94.2, 84.3, 83.6, 74.1, 50.0),
}
PUBLISHED_SEEDS = tuple(range(42, 52))
#: percentage points: every point of a curve; a random curve, less in the mean of several; and
#: means as printed
_EXACT, _RANDOM, _PRINTED = 0.01, 0.7, 0.06


@dataclass(frozen=True)
class OpenbInputs:
    """Tables and arrival orders of the lists and seeds that are run."""

    pods: Mapping[str, pd.DataFrame]
    nodes: pd.DataFrame
    #: (list, seed) -> arrival sequence and node ranks
    orders: Mapping[tuple[str, int], tuple[Ints, Ints]]
    #: list -> published curves, one row per measure, policy and seed
    published: Mapping[str, pd.DataFrame]


def openb_table(
    folder: Path,
    *,
    lists: Sequence[str] = ("default",),
    seeds: Sequence[int] = (42, 43, 44),
    workers: int | str = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, object]]:
    """Run six policies on pod lists and seeds; return one row per list and policy.

    Parameters
    ----------
    folder : Path
        Holds the pod lists, the list of GPU nodes, ``arrival_orders.npz``, and, to compare
        with, ``published_*.csv``.

    Returns
    -------
    list of dict
        Means over the seeds at 100 and 130 % arrival beside the published ones, the largest
        deviation of any point of any curve in percentage points, and a verdict.
    """
    inputs = read_inputs(folder, lists, seeds)
    tasks = list(product(inputs.pods, seeds, POLICIES))
    curves: dict[tuple[str, int, str], OpenbCurves] = {}
    with closing(run_all(_run, inputs, tasks, workers=workers)) as results:
        for task, found in results:
            curves[task] = found
            if progress:
                progress(len(curves), len(tasks))
    return [
        _row(name, place, {s: curves[name, s, place] for s in seeds}, inputs.published.get(name))
        for name, place in product(inputs.pods, POLICIES)
    ]


def read_inputs(folder: Path, lists: Sequence[str], seeds: Sequence[int]) -> OpenbInputs:
    """Read what the experiments need, and refuse what is not there before anything runs."""
    for name in (NODE_LIST, ARRIVALS):
        if not (folder / name).is_file():
            raise MissingFileError(
                f"{folder / name}: is missing. Point --data at the folder of the openb trace, "
                "which holds pod lists, node list and arrival orders."
            )
    held = [
        path.stem.removeprefix(_POD_LIST.partition("{")[0])
        for path in folder.glob(_POD_LIST.format("*"))
    ]
    if not lists or not seeds:
        raise ParameterError("no pod lists or no seeds to run. Name at least one of each.")
    for name in lists:
        if name not in held:
            raise ParameterError(
                f"list {name!r} is unknown. {nearest(name, held)} Known: {', '.join(sorted(held))}."
            )
    paths = {name: folder / _POD_LIST.format(name) for name in dict.fromkeys(lists)}
    orders = {
        (name, seed): arrival_order(folder / ARRIVALS, path, seed)
        for name, path in paths.items()
        for seed in seeds
    }
    return OpenbInputs(
        {name: open_trace(path, source="openb").jobs for name, path in paths.items()},
        open_trace(folder / NODE_LIST, source="openb").nodes,
        orders,
        _published(folder),
    )


def _run(inputs: OpenbInputs, task: tuple[str, int, str]) -> OpenbCurves:
    name, seed, place = task
    order, rank = inputs.orders[name, seed]
    return simulate_openb(
        inputs.pods[name], inputs.nodes, arrivals=order, node_rank=rank, place=place, seed=seed
    )


def _row(
    name: str, place: str, ours: Mapping[int, OpenbCurves], published: pd.DataFrame | None
) -> JsonObject:
    theirs = {seed: found for seed in ours if (found := _theirs(published, place, seed))}
    row: JsonObject = {"list": name, "place": place, "seeds": len(ours)}
    for measure, at in PUBLISHED_MEANS:
        label = f"{measure.removesuffix('_pct')}_at_{at}_pct"
        row[label] = float(np.mean([getattr(curve, measure)[at] for curve in ours.values()]))
        row[f"{label}_published"] = _mean_published(name, place, ours, theirs, measure, at)
    for measure in MEASURES:
        apart = [_apart(getattr(ours[seed], measure), theirs[seed][measure]) for seed in theirs]
        if place == "random" and theirs:
            mean = np.mean([getattr(ours[seed], measure) for seed in theirs], axis=0)
            apart = [_apart(mean, np.mean([theirs[seed][measure] for seed in theirs], axis=0))]
        row[f"max_deviation_{measure.removesuffix('_pct')}"] = max(apart, default=None)
    return row | {"verdict": _verdict(row, place, len(theirs))}


def _mean_published(
    name: str,
    place: str,
    ours: Mapping[int, OpenbCurves],
    theirs: Mapping[int, Mapping[str, Floats]],
    measure: str,
    at: int,
) -> float | None:
    """Return the published mean of the same seeds, from curves or from the printed table."""
    if len(theirs) == len(ours):
        return float(np.mean([curve[measure][at] for curve in theirs.values()]))
    if name == "default" and sorted(ours) == list(PUBLISHED_SEEDS):
        return PUBLISHED_MEANS[measure, at][list(POLICIES).index(place)]
    return None


def _verdict(row: JsonMapping, place: str, curves: int) -> str:
    if curves:
        apart = {name: row[name] for name in row if name.startswith("max_deviation")}
        if place == "random":
            # the ratio divides by what is idle, which random draws move about near the end
            apart.pop("max_deviation_fragmentation_ratio")
            within = _RANDOM / np.sqrt(curves)
            return "agrees in the mean" if max(apart.values()) < within else "DIFFERS"
        if max(apart.values()) < _EXACT:
            return f"agrees at every point of {curves} seeds"
        return "DIFFERS"
    printed = [
        abs(row[name.removesuffix("_published")] - row[name])
        for name in row
        if name.endswith("_published") and row[name] is not None
    ]
    if not printed:
        return "nothing published to compare with"
    within = _RANDOM / np.sqrt(row["seeds"]) if place == "random" else _PRINTED
    return "agrees with the printed means" if max(printed) < within else "DIFFERS"


def _apart(ours: Floats, theirs: Floats) -> float:
    return float(np.nanmax(np.abs(ours - theirs)))


def _published(folder: Path) -> dict[str, pd.DataFrame]:
    """Read published curves; the list they belong to stands in the file's name."""
    found: dict[str, pd.DataFrame] = {}
    for path in sorted(folder.glob("published_*.csv")):
        table = pd.read_csv(path)
        if not {"measure", "policy", "seed"} <= set(table):
            raise InputError(f"{path}: has no columns measure, policy, seed: no published curves.")
        name = path.stem.split("_")[1]
        found[name] = pd.concat([found[name], table]) if name in found else table
    return found


def _theirs(published: pd.DataFrame | None, place: str, seed: int) -> dict[str, Floats] | None:
    if published is None:
        return None
    chosen = (published["policy"] == _NAMES[place]) & (published["seed"] == seed)
    rows = published[chosen].set_index("measure").drop(columns=["policy", "seed"])
    if not set(MEASURES) <= set(rows.index):
        return None
    return {measure: rows.loc[measure].to_numpy(float) for measure in MEASURES}
