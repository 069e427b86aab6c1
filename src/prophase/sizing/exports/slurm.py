"""Sizes as lines of a batch script, and what to submit with after a kill."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prophase import units
from prophase.sizing.exports.kind_requests import KindRequests, LeftOut, whole

#: resource -> the option of sbatch
_OPTIONS: dict[str, Callable[[float], str]] = {
    "memory_gib": lambda gib: f"--mem={units.whole_mib(gib)}M",
    "cpu_cores": lambda cores: f"--cpus-per-task={whole(cores)}",
    "gpus": lambda gpus: f"--gres=gpu:{whole(gpus)}",
    "time_limit_s": lambda seconds: f"--time={units.slurm_time(seconds)}",
}


def write(asked: Sequence[KindRequests], left_out: LeftOut) -> str:
    """Return a block of lines per job name, to be pasted into its batch script."""
    lines = []
    for one in left_out.expressible(asked, _OPTIONS):
        lines.append(f"# {one.comment}")
        first, *more = [
            [option(one.at(resource, attempt)) for resource, option in _OPTIONS.items()
             if resource in one.ladders]
            for attempt in range(1, one.attempts + 1)
        ]  # fmt: skip
        lines += [f"#SBATCH {option}" for option in first]
        lines += [
            f"# if attempt {attempt} was killed: sbatch {' '.join(options)}"
            for attempt, options in enumerate(more, 1)
        ]
    told = [f"# {said}" for said in left_out.sentences()]
    return "".join(f"{line}\n" for line in [*told, *lines])
