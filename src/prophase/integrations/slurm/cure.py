"""Cure jobs of Slurm that were killed: requeue them with more of what they lacked.

A job killed for memory is requeued with the next rung of its ladder, which the plugin left in its
admin comment at submission; without one, with what the workspace recommends, else with twice the
memory. A job out of time is treated likewise where the site wants it. Out of GPU memory, or of a
limit of the program's own, more of Slurm's resources do not help: the job gets a note, no more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prophase import units
from prophase.errors import FetchError, ParameterError, not_among
from prophase.integrations.slurm.commands import SlurmCommands
from prophase.json_types import JsonMapping, JsonObject
from prophase.profile.submission.slurm_job_desc import from_job_desc
from prophase.runs.end_cause import CURES, EndEvidence, command_end
from prophase.runs.next_attempt import ladder
from prophase.sizing.recommender import Recommender

_KEY = re.compile(r"(?:^|\s)([A-Z][A-Za-z/:]*)=")
#: what the plugin leaves in the admin comment: "memory 4096 -> 381, 495, 4096"
_LADDER = re.compile(r"(memory|time) [\d.]+ -> ([\d., ]+)")
#: the end of a job's log that is looked at
_TAIL = 65_536
#: GPUs of a job among its TRES, and memory for each of them
_GPUS, _PER_GPU = re.compile(r"gres/gpu=(\d+)"), re.compile(r"gpu(?::[^:,=]*)?[:=](\d+)")
#: what is cured if the settings say nothing
_OPTIONS = ("memory", "time", "most", "max_memory_gib")


@dataclass(frozen=True)
class CureRules:
    """What a site wants cured: the part ``[cure]`` of a workspace's prophase.toml.

    Attributes
    ----------
    memory, time : bool
        Requeue jobs that were killed for memory; those that ran out of time.
    most : int
        How often a job is requeued at most.
    max_memory_gib : float, optional
        Memory per node that no job gets; by default that of the largest node.
    """

    memory: bool = True
    time: bool = False
    most: int = 2
    max_memory_gib: float | None = None

    @classmethod
    def of(cls, settings: JsonMapping) -> CureRules:
        """Return the rules of a workspace's settings.

        Examples
        --------
        >>> CureRules.of({"cure": {"most": 3}}).most
        3
        """
        held = settings.get("cure", {})
        if not isinstance(held, Mapping):
            raise ParameterError("prophase.toml: [cure] is a table of names and values.")
        for name in held:
            if name not in _OPTIONS:
                raise ParameterError(
                    not_among(f"prophase.toml: [cure] knows no {name!r}.", name, _OPTIONS)
                )
        for name in ("memory", "time"):
            if not isinstance(held.get(name, True), bool):
                raise ParameterError(f"prophase.toml: {name} of [cure] is true or false.")
        most = held.get("most", 2)
        if isinstance(most, bool) or not isinstance(most, int) or not 0 <= most <= 20:
            raise ParameterError("prophase.toml: most of [cure] is a whole number from 0 to 20.")
        return cls(**held)


@dataclass(frozen=True)
class Cure:
    """What was done about one job."""

    job: str
    user: str
    #: host_memory, gpu_memory, own_limit, time_limit
    cause: str
    requeued: bool
    #: one line: what was changed and why
    words: str

    def to_dict(self) -> JsonObject:
        """Return what JSON holds."""
        return {
            "job": self.job, "user": self.user, "cause": self.cause, "requeued": self.requeued,
            "words": self.words,
        }  # fmt: skip


#: job as scontrol shows it -> recommended memory per node in MiB of each attempt, if any is known
Rungs = Callable[[Mapping[str, str]], Sequence[float]]


def no_rungs(job: Mapping[str, str]) -> Sequence[float]:
    """Know nothing."""
    return ()


def rungs_of(recommender: Recommender) -> Rungs:
    """Return what a model recommends for jobs that nobody resized."""

    def found(held: Mapping[str, str]) -> Sequence[float]:
        nodes = _nodes(held)
        # without its request: that was too little, so it says nothing about what it needs
        fields: JsonObject = {
            "name": held.get("JobName"), "user_name": held.get("UserId", "").partition("(")[0],
            "account": held.get("Account"), "partition": held.get("Partition"),
            "qos": held.get("QOS"), "work_dir": held.get("WorkDir"), "min_nodes": nodes,
            "min_cpus": float(held.get("NumCPUs", nodes)),
        }  # fmt: skip
        told = recommender.recommend(from_job_desc(fields).columns, ["memory"])
        return [1024 * rung for one in told for rung in one.ladder]

    return found


def killed_jobs(commands: SlurmCommands, rules: CureRules) -> list[str]:
    """Return the jobs that slurmctld still holds and that ended as a cure exists for."""
    states = ["F", *(["OOM"] if rules.memory else []), *(["TO"] if rules.time else [])]
    listed = commands.said("squeue", "-h", "-a", "-r", "-t", ",".join(states), "-o", "%i")
    return listed.split()


def shown_job(commands: SlurmCommands, job: str) -> dict[str, str]:
    """Return what ``scontrol show job`` says, by name."""
    return fields_of(commands.said("scontrol", "show", "job", "-o", job))


def fields_of(line: str) -> dict[str, str]:
    """Return the names and values of a line of scontrol; values may hold spaces.

    Examples
    --------
    >>> fields_of("JobId=7 JobName=my job JobState=FAILED")["JobName"]
    'my job'
    """
    parts = _KEY.split(line.strip())
    pairs = zip(parts[1::2], parts[2::2], strict=False)
    return {key: value.strip() for key, value in pairs if value.strip() != "(null)"}


def cure_job(
    commands: SlurmCommands, job: str, rules: CureRules, *, rungs: Rungs = no_rungs
) -> Cure | None:
    """Requeue one job with more, or note what would help; None if it needs no cure."""
    held = shown_job(commands, job)
    state, user = held.get("JobState", ""), held.get("UserId", "").partition("(")[0]
    if state == "OUT_OF_MEMORY" and rules.memory:
        return _more_memory(commands, job, held, rules, rungs)
    if state == "TIMEOUT" and rules.time:
        return _more_time(commands, job, held, rules)
    if state != "FAILED":
        return None
    code = int(held.get("ExitCode", "1:0").partition(":")[0] or 1)
    end = command_end(EndEvidence(code or 1, _printed(held)))
    if end.cause not in ("gpu_memory", "own_limit"):
        return None
    if "prophase:" in held.get("AdminComment", "") and end.because in held["AdminComment"]:
        return None
    words = f"{end.because}. {CURES[end.cause]}"
    return Cure(job, user, end.cause, False, _noted(commands, job, words))


def _more_memory(
    commands: SlurmCommands, job: str, held: Mapping[str, str], rules: CureRules, rungs: Rungs
) -> Cure:
    user = held.get("UserId", "").partition("(")[0]
    field, given = _asked_memory(held)
    most, each = _largest(commands, held, rules), 1.0
    if field == "MinMemoryCPU":
        each = max(1.0, float(held.get("NumCPUs", 1)) / max(1.0, _nodes(held)))
        most /= each
    told = noted_ladder(held.get("AdminComment", ""), "memory")
    told = told or [float(math.ceil(rung / each)) for rung in rungs(held)]
    next_mib = ladder(recommended=told, most=most)(given) if given > 0 else None
    refused = _why_not(held, rules)
    if refused is None and next_mib is None:
        refused = f"{_mib(given)} is the most that a node has"
    if refused is not None:
        words = f"killed for memory at {_mib(given)}; not requeued: {refused}"
        return Cure(job, user, "host_memory", False, _noted(commands, job, words))
    assert next_mib is not None
    attempt = int(held.get("Restarts", 0)) + 1
    words = (
        f"killed for memory at {_mib(given)}, requeued with {_mib(next_mib)} "
        f"({attempt} of at most {rules.most})"
    )
    # what it has yet to try stays in the note
    after = [rung for rung in told if rung > next_mib * 1.001]
    ladder_left = "".join(
        [f"; memory {given:.0f} -> ", ", ".join(f"{rung:.0f}" for rung in [next_mib, *after])]
    )
    _requeue(commands, job, [f"{field}={next_mib:.0f}"], words + ladder_left)
    return Cure(job, user, "host_memory", True, words)


def _asked_memory(held: Mapping[str, str]) -> tuple[str, float]:
    """Return the field to set, and what the job has of it now in MiB.

    Memory per GPU cannot be changed afterwards, but memory per node can, and counts before it.
    """
    if "MinMemoryCPU" in held:
        return "MinMemoryCPU", mib_of(held["MinMemoryCPU"])
    given = mib_of(held.get("MinMemoryNode", "0"))
    per_gpu = _PER_GPU.search(held.get("MemPerTres", ""))
    if not given and per_gpu:
        gpus = _GPUS.search(held.get("TRES", ""))
        given = float(per_gpu[1]) * max(1.0, float(gpus[1]) / _nodes(held) if gpus else 1.0)
    return "MinMemoryNode", given


def _more_time(
    commands: SlurmCommands, job: str, held: Mapping[str, str], rules: CureRules
) -> Cure:
    user = held.get("UserId", "").partition("(")[0]
    given_min = units.parse_duration(held.get("TimeLimit", "0"), bare="min", where="TimeLimit") / 60
    told = noted_ladder(held.get("AdminComment", ""), "time")
    next_min = ladder(recommended=told)(given_min)
    refused = _why_not(held, rules)
    if refused is not None or next_min is None:
        words = f"out of time after {given_min:.0f} min; not requeued: {refused}"
        return Cure(job, user, "time_limit", False, _noted(commands, job, words))
    attempt = int(held.get("Restarts", 0)) + 1
    words = (
        f"out of time after {given_min:.0f} min, requeued with {next_min:.0f} min "
        f"({attempt} of at most {rules.most})"
    )
    _requeue(commands, job, [f"TimeLimit={next_min:.0f}"], words)
    return Cure(job, user, "time_limit", True, words)


def _why_not(held: Mapping[str, str], rules: CureRules) -> str | None:
    """Say why a job is not to be requeued; None if it may be."""
    if held.get("BatchFlag") == "0":
        return "it is not a batch job"
    if held.get("Requeue") == "0":
        return "its user wants no requeue (--no-requeue)"
    if re.search(r"prophase[=:]off", held.get("Comment", "")):
        return "its user has opted out"
    if int(held.get("Restarts", 0)) >= rules.most:
        return f"it was requeued {rules.most} times already"
    return None


def _requeue(commands: SlurmCommands, job: str, change: Sequence[str], words: str) -> None:
    commands.said("scontrol", "requeuehold", job)
    try:
        commands.said("scontrol", "update", f"JobId={job}", *change, f"AdminComment={_note(words)}")
    finally:
        # a job that could not be changed must not be left held
        commands.said("scontrol", "release", job)


def _noted(commands: SlurmCommands, job: str, words: str) -> str:
    """Leave a note on a job that has ended, and return its words."""
    raw = shown_job(commands, job).get("JobId", job)
    try:
        commands.said(
            "sacctmgr", "-i", "modify", "job", "where", f"jobid={raw}", "set",
            f"AdminComment={_note(words)}",
        )  # fmt: skip
    except FetchError:
        # the note is a courtesy; the answer of this command says the same
        return words
    return words


def _note(words: str) -> str:
    return "prophase: " + " ".join(words.replace('"', "'").split())[:900]


def noted_ladder(comment: str, resource: str) -> list[float]:
    """Return the rungs that a note on a job names, in MiB or minutes.

    Examples
    --------
    >>> noted_ladder("prophase: memory 4096 -> 381, 495, 4096; time 120 -> 6", "memory")
    [381.0, 495.0, 4096.0]
    """
    found = [rungs for name, rungs in _LADDER.findall(comment) if name == resource]
    return [float(word) for word in found[-1].replace(",", " ").split()] if found else []


def mib_of(text: str) -> float:
    """Return MiB of an amount as scontrol writes it.

    Examples
    --------
    >>> mib_of("381M"), mib_of("1.5G")
    (381.0, 1536.0)
    """
    gib = units.parse_memory(text, g_is="binary", bare="MiB", where="scontrol", error=FetchError)
    return 1024 * gib


def _mib(amount: float) -> str:
    return units.memory(amount / 1024)


def _nodes(held: Mapping[str, str]) -> float:
    return float(held.get("NumNodes", "1").partition("-")[0])


def _largest(commands: SlurmCommands, held: Mapping[str, str], rules: CureRules) -> float:
    """Return the memory in MiB of the largest node of the job's partition."""
    if rules.max_memory_gib is not None:
        return rules.max_memory_gib * 1024
    wanted = held.get("Partition", "")
    printed = commands.said("sinfo", "-h", "-N", "-p", wanted, "-o", "%m")
    return max((float(word.rstrip("+")) for word in printed.split()), default=float("inf"))


def _printed(held: Mapping[str, str]) -> bytes:
    """Return the end of what a job printed, as far as we may read it."""
    found = b""
    for name in dict.fromkeys((held.get("StdOut", ""), held.get("StdErr", ""))):
        try:
            with Path(name).open("rb") as log:
                log.seek(0, 2)
                log.seek(max(0, log.tell() - _TAIL))
                found += log.read()
        except OSError:
            continue
    return found
