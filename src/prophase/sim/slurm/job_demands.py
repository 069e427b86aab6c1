"""What jobs ask of a Slurm site: partition, quality of service, dependencies, array, reservation.

Columns say it (``queue``, ``attr_qos``, ``group``, ``attr_dependency``, ``attr_array_throttle``,
``attr_begin_s``, ``attr_reservation``), or the line that the job was submitted with
(``attr_submit_line``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prophase.sim.signatures import ASK_CPU, ASK_GPUS, ASK_INSTANCES, ASK_MEMORY, Floats, Ints
from prophase.sim.slurm.site_rules import Limit, Partition, Quality, SiteRules
from prophase.sim.workload import Workload

Texts = NDArray[np.object_]

_DEPENDENCY = re.compile(r"(?:--dependency[= ]|-d\s*)(\S+)")
_THROTTLE = re.compile(r"(?:--array[= ]|-a\s*)\S*%(\d+)")
_EXCLUSIVE = re.compile(r"--exclusive(?!=(?:user|mcs))")
_KINDS = ("afterok", "afterany", "afternotok", "aftercorr", "afterburstbuffer", "after")


@dataclass(frozen=True)
class JobDemands:
    """One entry per job."""

    partition: Ints
    qos: Texts
    account: Texts
    user: Texts
    reservation: Texts
    begin_s: Floats
    #: jobs of the array that may run at a time; infinite: all
    throttle: Floats
    array: Texts
    exclusive: NDArray[np.bool_]
    #: (job that waits, job it waits for, whether its start is enough)
    dependencies: list[tuple[int, int, bool]]


def demands_of(workload: Workload, rules: SiteRules) -> JobDemands:
    """Read what every job asks of the site."""
    jobs = workload.jobs
    names = list(rules.partitions)
    place = {name: row for row, name in enumerate(names)}
    usual = place.get(rules.default_partition, 0)
    wanted = _texts(jobs, "queue")
    # of several partitions the first counts
    partition = np.array(
        [place.get(text.split(",")[0], usual if not text else -1) for text in wanted], np.int64
    )
    lines = _texts(jobs, "attr_submit_line")
    account, user = _texts(jobs, "group"), _texts(jobs, "user")
    return JobDemands(
        partition,
        _qualities(_texts(jobs, "attr_qos"), account, user, rules),
        account,
        user,
        _texts(jobs, "attr_reservation"),
        _numbers(jobs, "attr_begin_s", -inf),
        np.minimum(_numbers(jobs, "attr_array_throttle", inf), _found(_THROTTLE, lines)),
        _texts(jobs, "parent_id"),
        np.array([bool(_EXCLUSIVE.search(line)) for line in lines], np.bool_),
        _dependencies(jobs, lines, user),
    )


def _qualities(asked: Texts, account: Texts, user: Texts, rules: SiteRules) -> Texts:
    """Return each job's quality of service; the association's default where it names none."""
    usual = {
        (one.account, one.user): one.default_qos for one in rules.associations if one.default_qos
    }
    found = asked.copy()
    for row in np.flatnonzero(asked == ""):
        found[row] = usual.get((account[row], user[row]), usual.get((account[row], ""), "normal"))
    return found


def _dependencies(jobs: pd.DataFrame, lines: Texts, user: Texts) -> list[tuple[int, int, bool]]:
    texts = _texts(jobs, "attr_dependency")
    row_of: dict[str, list[int]] = {}
    for column in ("job_id", "parent_id"):
        for row, name in enumerate(_texts(jobs, column)):
            if name:
                row_of.setdefault(name, []).append(row)
    names = _texts(jobs, "name")
    latest: dict[tuple[str, str], int] = {}
    found: list[tuple[int, int, bool]] = []
    for row in range(len(jobs)):
        match = _DEPENDENCY.search(lines[row])
        text = texts[row] or (match[1] if match else "")
        if "singleton" in text:
            own = (str(user[row]), str(names[row]))
            if own in latest:
                found.append((row, latest[own], False))
            latest[own] = row
        for part in re.split(r"[,?]", text):
            kind, _, ids = part.partition(":")
            if kind not in _KINDS:
                continue
            for one in ids.split(":"):
                name = one.partition("(")[0].partition("+")[0].removesuffix("_*")
                found += [(row, on, kind == "after") for on in row_of.get(name, ()) if on != row]
    return found


def whole_node_jobs(
    demands: JobDemands, rules: SiteRules, partitions: list[Partition]
) -> NDArray[np.bool_]:
    """Tell which jobs get nodes for themselves."""
    alone = np.array([one.whole_nodes for one in partitions] or [False], np.bool_)
    return demands.exclusive | rules.whole_nodes | alone[np.maximum(demands.partition, 0)]


def beyond_limits(
    workload: Workload, demands: JobDemands, rules: SiteRules, limit_s: Floats
) -> dict[str, NDArray[np.bool_]]:
    """Say which jobs a site would never start, by reason."""
    partitions = list(rules.partitions.values())
    if not partitions:
        return {}
    of = [partitions[max(row, 0)] for row in demands.partition]
    asks = workload.asks
    instances = asks[:, ASK_INSTANCES]
    checks = {
        "name a partition that slurm.conf does not have": demands.partition < 0,
        "are in a partition that is not up": _each(of, lambda one: not one.up),
        "have a time limit above their partition's MaxTime": limit_s
        > _values(of, "max_time_s") + 1e-6,
        "ask for more nodes than their partition's MaxNodes": instances > _values(of, "max_nodes"),
        "ask for fewer nodes than their partition's MinNodes": instances < _values(of, "min_nodes"),
        "ask for more cores per node than their partition's MaxCPUsPerNode": asks[:, ASK_CPU] / 1000
        > _values(of, "max_cores_per_node"),
        "belong to an account or QOS that their partition does not admit": np.array(
            [
                not one.admits(str(account), str(qos))
                for one, account, qos in zip(of, demands.account, demands.qos, strict=True)
            ],
            np.bool_,
        ),
        "need a reservation to use their partition": _each(of, lambda one: one.needs_reservation)
        & (demands.reservation == ""),
    }
    known = rules.qualities
    if known:
        none = Quality("")
        quality = [known.get(str(name), none) for name in demands.qos]
        checks["name a QOS that sacctmgr does not list"] = np.array(
            [str(name) not in known for name in demands.qos], np.bool_
        )
        checks["have a time limit above their QOS's MaxWall"] = limit_s > (
            np.array([one.max_time_s for one in quality]) + 1e-6
        )
        checks["ask for more than their QOS allows a job"] = _above(
            asks, [one.per_job for one in quality]
        )
    reserved = {one.name for one in rules.reservations}
    checks["name a reservation that is not there"] = np.array(
        [bool(name) and name not in reserved for name in demands.reservation], np.bool_
    )
    return {why: rows for why, rows in checks.items() if rows.any()}


def _above(asks: Ints, limits: list[Limit]) -> NDArray[np.bool_]:
    instances = asks[:, ASK_INSTANCES]
    return np.asarray(
        (asks[:, ASK_CPU] * instances / 1000 > np.array([one.cpu_cores for one in limits]))
        | (asks[:, ASK_MEMORY] * instances / 1024 > np.array([one.memory_gib for one in limits]))
        | (asks[:, ASK_GPUS] * instances > np.array([one.gpus for one in limits]))
        | (instances > np.array([one.nodes for one in limits])),
        np.bool_,
    )


def _each(of: list[Partition], is_so: object) -> NDArray[np.bool_]:
    assert callable(is_so)
    return np.array([is_so(one) for one in of], np.bool_)


def _values(of: list[Partition], name: str) -> Floats:
    return np.array([getattr(one, name) for one in of], np.float64)


def _texts(jobs: pd.DataFrame, name: str) -> Texts:
    if name not in jobs:
        return np.full(len(jobs), "", object)
    return jobs[name].fillna("").astype(str).to_numpy(object)


def _numbers(jobs: pd.DataFrame, name: str, missing: float) -> Floats:
    if name not in jobs:
        return np.full(len(jobs), missing)
    values = pd.to_numeric(jobs[name], errors="coerce").to_numpy(np.float64, na_value=np.nan)
    return np.where(np.isnan(values), missing, values)


def _found(pattern: re.Pattern[str], lines: Texts) -> Floats:
    matches = (pattern.search(line) for line in lines)
    return np.array([float(match[1]) if match else inf for match in matches], np.float64)
