"""The plain arrays and typed signatures between the event loop and its policies.

Nodes and requests are integer matrices: one row per node or per *shape* (distinct
request), columns named by the constants below. One row is one or two cache lines, and a
single array travels through compiled calls at no cost (named tuples of arrays made the
loop five times slower).

A place policy is compiled to ``SCORE``: it rates one node for one shape; the loop asks
only for nodes on which the request fits and takes the highest score, the first node among
equals. Policies live in files of their own and are passed in, because numba's cache on
disk does not notice a change in a function that lives elsewhere.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: columns of the node matrix: what it has
CPU, MEMORY, GPUS, GPU_TYPE, FEATURES = range(5)
#: what is free: milli-cores, MiB, milli-GPUs of the node, GPUs that nobody uses
FREE_CPU, FREE_MEMORY, FREE_GPU, FREE_WHOLE = range(5, 9)
#: free milli-GPUs of the node's first GPU; the others follow
FREE_SHARE = 9

#: columns of the request matrix, per instance: milli-cores, MiB, GPUs, milli of each GPU
ASK_CPU, ASK_MEMORY, ASK_GPUS, ASK_MILLI = range(4)
#: bit set of allowed GPU types (0 = any), of needed features, and the number of instances
ASK_TYPES, ASK_FEATURES, ASK_INSTANCES = range(4, 7)

INT_LINE = types.Array(types.int64, 1, "C")
INT_GRID = types.Array(types.int64, 2, "C")
FLOAT_LINE = types.Array(types.float64, 1, "C")
FLOAT_GRID = types.Array(types.float64, 2, "C")

#: score(nodes, node, asks, shape) -> higher is better
SCORE = types.float64(INT_GRID, types.int64, INT_GRID, types.int64)
