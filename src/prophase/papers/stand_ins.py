"""Other real traces, or synthetic data, that answer in kind when a source's data are not here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from prophase.errors import ProphaseError
from prophase.papers.claims import claim_row, verdict_on
from prophase.papers.findings.finding import PublishedFigure
from prophase.papers.findings.finding_catalogue import published_findings
from prophase.papers.openb.protocol import POLICIES, simulate_openb
from prophase.papers.openb.published_table import PUBLISHED_MEANS
from prophase.papers.pai_sim.simulator import PaiResult, simulate_pai
from prophase.trace.synth.pai import make_pai
from prophase.trace.trace_tables import open_trace

#: findings about waits, which the published rows of PAI leave out
_WAITS = ("mostly_waiting", "sharing_waits", "waits_by_type")
_SLOWDOWN = "slowdown of a job beside another one on the same GPU, at most"
_OPENB = "of openb, Alibaba's cluster of 2023: 8,152 pods"
#: the simulator's orders, the best first as its README has them
ORDERS = ("shortest", "group_gpu_dur", "group_dur", "user_dur", "fifo")
_PHILLY_GPUS = 600


def beside(data: Path | None, name: str) -> Path | None:
    """Return the folder of another trace beside a source's own, if it is there.

    Examples
    --------
    >>> beside(None, "openb") is None
    True
    """
    folder = None if data is None else data.resolve().parent / name
    return folder if folder is not None and folder.is_dir() else None


def answered_elsewhere(data: Path | None) -> dict[str, tuple[PublishedFigure, str]]:
    """Return figures of related traces by what they measure, each with where it is from."""
    found: dict[str, tuple[PublishedFigure, str]] = {}
    for compute in (_openb, _gavel):
        try:
            found |= compute(data)
        except ProphaseError:
            # a trace that cannot be read answers nothing; the source's own has been read
            continue
    return found


def philly_runs(data: Path | None) -> dict[str, PaiResult]:
    """Return recorded jobs of Philly under every order of the PAI simulator; empty without them."""
    if data is None:
        return {}
    path = data / "philly20k.csv.gz"
    if not path.is_file():
        return {}
    jobs = open_trace(path, source="pai-sim").jobs
    return {
        order: simulate_pai(jobs, gpus=_PHILLY_GPUS, order=order, arrival_rate=-1)
        for order in ORDERS
    }


def _openb(data: Path | None) -> dict[str, tuple[PublishedFigure, str]]:
    folder = beside(data, "openb")
    if folder is None:
        return {}
    trace = open_trace(folder)
    return {
        figure.what: (figure, _OPENB)
        for finding in published_findings(trace, only=_WAITS)
        for figure in finding.figures
        if figure.here is not None
    }


def _gavel(data: Path | None) -> dict[str, tuple[PublishedFigure, str]]:
    folder = beside(data, "gavel-throughput")
    if folder is None:
        return {}
    slower = 100 * slowdowns(open_trace(folder, source="gavel").tables["throughput"])
    words = (
        f"of {len(slower):,} pairs that Gavel measured on V100 and P100, half of them below "
        f"{slower.median():.0f} %"
    )
    return {_SLOWDOWN: (PublishedFigure(_SLOWDOWN, "%", float(slower.max()), (28.0,)), words)}


def slowdowns(speeds: pd.DataFrame) -> pd.Series:
    """Return how much of its speed each job loses beside another one, as a share.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {
    ...         "gpu_type": "v100",
    ...         "consolidated": True,
    ...         "gpus": 1,
    ...         "batch_size": 8,
    ...         "model": "a",
    ...         "partner_model": [None, "b"],
    ...         "steps_per_s": [4.0, 3.0],
    ...     }
    ... )
    >>> slowdowns(table).tolist()
    [0.25]
    """
    single = speeds[(speeds["gpus"] == 1) & speeds["consolidated"].astype(bool)]
    keys = ["gpu_type", "model", "batch_size"]
    paired = single["partner_model"].notna()
    alone = single[~paired].groupby(keys, dropna=False)["steps_per_s"].first()
    both = single[paired].join(alone.rename("alone_per_s"), on=keys)
    lost = 1 - both["steps_per_s"] / both["alone_per_s"]
    return lost.dropna().clip(lower=0.0)


Rows = list[dict[str, object]]
#: README of the simulator: order -> mean completion time and wait, in s
PAI_README = {
    "fifo": (7918.0, 2880.0),
    "shortest": (5989.0, 950.0),
    "group_gpu_dur": (6002.0, 963.0),
    "group_dur": (6071.0, 1032.0),
    "user_dur": (6278.0, 1240.0),
}
_LIST = "openb_pod_list_"
#: arrivals go on until requests pass this share of the GPUs
_ARRIVED = 1.32


def openb_stand_in(random_state: int = 0) -> Rows:
    """Return what six policies do with synthetic pods, beside the printed means.

    Examples
    --------
    >>> rows = openb_stand_in()
    >>> rows[-1]["item"], rows[-1]["verdict"]
    ('ranking', 'in kind')
    """
    trace = make_pai(6_000, days=3.0, random_state=random_state)
    pods = trace.jobs[trace.jobs["request_gpus"].fillna(0) > 0].reset_index(drop=True)
    gpus = np.clip(np.floor(pods["request_gpus"]), 1, 8)
    pods = pods.assign(
        gpu_type=None,
        attr_num_gpu=gpus,
        attr_gpu_milli=np.where(pods["request_gpus"] < 1, 1000 * pods["request_gpus"], 1000),
    ).dropna(subset=["request_cpu_cores", "request_memory_gib"], ignore_index=True)
    nodes = trace.nodes[trace.nodes["gpus"] > 0].reset_index(drop=True)
    rng = np.random.default_rng(random_state)
    asked = (pods["attr_num_gpu"] * pods["attr_gpu_milli"] / 1000).to_numpy(float)
    drawn = rng.integers(0, len(pods), int(3 * _ARRIVED * nodes["gpus"].sum() / asked.mean()))
    count = int(np.searchsorted(np.cumsum(asked[drawn]), _ARRIVED * nodes["gpus"].sum()))
    rank = rng.permutation(len(nodes))
    filled: dict[str, float] = {}
    rows: Rows = []
    for number, place in enumerate(POLICIES):
        found = simulate_openb(pods, nodes, arrivals=drawn[:count], node_rank=rank, place=place)
        filled[place] = float(found.allocation_pct[100])
        printed = PUBLISHED_MEANS["allocation_pct", 100][number]
        rows.append(
            claim_row(
                f"default list, {place}",
                "GPUs allocated when 100 % have been asked for, %",
                f"{printed:.2f}",
                f"{filled[place]:.2f}",
                "needs data",
                "ours is of other pods and another cluster",
            )
        )
    best = max(filled, key=filled.__getitem__)
    rows.append(
        claim_row(
            "ranking",
            "the policy that fills the most GPUs",
            "fgd",
            best,
            verdict_on(best == "fgd", real=False),
        )
    )
    return rows


def readme_rows(data: Path | None) -> Rows:
    """Return the README's numbers, and whether orders rank the same on recorded jobs of Philly."""
    rows: Rows = [
        claim_row(
            f"README, {order}",
            "mean completion time and wait, s",
            f"{completion:,.0f}, {wait:,.0f}",
            "",
            "needs data",
            "published for 20,000 jobs of a list of 100,000: prophase simulate "
            f"LIST.csv --source pai-sim --preset pai --pai-arrival-rate 1000 --order {order}",
        )
        for order, (completion, wait) in PAI_README.items()
    ]
    runs = philly_runs(data)
    if not runs:
        return rows
    theirs = sorted(PAI_README, key=lambda order: PAI_README[order][0])
    ours = sorted(runs, key=lambda order: runs[order].mean_jct_s)
    times = ", ".join(f"{runs[order].mean_jct_s:,.0f}" for order in ours)
    rows.append(
        claim_row(
            "README, ranking",
            "orders by mean completion time, the shortest first",
            ", ".join(theirs),
            ", ".join(ours),
            verdict_on(theirs == ours, real=False),
            f"20,000 jobs of Microsoft's Philly on 600 GPUs: {times} s",
        )
    )
    return rows


def pai_sim_stand_in(random_state: int = 0) -> Rows:
    """Return what shortest-first saves under the simulator's rules on synthetic jobs."""
    trace = make_pai(8_000, days=3.0, random_state=random_state)
    jobs = trace.jobs[trace.jobs["duration_s"] > 0].reset_index(drop=True)
    gpus = max(1, round(0.5 * float(trace.nodes["gpus"].sum())))
    fifo, shortest = (
        simulate_pai(jobs, gpus=gpus, order=order, arrival_rate=-1)
        for order in ("fifo", "shortest")
    )
    rows = readme_rows(None)
    theirs = 100 * (1 - PAI_README["shortest"][0] / PAI_README["fifo"][0])
    ours = 100 * (1 - shortest.mean_jct_s / fifo.mean_jct_s)
    rows.append(
        claim_row(
            "README, in kind",
            "mean completion time that shortest-first saves, %",
            f"{theirs:.0f}",
            f"{ours:.0f}",
            verdict_on(ours > 0, real=False),
            f"{len(jobs):,} synthetic jobs on {gpus:,} GPUs",
        )
    )
    return rows


def also(name: str, data: Path | None) -> Rows:
    """Return what a source has printed beside that which its replays are compared with."""
    if data is None:
        return []
    if name == "pai-sim":
        return readme_rows(data)
    if name != "openb":
        return []
    lists = sorted(path.stem.removeprefix(_LIST) for path in data.glob(f"{_LIST}*.csv"))
    return [
        claim_row(
            f"other lists, {one}",
            "the same curves for another mix of pods",
            "curves of ATC 2023",
            "",
            "needs data",
            f"its expected results are not at hand; ours: prophase reproduce openb --lists {one}",
        )
        for one in lists
        if one != "default"
    ]
