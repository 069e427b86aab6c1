"""Slurm batch scripts: what their ``#SBATCH`` lines ask for.

An instance is a node, as in the accounting of Slurm, so requests are per node. Slurm's K, M
and G are powers of 1024, and memory without a unit is in M.
"""

from __future__ import annotations

import math
import re
import shlex

from prophase import units
from prophase.errors import InputError
from prophase.profile.submission.submission import Submission

FORM = "Slurm script"
#: short option -> long option
_SHORT = {
    "A": "account", "a": "array", "b": "begin", "c": "cpus-per-task", "C": "constraint",
    "d": "dependency", "D": "chdir", "e": "error", "G": "gpus", "i": "input", "J": "job-name",
    "n": "ntasks", "N": "nodes", "o": "output", "p": "partition", "q": "qos", "t": "time",
    "w": "nodelist", "x": "exclude", "L": "licenses", "M": "clusters", "H": "hold",
    "s": "oversubscribe", "k": "no-kill", "Q": "quiet", "v": "verbose", "W": "wait",
}  # fmt: skip
#: options without a value
_FLAGS = {"exclusive", "hold", "oversubscribe", "no-kill", "quiet", "verbose", "wait", "requeue",
          "no-requeue", "overcommit", "contiguous", "parsable", "spread-job",
          "reboot"}  # fmt: skip
_TEXTS = {
    "job-name": "name",
    "account": "group",
    "partition": "queue",
    "qos": "attr_qos",
    "constraint": "attr_constraint",
    "reservation": "attr_reservation",
    "licenses": "attr_licenses",
    "clusters": "attr_cluster",
    "wckey": "attr_wckey",
    "chdir": "attr_workdir",
    "comment": "attr_comment",
}
_NUMBERS = ("nodes", "ntasks", "cpus-per-task", "ntasks-per-node", "mem", "mem-per-cpu",
            "mem-per-gpu", "gres", "gpus", "gpus-per-node", "gpus-per-task", "time", "array",
            "priority", "tasks-per-node")  # fmt: skip
_GPU = re.compile(r"(?:([A-Za-z][\w.\-]*)(?:[:=]|$))?(\d+)?(?:\([^)]*\))?")
_NO_LIMIT = ("unlimited", "infinite")


def is_script(text: str) -> bool:
    """Say whether a text is a batch script with ``#SBATCH`` lines."""
    return re.search(r"^#SBATCH\s", text, re.MULTILINE) is not None


def from_script(text: str, where: str) -> Submission:
    """Return the job of a batch script.

    Examples
    --------
    >>> script = "#!/bin/bash\\n#SBATCH -N 2 --gres=gpu:a100:4 -t 1-0 --mem=64G\\n"
    >>> columns = from_script(script, "job.sbatch").columns
    >>> [columns[name] for name in ("instances", "request_gpus", "gpu_type", "time_limit_s")]
    [2.0, 4.0, 'a100', 86400.0]
    """
    options = script_options(text, where)
    columns: dict[str, object] = {
        column: options[option] for option, column in _TEXTS.items() if options.get(option)
    }
    notes: list[str] = []
    columns |= _shape(options, where, notes)
    if "time" in options:
        columns["time_limit_s"] = _limit(options["time"], f"{where}: --time")
    if "priority" in options and options["priority"].isdigit():
        columns["priority"] = float(options["priority"])
    if "array" in options:
        count = _array_size(options["array"], f"{where}: --array")
        notes.append(f"--array makes {count:,} jobs of this kind; the answer is for one of them.")
    spare = [option for option in options if option not in _TEXTS and option not in _NUMBERS]
    if spare:
        notes.append(f"Not used: {', '.join(f'--{option}' for option in spare)}.")
    return Submission({k: v for k, v in columns.items() if v is not None}, FORM, tuple(notes))


def script_options(text: str, where: str) -> dict[str, str]:
    """Return long option -> value; as in Slurm, the last one said counts."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if bare and not bare.startswith("#"):
            break  # Slurm reads directives before the first command only
        if not re.match(r"#SBATCH\s", bare):
            continue
        try:
            words = shlex.split(bare.removeprefix("#SBATCH"), comments=True)
        except ValueError as cause:
            raise InputError(f"{where} line {number}: {cause}. Close the quotation.") from cause
        _add_words(found, words, f"{where} line {number}")
    return found


def _add_words(found: dict[str, str], words: list[str], where: str) -> None:
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if word.startswith("--"):
            option, equals, value = word[2:].partition("=")
        elif word.startswith("-") and len(word) > 1:
            option, value = _SHORT.get(word[1], word[1]), word[2:].removeprefix("=")
            equals = value
        else:
            raise InputError(f"{where}: {word!r} is not an option. Options begin with - or --.")
        following = place < len(words) and not words[place].startswith("-")
        if not equals and option not in _FLAGS and following:
            value = words[place]
            place += 1
        if not value and option in (*_TEXTS, *_NUMBERS):
            raise InputError(f"{where}: {word} has no value. Write for example --{option}=VALUE.")
        found[option] = value


def _shape(options: dict[str, str], where: str, notes: list[str]) -> dict[str, object]:
    """Return nodes, and what is asked for on each of them."""

    def count(option: str) -> int | None:
        return _count(options[option], f"{where}: --{option}") if option in options else None

    tasks, on_node = count("ntasks"), count("ntasks-per-node") or count("tasks-per-node")
    nodes = _nodes(options, where, notes)
    if nodes is None:
        nodes = math.ceil(tasks / on_node) if tasks and on_node else 1
    tasks_here = on_node or (tasks / nodes if tasks else 1)
    cores = tasks_here * (count("cpus-per-task") or 1)
    gpus, kind = _gpus(options, nodes, tasks_here, where)
    asked: dict[str, object] = {"instances": float(nodes), "gpu_type": kind}
    if {"ntasks", "cpus-per-task", "ntasks-per-node", "tasks-per-node"} & set(options):
        asked["request_cpu_cores"] = float(cores)
    else:
        notes.append("Neither tasks nor CPUs are asked for: 1 CPU is assumed.")
        asked["request_cpu_cores"] = 1.0
    asked["request_gpus"] = 0.0 if gpus is None else gpus
    for option, times in (("mem", 1.0), ("mem-per-cpu", cores), ("mem-per-gpu", gpus or 1.0)):
        if option in options:
            memory = _gib(options[option], f"{where}: --{option}") * times
            if memory > 0:
                asked["request_memory_gib"] = memory
            else:
                notes.append(f"--{option}=0 asks for all memory of a node, whatever that is.")
    return asked


def _nodes(options: dict[str, str], where: str, notes: list[str]) -> int | None:
    if "nodes" not in options:
        return None
    least, dash, _ = options["nodes"].partition("-")
    if dash:
        notes.append(f"--nodes={options['nodes']}: the least number of nodes is taken.")
    return _count(least, f"{where}: --nodes")


def _gpus(
    options: dict[str, str], nodes: int, tasks_here: float, where: str
) -> tuple[float | None, str | None]:
    """Return GPUs per node and their type, from whichever option asks for them."""
    factors = {
        "gres": 1.0, "gpus-per-node": 1.0, "gpus": 1.0 / nodes, "gpus-per-task": tasks_here,
    }  # fmt: skip
    for option, factor in factors.items():
        if option not in options:
            continue
        total, kind = gpus_of(options[option], f"{where}: --{option}", named=option == "gres")
        if total:
            return total * factor, kind
    return None, None


def gpus_of(text: str, where: str, *, named: bool = True) -> tuple[float, str | None]:
    """Return number and type of GPUs; ``named`` if the text names resources, as gres do.

    Examples
    --------
    >>> gpus_of("gres:gpu:a100:2,shard:4", "gres"), gpus_of("v100:4", "gpus", named=False)
    ((2.0, 'a100'), (4.0, 'v100'))
    """
    total, kinds = 0.0, []
    for part in re.split(r",(?![^(]*\))", text):
        bare = part.removeprefix("gres/").removeprefix("gres:")
        if named:
            if not re.match(r"gpu\b", bare):
                continue
            bare = bare.removeprefix("gpu").lstrip(":=")
        match = _GPU.fullmatch(bare)
        if match is None:
            example = "gpu:a100:2" if named else "a100:2"
            option = where.rpartition(": ")[2]
            raise InputError(f"{where} is {text!r}. Write for example {option}={example}.")
        total += float(match[2] or 1)
        kinds += [match[1]] if match[1] else []
    return total, "|".join(kinds) or None


def _limit(text: str, where: str) -> float | None:
    if text.lower() in _NO_LIMIT:
        return None
    # 0 asks for no limit
    return units.parse_duration(text, bare="min", where=where, error=InputError) or None


def _gib(text: str, where: str) -> float:
    return units.parse_memory(text, g_is="binary", bare="MiB", where=where, error=InputError)


def _count(text: str, where: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise InputError(f"{where} is {text!r}, which is not a whole number of 1 or more.")
    return int(text)


def _array_size(text: str, where: str) -> int:
    """Count the tasks of ``1-10:2``, ``1,3,5`` or ``0-99%4``."""
    total = 0
    for part in text.partition("%")[0].split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
        if match is None:
            raise InputError(f"{where} is {text!r}. Write for example 0-99 or 1,3,5.")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        total += max(0, (last - first) // max(step, 1) + 1)
    return total
