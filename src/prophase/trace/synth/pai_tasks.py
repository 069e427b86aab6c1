"""The tasks of each PAI-like group: role, requests, gang, latent profile, and what they use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from prophase.trace.synth import pai_world as world
from prophase.trace.synth.cluster import PAI
from prophase.trace.synth.generator import Flags, Floats, Ints, chosen, where_known
from prophase.trace.synth.pai_groups import Groups, deal, dealt

_SHAPE_TASKS = np.array([len(shape) for shape in world.JOB_SHAPES])
_SHAPE_ROLES = np.array([(*shape, -1, -1)[:3] for shape in world.JOB_SHAPES])
_CLASS_OF_ROLE = np.array([world.ROLE_CLASS[role] for role in range(len(world.ROLES))])
#: cores and GPUs of the whole inventory
_CORES_PER_GPU = 23.0
#: how much of the largest gang one GPU type can take
_SHARE_OF_ONE_TYPE = 0.35
#: GPUs of the largest node of each type
_NODE_GPUS = np.array(
    [max(kind.gpus for kind in PAI if kind.gpu_type == name) for name in world.GPU_TYPES]
)


@dataclass(frozen=True)
class GroupTasks:
    """One entry per task of a group; arrays are aligned."""

    group: Ints
    role: Ints
    instances: Ints
    cpu_cores: Floats
    memory_gib: Floats
    #: missing without a GPU
    gpus: Floats
    #: place in GPU_TYPES the user insists on, or -1
    demanded_type: Ints
    #: place in GPU_TYPES it gets, or -1 without a GPU
    given_type: Ints
    profile: Ints
    #: the profile it behaves like when it does not behave like its own
    other_profile: Ints
    #: first task of each group, and how many tasks it has
    first: Ints
    count: Ints


def make_tasks(rng: np.random.Generator, groups: Groups, *, largest_gpus: float) -> GroupTasks:
    """Give each group its tasks and each task its plan; no gang asks for more GPUs than that."""
    count = _SHAPE_TASKS[groups.shape]
    first = np.cumsum(count) - count
    group = np.repeat(np.arange(len(count)), count)
    role = _SHAPE_ROLES[groups.shape[group], np.arange(len(group)) - first[group]]
    role_class = _CLASS_OF_ROLE[role]
    weight = groups.runs[group]
    demanded, given, gpus = _gpus(rng, groups, group, role)
    cpu_cores = _plans(rng, world.CPU_PLANS, role_class, weight)
    # what one instance holds, as GPUs or as the cores that come with them
    held = np.maximum(np.nan_to_num(gpus), cpu_cores / _CORES_PER_GPU)
    instances = _instances(rng, groups, group, role, count, held, largest_gpus)
    # a gang that would fill all nodes of one type takes any
    choosy = (demanded >= 0) & (held * instances > largest_gpus * _SHARE_OF_ONE_TYPE)
    relaxed = np.zeros(len(count), dtype=bool)
    relaxed[group[choosy & (instances > 1)]] = True
    demanded = np.where(relaxed[group], -1, demanded)
    profile, other = _profiles(rng, groups, group, role_class)
    return GroupTasks(
        group=group,
        role=role,
        instances=instances,
        cpu_cores=cpu_cores,
        memory_gib=_plans(rng, world.MEMORY_PLANS, role_class, weight),
        gpus=gpus,
        demanded_type=demanded,
        given_type=given,
        profile=profile,
        other_profile=other,
        first=first,
        count=count,
    )


def _plans(
    rng: np.random.Generator,
    plans: Mapping[str, Sequence[tuple[float, float]]],
    role_class: np.ndarray,
    weight: Ints,
) -> Floats:
    planned = np.empty(len(weight))
    for name, choices in plans.items():
        mine = np.flatnonzero(role_class == name)
        if len(mine):
            planned[mine] = _one_of(rng, weight[mine], choices)
    return planned


def _one_of(
    rng: np.random.Generator, weight: Ints, choices: Sequence[tuple[float, float]]
) -> Floats:
    values = np.array([value for value, _ in choices], dtype=float)
    return values[deal(rng, weight, [share for _, share in choices])]


def _gpus(
    rng: np.random.Generator, groups: Groups, group: Ints, role: Ints
) -> tuple[Ints, Ints, Floats]:
    """Decide who asks for which type, who gets which, and for how many GPUs.

    The type is a matter of the whole job: all its tasks ask for the same.
    """
    weight = groups.runs[group]
    without = (role == world.PS) | (dealt(rng, weight) < world.CPU_ONLY_SHARE)
    types = {name: place for place, name in enumerate(world.GPU_TYPES)}
    wishes = [(types[name], share) for name, share in world.DEMANDED_TYPES]
    wishes.append((-1, 1 - sum(share for _, share in world.DEMANDED_TYPES)))
    gifts = [(types[name], share) for name, share in world.GIVEN_TYPES]
    wished = _one_of(rng, groups.runs, wishes).astype(np.int64)[group]
    gift = _one_of(rng, groups.runs, gifts).astype(np.int64)[group]
    demanded = np.where(without, -1, wished)
    given = np.where(without, -1, np.where(wished >= 0, wished, gift))
    v100 = np.isin(demanded, [types["V100"], types["V100M32"]])
    gpus = np.full(len(weight), np.nan)
    for mine, plans in (
        (np.flatnonzero(~without & ~v100), world.GPU_PLANS),
        (np.flatnonzero(v100), world.GPU_PLANS_V100),
    ):
        if len(mine):
            gpus[mine] = _one_of(rng, weight[mine], plans)
    # an instance does not span nodes: what is wider than a node of its type goes elsewhere
    gpus = np.where(demanded >= 0, np.minimum(gpus, _NODE_GPUS[demanded]), gpus)
    given = np.where((demanded < 0) & (gpus > 2), types["MISC"], given)
    return demanded, given, gpus


def _instances(
    rng: np.random.Generator,
    groups: Groups,
    group: Ints,
    role: Ints,
    count: Ints,
    held: Floats,
    largest_gpus: float,
) -> Ints:
    """Workers that have servers come in gangs; so do as many of the others as it takes.

    ``largest_gpus`` keeps the largest gang well below the size of the cluster.
    """
    weight = groups.runs[group]
    sizes = np.array(world.GANG_SIZES)
    gang = sizes[deal(rng, weight, (sizes**-world.GANG_POWER).tolist())]
    gang = np.minimum(gang, np.maximum(np.floor(largest_gpus / held), 2)).astype(np.int64)
    gang = np.where(held > 1, np.minimum(gang, world.WIDE_GANG), gang)
    luck = dealt(rng, weight)
    several = count[group] > 1
    workers = several & (role == world.WORKER)
    instances = np.ones(len(group), dtype=np.int64)
    instances[workers] = gang[workers]
    of_group = np.ones(len(count), dtype=np.int64)
    of_group[group[workers]] = instances[workers]
    servers = (role == world.PS) & (luck < world.GANG_SHARE_PS)
    served = np.round(world.PS_PER_WORKER * of_group[group]).astype(np.int64)
    instances[servers] = np.maximum(served[servers], 1)
    alone = ~several
    joining = alone & (luck < _share_of_gangs(instances, weight, alone, gang))
    instances[joining] = gang[joining]
    return instances


def _share_of_gangs(instances: Ints, weight: Ints, alone: Flags, gang: Ints) -> float:
    """Return the share of lone tasks that must be gangs for 85 % of instances to be in one."""
    rows = weight * instances
    in_gangs = float(rows[instances > 1].sum())
    single = float(rows[instances == 1].sum())
    lone = float(weight[alone].sum())
    if not lone:
        return 0.0
    size = float(np.average(gang[alone], weights=weight[alone]))
    wanted = world.GANG_SHARE
    share = (wanted * single - (1 - wanted) * in_gangs) / (lone * ((1 - wanted) * size + wanted))
    return float(np.clip(share, 0.0, 1.0))


def _profiles(
    rng: np.random.Generator, groups: Groups, group: Ints, role_class: np.ndarray
) -> tuple[Ints, Ints]:
    """Choose among the profiles of workload and role by the leaning of the group's owner."""
    profile = np.empty(len(group), dtype=np.int64)
    other = np.empty(len(group), dtype=np.int64)
    workload = groups.workload[group]
    for code, name in enumerate(world.WORKLOADS):
        for kind in dict.fromkeys(world.ROLE_CLASS.values()):
            fitting = [
                place
                for place, candidate in enumerate(world.PROFILES)
                if name in candidate.workloads and candidate.role_class == kind
            ]
            mine = np.flatnonzero((workload == code) & (role_class == kind))
            edges = np.cumsum([world.PROFILES[place].share for place in fitting])
            taken = np.searchsorted(
                edges[:-1], groups.leaning[group[mine]] * edges[-1], side="right"
            )
            profile[mine] = np.array(fitting)[taken]
            step = rng.integers(1, len(fitting), len(mine)) if len(fitting) > 1 else 0
            other[mine] = np.array(fitting)[(taken + step) % len(fitting)]
    return profile, other


#: column -> (field of a profile, spread of its log between groups, and between runs)
_LAWS = {
    "cpu_mean_cores": ("cpu_cores", 0.30, 0.10),
    "memory_mean_gib": ("memory_gib", 0.30, 0.06),
    "gpu_util_mean_pct": ("gpus", 0.40, 0.15),
    "gpu_memory_mean_gib": ("gpu_memory_gib", 0.30, 0.05),
    "read_bytes": ("read_bytes", 0.40, 0.20),
    "write_bytes": ("write_bytes", 0.40, 0.20),
    "read_count": ("read_count", 0.30, 0.15),
    "write_count": ("write_count", 0.30, 0.15),
}
_MOST_CORES = 90.0


def usage(
    rng: np.random.Generator, tasks: GroupTasks, task: Ints, group: Ints, profile: Ints, ran: Flags
) -> dict[str, Floats]:
    """Return the usage columns of the job table; missing where nothing ran or was measured."""
    measured = ran & (rng.random(len(task)) >= world.UNMEASURED_SHARE)
    has_gpu = np.isfinite(tasks.gpus[task])
    groups = int(tasks.group[-1]) + 1
    columns: dict[str, Floats] = {}
    for name, (field, group_sd, run_sd) in _LAWS.items():
        centre = np.array([getattr(p, field) for p in world.PROFILES])[profile]
        between = rng.normal(0.0, group_sd, groups)[group]
        columns[name] = centre * np.exp(between + rng.normal(0.0, run_sd, len(task)))
    columns["cpu_mean_cores"] = np.minimum(columns["cpu_mean_cores"], _MOST_CORES)
    # a worker cannot keep more GPUs busy than it holds, plus what a shared GPU lends it
    lent = np.where(tasks.gpus < 1, 1.0, tasks.gpus)[task]
    columns["gpu_util_mean_pct"] = np.minimum(100 * columns["gpu_util_mean_pct"], 98 * lent)
    peak_over_mean = 1.05 + rng.gamma(1.2, 0.3, len(task))
    memory_peak = columns["memory_mean_gib"] * peak_over_mean
    gpu_peak = columns["gpu_memory_mean_gib"] * (1.0 + rng.gamma(0.8, 0.2, len(task)))
    on_gpu = measured & has_gpu
    return {
        "cpu_mean_cores": where_known(columns["cpu_mean_cores"], measured),
        "memory_mean_gib": where_known(columns["memory_mean_gib"], measured),
        "memory_peak_gib": where_known(memory_peak, measured),
        "gpu_util_mean_pct": where_known(columns["gpu_util_mean_pct"], on_gpu),
        "gpu_memory_mean_gib": where_known(columns["gpu_memory_mean_gib"], on_gpu),
        "gpu_memory_peak_gib": where_known(gpu_peak, on_gpu),
        **{
            name: where_known(np.round(columns[name]), measured)
            for name in ("read_bytes", "write_bytes", "read_count", "write_count")
        },
    }


def machine_metrics(
    rng: np.random.Generator,
    nodes: pd.DataFrame,
    given_type: Ints,
    use: dict[str, Floats],
    ran: Flags,
) -> dict[str, object]:
    """Return the node of the first instance and what its machine did meanwhile."""
    types = [None, *world.GPU_TYPES]
    node = np.zeros(len(ran), dtype=np.int64)
    for place, name in enumerate(types):
        mine = np.flatnonzero(given_type == place - 1)
        wanted = nodes["gpu_type"].isna() if name is None else nodes["gpu_type"] == name
        fitting = np.flatnonzero(wanted.to_numpy(dtype=bool))
        node[mine] = fitting[rng.integers(0, len(fitting), len(mine))]
    node = np.where(ran, node, -1)
    measured = np.isfinite(use["cpu_mean_cores"])
    count = len(ran)
    user = rng.gamma(3.0, 6.0, count)
    kernel, iowait = 0.25 * user * rng.random(count), rng.exponential(0.3, count)
    busy = np.minimum(user + kernel + iowait, 100.0)
    workers = 1.0 + rng.poisson(6.0, count)
    on_gpu = measured & (given_type >= 0)
    metrics = {
        "machine_cpu_iowait": iowait,
        "machine_cpu_kernel": kernel,
        "machine_cpu_usr": np.minimum(user, 100.0),
        "machine_load_1": 0.96 * busy * rng.gamma(20.0, 0.05, count),
        "machine_net_receive": np.nan_to_num(use["read_bytes"]) + rng.gamma(2.0, 5e7, count),
        "machine_num_worker": workers,
        "machine_cpu": busy,
    }
    others = np.minimum(rng.gamma(1.2, 14.0, count), 98.0)
    return {
        "after_node": chosen(nodes["node_id"].tolist(), node),
        **{f"after_{name}": where_known(values, measured) for name, values in metrics.items()},
        "after_machine_gpu": where_known(others, on_gpu),
    }
