"""When PAI-like jobs arrive in a week, and the node inventory such a load asks for."""

from __future__ import annotations

import numpy as np

from prophase.trace.synth import pai_world as world
from prophase.trace.synth.cluster import PAI, NodeKind, scaled
from prophase.trace.synth.generator import Floats, Ints
from prophase.trace.synth.pai_tasks import GroupTasks

DAY_S = 86400.0
HOUR_S = 3600.0
#: share of the day's jobs by hour of local time: two office peaks, a low before dawn
# fmt: off
_BY_HOUR = np.array((
    3.2, 2.8, 2.5, 2.3, 2.1, 2.2, 2.5, 3.0, 3.8, 4.9, 5.8, 5.9,
    5.1, 5.0, 5.6, 5.8, 5.7, 5.3, 4.6, 4.4, 4.6, 4.6, 4.3, 3.9,
))
# fmt: on
#: Monday to Sunday
_BY_WEEKDAY = np.array([1.06, 1.12, 1.12, 1.10, 1.06, 0.80, 0.74])


def clock_of_load(
    rng: np.random.Generator, days: float, *, burst_sd: float
) -> tuple[Floats, Floats]:
    """Return times (s since Monday 00:00) and the share of all jobs submitted by then.

    The rate is daily pattern x weekly pattern x a random factor per quarter of an hour
    that remembers the last hours; ``burst_sd`` is the spread of its logarithm.
    """
    step = HOUR_S / 4
    starts = np.arange(0.0, days * DAY_S, step)
    hour = np.interp(starts / HOUR_S % 24, np.arange(25), np.append(_BY_HOUR, _BY_HOUR[0]))
    weekday = _BY_WEEKDAY[(starts // DAY_S).astype(int) % 7]
    rate = hour * weekday * np.exp(burst_sd * _remembering_noise(rng, len(starts)))
    edges = np.minimum(np.append(starts, starts[-1] + step), days * DAY_S)
    share = np.concatenate([[0.0], np.cumsum(rate * np.diff(edges))])
    return edges, share / share[-1]


def times_at(shares: Floats, clock: tuple[Floats, Floats]) -> Floats:
    """Return when that share of all jobs has been submitted."""
    times, submitted = clock
    return np.interp(shares, submitted, times)


def _remembering_noise(rng: np.random.Generator, count: int) -> Floats:
    """Standard normal noise with a memory of about two hours, and a fast part on top."""
    memory = 0.9
    slow = np.empty(count)
    fresh = rng.normal(0.0, np.sqrt(1 - memory**2), count)
    level = rng.normal()
    for place in range(count):
        level = memory * level + fresh[place]
        slow[place] = level
    return np.asarray(0.8 * slow + 0.6 * rng.normal(0.0, 1.0, count))


#: no single resource may be asked for beyond this share, whatever the GPUs' utilisation
_MOST = 0.9
_TYPES = len(world.GPU_TYPES)


def inventory_for(
    tasks: GroupTasks, task: Ints, instance_s: Floats, span_s: float, utilisation: float
) -> tuple[NodeKind, ...]:
    """Return PAI's inventory, scaled so that requests keep that share of the GPUs busy.

    Cores, memory and each demanded GPU type get enough nodes too: more than the share
    asks for, if that is what it takes to run the trace at all.
    """
    gpus = np.nan_to_num(tasks.gpus)
    # seconds that the instances of a task are held, over all its runs
    held_s = np.bincount(task, instance_s, minlength=len(gpus))
    total = np.array([(k.gpus, k.cpu_cores, k.memory_gib) for k in PAI]).T @ [k.nodes for k in PAI]
    asked = np.array([gpus @ held_s, tasks.cpu_cores @ held_s, tasks.memory_gib @ held_s]) / span_s
    kinds = scaled(PAI, max(*(asked / total / [utilisation, _MOST, _MOST]), 1e-3))
    demanded = tasks.demanded_type
    wanted = np.bincount(demanded + 1, gpus * held_s / span_s, minlength=_TYPES + 1)[1:] / _MOST
    largest = np.zeros(_TYPES + 1)
    np.maximum.at(largest, demanded + 1, gpus * tasks.instances)
    return tuple(_wide_enough(kind, kinds, np.maximum(wanted, largest[1:])) for kind in kinds)


def _wide_enough(kind: NodeKind, kinds: tuple[NodeKind, ...], wanted: Floats) -> NodeKind:
    """Add nodes of a type that is demanded for more, or for a larger gang, than there are."""
    if kind.gpu_type is None:
        return kind
    held = sum(other.nodes * other.gpus for other in kinds if other.gpu_type == kind.gpu_type)
    short = wanted[world.GPU_TYPES.index(kind.gpu_type)] - held
    return kind._replace(nodes=kind.nodes + max(0, int(np.ceil(short / kind.gpus))))
