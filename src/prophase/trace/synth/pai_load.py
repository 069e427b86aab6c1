"""A node inventory with PAI's mix of types, as large as the load asks for."""

from __future__ import annotations

import numpy as np

from prophase.trace.synth import pai_world as world
from prophase.trace.synth.cluster import PAI, NodeKind, scaled
from prophase.trace.synth.columns import Floats, Ints
from prophase.trace.synth.pai_tasks import Tasks

#: no single resource may be asked for beyond this share, whatever the GPUs' utilisation
_MOST = 0.9
_TYPES = len(world.GPU_TYPES)


def inventory_for(
    tasks: Tasks, task: Ints, instance_s: Floats, span_s: float, utilisation: float
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
