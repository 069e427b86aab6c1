"""Recommendations as Slurm knows them: options of sbatch, and a script that has them."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prophase import units
from prophase.sizing.job_request import RequestRecommendation
from prophase.study.submission.job_recommender import JobRecommendation

#: options that say the same thing: only one of them may stand in a script
_SAME = {
    "mem": ("mem", "mem-per-cpu", "mem-per-gpu"),
    "time": ("time", "t"),
    "cpus-per-task": ("cpus-per-task", "c"),
}
#: options that ask for GPUs
GPU_OPTIONS = ("gres", "gpus", "gpus-per-node", "gpus-per-task")
_SAME |= dict.fromkeys(GPU_OPTIONS, (*GPU_OPTIONS, "G"))
#: first line of a script that was written here
MARK = "# Recommended by prophase sbatch; the lines it replaced are kept below as ##SBATCH."


@dataclass(frozen=True)
class RecommendedOption:
    """One option of sbatch that should be set, and why."""

    option: str
    value: str
    why: str
    #: what to use if the job is killed for asking too little
    later: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """Return the line of a script."""
        return f"#SBATCH --{self.option}={self.value}"


def recommended_options(
    counsel: JobRecommendation, options: Mapping[str, str], *, attempt: int = 1
) -> tuple[list[RecommendedOption], list[str]]:
    """Return the options to change, and a sentence about each that stays.

    Parameters
    ----------
    options : mapping
        What the script says now, long option -> value.
    attempt : int, default=1
        Higher after a kill: the next rung.
    """
    found, stay = [], []
    for one in counsel.requests:
        refused = _refused(one, options)
        if refused is not None:
            stay.append(f"{one.resource}: {refused}")
            continue
        if one.resource == "gpu":
            found.append(_gpu_option(one, options, attempt))
            continue
        rungs = [_value(one.resource, rung) for rung in one.ladder]
        place = min(attempt, len(rungs)) - 1
        found.append(
            RecommendedOption(
                _OPTION[one.resource], rungs[place], one.why, tuple(rungs[place + 1 :])
            )
        )
    return found, stay


def rewritten(script: str, advised: Sequence[RecommendedOption]) -> str:
    """Return the script with the recommended options; lines that go stay as comments.

    Examples
    --------
    >>> script = "#!/bin/sh\\n#SBATCH --mem=64G -J train\\nsrun train\\n"
    >>> print(rewritten(script, [RecommendedOption("mem", "4096M", "40 runs")]), end="")
    #!/bin/sh
    # Recommended by prophase sbatch; the lines it replaced are kept below as ##SBATCH.
    #SBATCH --mem=4096M
    # 40 runs
    ##SBATCH --mem=64G -J train
    #SBATCH -J train
    srun train
    """
    gone = {name for one in advised for name in _SAME[one.option]}
    lines = script.splitlines()
    first = 1 if lines and lines[0].startswith("#!") else 0
    out = [*lines[:first], MARK]
    for one in advised:
        out += [one.line, f"# {' '.join(one.why.split())}"]
        out += [f"# if killed: sbatch --{one.option}={value}" for value in one.later]
    reading = True
    for line in lines[first:]:
        bare = line.strip()
        reading = reading and (not bare or bare.startswith("#"))
        words = shlex.split(bare[7:], comments=True) if reading and _is_option(bare) else None
        kept = None if words is None else _without(words, gone)
        if words is None or kept == words:
            out.append(line)
            continue
        out.append(f"#{bare}")
        out += [f"#SBATCH {shlex.join(kept)}"] if kept else []
    return "\n".join(out) + "\n"


def command_of(script: str) -> str | None:
    """Return the program that a script runs, without its launcher.

    Examples
    --------
    >>> command_of(
    ...     "#!/bin/sh\\n#SBATCH -n 4\\nmodule load cuda\\nsrun -n 4 python train.py --lr 1\\n"
    ... )
    'train.py'
    """
    for line in script.splitlines():
        bare = line.strip()
        if not bare or bare.startswith("#") or re.match(_PREPARES, bare):
            continue
        try:
            words = shlex.split(bare, comments=True)
        except ValueError:
            continue
        programs = [
            word for word in words
            if not word.startswith("-") and not re.fullmatch(r"\d+|\w+=.*", word)
            and word.rsplit("/", 1)[-1] not in _LAUNCHERS
        ]  # fmt: skip
        if programs:
            return programs[0].rsplit("/", 1)[-1]
    return None


_PREPARES = (
    r"(module|ml|source|\.|export|cd|set|echo|conda|mkdir|ulimit|unset|if|then|fi|\w+=)(\s|$|\S*=)"
)
_LAUNCHERS = frozenset(
    "srun mpirun mpiexec python python3 bash sh exec time nice numactl torchrun accelerate launch "
    "apptainer singularity run Rscript julia".split()
)
_OPTION = {"memory": "mem", "time": "time", "cpu": "cpus-per-task"}


def _refused(one: RequestRecommendation, options: Mapping[str, str]) -> str | None:
    """Say why an option stays as it is, if it does."""
    if not one.change:
        return one.why
    if one.resource == "memory" and ("exclusive" in options or options.get("mem") == "0"):
        return "the job takes whole nodes"
    if one.resource == "cpu" and any(
        options.get(name, "1") != "1" for name in ("ntasks", "ntasks-per-node", "tasks-per-node")
    ):
        return "the job has several tasks, and how they share cores is not known"
    if one.resource == "cpu" and one.asked is None:
        return "no CPUs are asked for"
    if one.resource == "gpu":
        return _why_not_gpus(one, options)
    return None


#: one kind of GPU, a number of them: ``gpu:a100:4``, ``gres:gpu``, ``a100:2``, ``4``
_ASKS_FOR_GPUS = re.compile(r"(gres[:/])?(?P<kind>[A-Za-z][\w.-]*(?::[A-Za-z][\w.-]*)?)?:?(\d*)")


def _why_not_gpus(one: RequestRecommendation, options: Mapping[str, str]) -> str | None:
    """Say why the script asks for GPUs as before, if it does."""
    held = [name for name in GPU_OPTIONS if name in options]
    if len(held) != 1 or not _ASKS_FOR_GPUS.fullmatch(options[held[0]]):
        return f"{one.words().partition(': ')[2]}; the script asks for GPUs in several ways"
    if one.ladder[0] < 1 and (one.asked != 1 or one.part is None or not one.part.slurm):
        return f"{one.words().partition(': ')[2]}; no such part of a GPU is known by a name"
    return None


def _gpu_option(
    one: RequestRecommendation, options: Mapping[str, str], attempt: int
) -> RecommendedOption:
    """Return the part of a GPU, or fewer of them; whoever lacks it gets what was asked for."""
    option = next(name for name in GPU_OPTIONS if name in options)
    text = options[option]
    if attempt > 1:
        return RecommendedOption(option, text, one.why)
    if one.part is None or one.ladder[0] >= 1:
        kind = _ASKS_FOR_GPUS.fullmatch(text)
        held = "" if kind is None or not kind["kind"] else f"{kind['kind']}:"
        return RecommendedOption(
            option, f"{held}{math.ceil(one.ladder[0] - 1e-6)}", one.why, (text,)
        )
    whole = text if option == "gres" else f"gpu:{text}"
    return RecommendedOption("gres", one.part.slurm, one.why, (whole,))


def _value(resource: str, amount: float) -> str:
    if resource == "memory":
        return f"{units.whole_mib(amount)}M"
    if resource == "cpu":
        return str(max(1, math.ceil(amount - 1e-6)))
    return units.slurm_time(amount)


def _is_option(line: str) -> bool:
    return re.match(r"#SBATCH\s", line) is not None


def _without(words: Sequence[str], gone: set[str]) -> list[str]:
    """Return the words of a line without some options and their values."""
    kept: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        name = word[2:].partition("=")[0] if word.startswith("--") else word[1:2]
        if not word.startswith("-") or name not in gone:
            kept.append(word)
            continue
        joined = "=" in word if word.startswith("--") else len(word) > 2
        if not joined and place < len(words) and not words[place].startswith("-"):
            place += 1
    return kept
