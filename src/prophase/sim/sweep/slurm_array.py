"""A sweep as an array of Slurm: every task runs a part of the cells, beside the others."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from prophase.plural import as_typed, counted
from prophase.sim.sweep.runner import PARTS

#: the script, in the folder of the sweep
SCRIPT = "array.sbatch"
_CELLS_PER_TASK, _MOST_TASKS = 10, 100


def usual_tasks(cells: int) -> int:
    """Return how many tasks an array has for so many cells, unless somebody says.

    Examples
    --------
    >>> usual_tasks(44), usual_tasks(5000), usual_tasks(0)
    (5, 100, 1)
    """
    return max(1, min(-(-cells // _CELLS_PER_TASK), _MOST_TASKS))


def slurm_array(command: Sequence[str], folder: Path, tasks: int, where: Path) -> str:
    """Return the batch script.

    Parameters
    ----------
    command : sequence of str
        What runs the whole sweep; every task runs it with its part.
    folder : Path
        Folder of the sweep, which every node must see.
    tasks : int
        Into how many parts the cells are divided.
    where : Path
        Directory in which the command is run.

    Examples
    --------
    >>> print(slurm_array(["prophase", "sweep", "ws"], Path("/s"), 4, Path("/w")).splitlines()[4])
    #SBATCH --array=1-4
    """
    whole = shlex.join(command)
    return f"""#!/bin/bash
# A sweep in {counted(tasks, "part")}. Submit it: sbatch {as_typed(folder / SCRIPT)}
# When all have ended, the same command as before shows the result: {whole}
#SBATCH --job-name=prophase-sweep
#SBATCH --array=1-{tasks}
#SBATCH --ntasks=1 --cpus-per-task=1
#SBATCH --chdir={as_typed(where)}
#SBATCH --output={as_typed(folder / PARTS)}/%a.log
exec {whole} --workers 1 --part "$SLURM_ARRAY_TASK_ID/{tasks}"
"""
