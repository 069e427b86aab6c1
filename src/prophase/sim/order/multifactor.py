"""Slurm's multifactor priority: age, fair share, job size, partition and quality of service.

Source: the multifactor plugin's documentation. Fair share is the *fair tree* by default: at
each level accounts and users are ranked by share over usage, and a user's factor is its rank.
``fair_tree=False`` gives the older formula, 2 to the power of -(effective usage / share).

``facts``: row 0 holds the weights and switches, row 1 which owners are users.
"""

from __future__ import annotations

import math

import numpy as np

from prophase.sim.cluster import Cluster
from prophase.sim.compilation import njit
from prophase.sim.owners import Owners
from prophase.sim.rules.parsing import at_least
from prophase.sim.signatures import (
    JOB_KEY,
    JOB_PARTITION,
    JOB_QOS,
    JOB_SIZE,
    JOB_SUBMIT,
    JOB_USER,
    KEY,
    OWNER_FACTOR,
    OWNER_PARENT,
    OWNER_SHARE,
    OWNER_USAGE,
    REFRESH,
    Floats,
)
from prophase.sim.workload import Workload

#: keys are looked at every five minutes, as the plugin does
REKEY_S = 300.0
#: usage is counted in core-seconds unless a site says otherwise
CHARGE = "cores"
AGE, MOST_AGE, FAIR_SHARE, SIZE, PARTITION, QOS, SMALL_FIRST, FAIR_TREE, DAMPENING = range(9)
#: as ``owners.DEEPEST``: compiled code keeps constants of its own file alone up to date
_DEEPEST = 8


@njit(KEY, cache=True)
def multifactor(jobs: Floats, job: int, owners: Floats, now: float, facts: Floats) -> float:
    """Rank jobs by priority, highest first."""
    age = min(1.0, (now - jobs[job, JOB_SUBMIT]) / facts[0, MOST_AGE])
    size = jobs[job, JOB_SIZE]
    if facts[0, SMALL_FIRST] != 0:
        size = 1.0 - size
    fair = owners[int(jobs[job, JOB_USER]), OWNER_FACTOR]
    priority = facts[0, AGE] * age + facts[0, FAIR_SHARE] * fair + facts[0, SIZE] * size
    priority += facts[0, PARTITION] * jobs[job, JOB_PARTITION] + facts[0, QOS] * jobs[job, JOB_QOS]
    # points that do not move: weights of what the job asks for
    priority += jobs[job, JOB_KEY]
    return -math.floor(priority)


@njit(cache=True)
def _share_of_siblings(owners, owner):
    total = 0.0
    for other in range(1, owners.shape[0]):
        if owners[other, OWNER_PARENT] == owners[owner, OWNER_PARENT]:
            total += owners[other, OWNER_SHARE]
    return owners[owner, OWNER_SHARE] / total


@njit(cache=True)
def _level(owners, owner):
    """Return share over usage, both among siblings; endless for who has used nothing."""
    above = owners[int(owners[owner, OWNER_PARENT]), OWNER_USAGE]
    used = owners[owner, OWNER_USAGE]
    if used <= 0 or above <= 0:
        return np.inf
    return _share_of_siblings(owners, owner) / (used / above)


@njit(cache=True)
def _fair_tree(owners, facts):
    """Give each user its rank from the top of the tree down; equals share a rank."""
    count = owners.shape[0]
    paths = np.full((count, _DEEPEST), -1.0)
    users = 0
    for owner in range(1, count):
        if facts[1, owner] == 0:
            continue
        users += 1
        depth, up = 0, owner
        while up > 0 and depth < _DEEPEST:
            depth, up = depth + 1, int(owners[up, OWNER_PARENT])
        up = owner
        for place in range(depth - 1, -1, -1):
            paths[owner, place] = _level(owners, up)
            up = int(owners[up, OWNER_PARENT])
        if depth < _DEEPEST:
            # a user stands before an account with which it is level
            paths[owner, depth:] = np.inf
    for owner in range(1, count):
        if facts[1, owner] == 0:
            continue
        better = 0
        for other in range(1, count):
            if facts[1, other] == 0 or other == owner:
                continue
            for place in range(_DEEPEST):
                if paths[other, place] != paths[owner, place]:
                    better += paths[other, place] > paths[owner, place]
                    break
        owners[owner, OWNER_FACTOR] = (users - better) / users


@njit(cache=True)
def _classic(owners, facts):
    """Give each user 2 to the power of -(effective usage / share) / dampening."""
    whole = owners[0, OWNER_USAGE]
    count = owners.shape[0]
    for owner in range(1, count):
        if facts[1, owner] == 0:
            continue
        share, up, depth = 1.0, owner, 0
        path = np.zeros(_DEEPEST, np.int64)
        while up > 0:
            share *= _share_of_siblings(owners, up)
            path[depth] = up
            depth, up = depth + 1, int(owners[up, OWNER_PARENT])
        used = 0.0
        if whole > 0:
            used = owners[path[depth - 1], OWNER_USAGE] / whole
            for place in range(depth - 2, -1, -1):
                # effective usage: one's own, and of what the account used beyond it one's share
                own = owners[path[place], OWNER_USAGE] / whole
                used = own + (used - own) * _share_of_siblings(owners, path[place])
        owners[owner, OWNER_FACTOR] = 2.0 ** (-(used / share) / facts[0, DAMPENING])


@njit(REFRESH, cache=True)
def refresh(owners: Floats, now: float, facts: Floats) -> None:
    """Work out the fair-share factor of every user."""
    if facts[0, FAIR_TREE] != 0:
        _fair_tree(owners, facts)
    else:
        _classic(owners, facts)


def prepare(
    workload: Workload,
    cluster: Cluster,
    owners: Owners,
    *,
    age: float = 1000.0,
    max_age_s: float = 604_800.0,
    fair_share: float = 10_000.0,
    size: float = 1000.0,
    partition: float = 0.0,
    qos: float = 0.0,
    small_first: bool = False,
    fair_tree: bool = True,
    dampening: float = 1.0,
) -> Floats:
    """Set the weights; a job's partition and QOS factors come from its columns, if it has them."""
    at_least("max_age_s", max_age_s, 1)
    at_least("dampening", dampening, 0.001)
    weights = [age, max_age_s, fair_share, size, partition, qos]
    facts = np.zeros((2, max(DAMPENING + 1, len(owners.names))))
    facts[0, : DAMPENING + 1] = [*weights, small_first, fair_tree, dampening]
    facts[1, : len(owners.names)] = owners.is_user
    return facts
