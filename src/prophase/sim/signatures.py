"""The plain arrays and typed signatures between the event loops and their policies.

Nodes and requests are integer matrices: one row per node or per *shape* (distinct
request), columns named by the constants below; one row is one or two cache lines. Arrays that
belong together travel as one ``NamedTuple``, whose fields say their compiled types
(``array_groups``).

A place policy is compiled to ``SCORE``: it rates one node for one shape; a loop asks
only for nodes on which the request fits and takes the highest score, the first node among
equals. Policies live in files of their own and are passed in; the loops do not depend on
them, and are compiled once for all.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numba import types
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: columns of the node matrix: what it has
CPU, MEMORY, GPUS, GPU_TYPE, FEATURES = range(5)
#: what is free: milli-cores, MiB, milli-GPUs of the node, GPUs that nobody uses
FREE_CPU, FREE_MEMORY, FREE_GPU, FREE_WHOLE = range(5, 9)
#: pods the node holds, counted by kind (shared GPU, 1 GPU, 2 GPUs ...) in one packed number
HELD = 9
#: free milli-GPUs of the node's first GPU; the others follow
FREE_SHARE = 10

#: columns of the request matrix, per instance: milli-cores, MiB, GPUs, milli of each GPU
ASK_CPU, ASK_MEMORY, ASK_GPUS, ASK_MILLI = range(4)
#: bit set of allowed GPU types (0 = any), of needed features, and the number of instances
ASK_TYPES, ASK_FEATURES, ASK_INSTANCES = range(4, 7)
#: what one instance adds to HELD; shapes have it, jobs need not
ASK_HELD = 7
#: instances of the gang that still have to be placed while it is placed; only for policies
#: that are not pure, since scores are kept
ASK_LEFT = 8
#: 1 if the job says that it needs a high-end GPU (attr_high_end)
ASK_HIGH_END = 9
ASK_COLUMNS = 10

INT_LINE = types.Array(types.int64, 1, "C")
INT_GRID = types.Array(types.int64, 2, "C")
FLOAT_LINE = types.Array(types.float64, 1, "C")
FLOAT_GRID = types.Array(types.float64, 2, "C")

INT, FLAG, FLOAT = types.int64, types.boolean, types.float64

#: fields of the named tuples that compiled code takes: how Python and numba see them
IntLine = Annotated[Ints, INT_LINE]
IntGrid = Annotated[Ints, INT_GRID]
FloatLine = Annotated[Floats, FLOAT_LINE]
FloatGrid = Annotated[Floats, FLOAT_GRID]
Int = Annotated[int, INT]
Float = Annotated[float, FLOAT]
Flag = Annotated[bool, FLAG]


#: score(nodes, node, asks, shape, facts) -> higher is better; facts are the policy's own
SCORE = types.float64(INT_GRID, types.int64, INT_GRID, types.int64, FLOAT_GRID)
#: choose_gpu(nodes, node, asks, shape, facts) -> GPU for a request of a share of one GPU
CHOOSE_GPU = types.int64(INT_GRID, types.int64, INT_GRID, types.int64, FLOAT_GRID)
SCORE_FUNCTION, CHOICE_FUNCTION = types.FunctionType(SCORE), types.FunctionType(CHOOSE_GPU)

#: HELD counts: 16 bits for shared pods, then 6 bits for each number of GPUs; 8 and more are one
_SHARED_BITS, _COUNT_BITS, _MOST_GPUS = 16, 6, 8


def held_unit(gpus: Ints, milli: Ints) -> Ints:
    """Return what one instance of each request adds to HELD; nothing without a GPU."""
    kinds = np.arange(1, _MOST_GPUS + 1)
    whole = np.append(0, np.left_shift(1, _SHARED_BITS + _COUNT_BITS * (kinds - 1)))
    unit: Ints = whole[np.minimum(gpus, _MOST_GPUS)]
    unit[(gpus > 0) & (milli < 1000)] = 1
    return unit


#: columns of the dynamic loop's job matrix. Known at submission: the time, the order's own key, the
#: believed run time, GPUs (of all instances), charge per second, priority, share of the cluster,
#: partition and quality-of-service factors, row of the user among the owners, row of its kind
(
    JOB_SUBMIT,
    JOB_KEY,
    JOB_ESTIMATE,
    JOB_GPUS,
    JOB_CHARGE,
    JOB_PRIORITY,
    JOB_SIZE,
    JOB_PARTITION,
    JOB_QOS,
    JOB_USER,
    JOB_KIND,
) = range(11)
#: what it has done: work still to do (s at speed 1), seconds run over all attempts
JOB_REMAINING, JOB_ATTAINED = range(11, 13)
#: this attempt: when it began, work to do and overhead before it, work done, speed, last look,
#: and when the scheduler believes it ends
JOB_STARTED, JOB_LEFT, JOB_OVERHEAD, JOB_DONE, JOB_RATE, JOB_LOOKED, JOB_BELIEVED = range(13, 20)
#: the seconds run at which its key jumps, by the order it is in
JOB_JUMP = 20
JOB_COLUMNS = 21

#: columns of the owners' matrix; row 0 is everybody. Used so far (decayed), charge per second
#: now, weight, held milli-GPUs, milli-cores and MiB, the largest of them as a share of the cluster,
#: last look, parent's row, and what the order works out for itself
(
    OWNER_USAGE,
    OWNER_RATE,
    OWNER_SHARE,
    OWNER_GPU,
    OWNER_CPU,
    OWNER_MEMORY,
    OWNER_DOMINANT,
    OWNER_LOOKED,
    OWNER_PARENT,
    OWNER_FACTOR,
) = range(10)
OWNER_COLUMNS = 10

#: key(jobs, job, owners, now, facts) -> smallest goes first
KEY = types.float64(FLOAT_GRID, types.int64, FLOAT_GRID, types.float64, FLOAT_GRID)
#: refresh(owners, now, facts): called before keys are asked for
REFRESH = types.void(FLOAT_GRID, types.float64, FLOAT_GRID)
KEY_FUNCTION, REFRESH_FUNCTION = types.FunctionType(KEY), types.FunctionType(REFRESH)


# How the steps of a loop are compiled.
#
# They are inlined into the loop, and nothing counts references to arrays: a step takes a dozen
# arrays and lasts some nanoseconds, so passing and counting them costs more than the step itself
# (a replay of a million jobs takes half the time; named tuples of arrays, whose every field is
# counted when it is read, five times as long). Whoever calls a loop holds the arrays; without
# counting, compiled code cannot allocate, so all arrays come from outside.


LOOP: dict[str, Any] = {"cache": True, "_nrt": False}
STEP: dict[str, Any] = {**LOOP, "forceinline": True}
PART: dict[str, Any] = {**LOOP, "inline": "always"}
