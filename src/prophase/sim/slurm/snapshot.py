"""The queue of a Slurm cluster at one instant, as its own programs print it.

``jobs.txt`` (``scontrol show job -o``), ``nodes.txt``, ``partitions.txt`` and ``reservations.txt``
(the same of nodes, partitions and reservations), ``config.txt`` (``scontrol show config``, or a
``slurm.conf`` beside), ``qos.txt`` and ``assoc.txt`` (``sacctmgr -P show``), ``now.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from prophase import units
from prophase.errors import FormatError, MissingFileError, storage_error
from prophase.sim.cluster import Cluster
from prophase.sim.forecast.live_twin import LiveQueue
from prophase.sim.slurm.site_rules import SiteRules, instant
from prophase.sim.slurm_conf import find_conf, slurm_settings
from prophase.trace.readers.slurm_conf import SlurmConf, node_names

#: file of a saved queue -> the command that prints it
COMMANDS = {
    "jobs.txt": ("scontrol", "show", "job", "-o"),
    "nodes.txt": ("scontrol", "show", "node", "-o"),
    "partitions.txt": ("scontrol", "show", "partition", "-o"),
    "reservations.txt": ("scontrol", "show", "reservation", "-o"),
    "config.txt": ("scontrol", "show", "config"),
    "qos.txt": ("sacctmgr", "-P", "show", "qos"),
    "assoc.txt": ("sacctmgr", "-P", "show", "assoc"),
}
#: without these there is no queue; accounting may be missing
NEEDED = ("jobs.txt", "nodes.txt", "partitions.txt")
_WORD = re.compile(r"(?:^|\s)([A-Z][\w/:]*)=")
_NOTHING = ("", "(null)", "N/A", "None", "Unknown", "NONE")
_OFF = ("DOWN", "DRAIN", "FAIL", "MAINT", "NOT_RESPONDING", "POWERING", "REBOOT", "FUTURE")
#: reasons for which a pending job does not start by itself
_HELD = ("JobHeldUser", "JobHeldAdmin", "DependencyNeverSatisfied", "BadConstraints")


@dataclass(frozen=True)
class QueueSnapshot(LiveQueue):
    """What runs, what waits, on which nodes, by which rules.

    Attributes
    ----------
    jobs : DataFrame
        Columns of the job table; ``status`` is running or pending, ``held_nodes`` names the nodes
        of running jobs, ``attr_priority`` is Slurm's own number, ``slurm_start_s`` when Slurm says
        a job will start, if it says so.
    off : tuple of str
        Nodes that take no new jobs.
    left_out : dict
        Jobs that do not start by themselves, counted by reason.
    """

    nodes: pd.DataFrame
    off: tuple[str, ...]
    #: settings of ``simulate``, the site's rules among them
    settings: dict[str, Any]
    left_out: dict[str, int]

    @property
    def rules(self) -> SiteRules:
        """The rules of the site."""
        found: SiteRules = self.settings["slurm"]
        return found

    @property
    def cluster(self) -> Cluster:
        """The nodes."""
        return Cluster.from_nodes(self.nodes)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read a saved queue."""
        texts = {}
        for name in [*COMMANDS, "now.txt"]:
            path = folder / name
            if not path.is_file():
                continue
            try:
                texts[name] = path.read_text(encoding="utf-8", errors="replace")
            except OSError as cause:
                raise storage_error(cause, path) from cause
        missing = [name for name in NEEDED if name not in texts]
        if missing:
            raise MissingFileError(
                f"{folder / missing[0]}: there is no such file. A saved queue is written by "
                "prophase queue slurm --out FOLDER."
            )
        conf = find_conf(folder) if (folder / "slurm.conf").is_file() else None
        return cls.of(texts, conf, folder)

    @classmethod
    def of(cls, texts: Mapping[str, str], conf: SlurmConf | None, folder: Path) -> Self:
        """Take what the programs printed."""
        now_s = float(texts["now.txt"]) if "now.txt" in texts else _latest(texts["jobs.txt"])
        printed = _printed_conf(texts)
        if conf is not None:
            printed = replace(printed, settings=conf.settings, switches=conf.switches)
        settings = slurm_settings(printed, folder)
        rules: SiteRules = settings["slurm"]
        settings["slurm"] = replace(
            rules,
            reservations=tuple(
                replace(one, start_s=one.start_s - now_s, end_s=one.end_s - now_s)
                for one in rules.reservations
            ),
        )
        jobs, left_out = _jobs(texts["jobs.txt"], now_s)
        nodes, off = _nodes(texts["nodes.txt"])
        return cls(now_s, jobs, nodes, off, settings, left_out)

    def summary(self) -> pd.DataFrame:
        """Return one row per partition: nodes, cores, what runs and waits."""
        rows = []
        place = {str(name): row for row, name in enumerate(self.nodes["node_id"])}
        for part in self.rules.partitions.values():
            mine = [place[name] for name in part.nodes if name in place]
            of = self.jobs[self.jobs["queue"] == part.name]
            runs, waits = of[of["status"] == "running"], of[of["status"] == "pending"]
            longest = (self.now_s - waits["submit_s"]).max() if len(waits) else 0.0
            rows.append(
                {
                    "partition": part.name,
                    "nodes": len(mine),
                    "off": sum(name in self.off for name in part.nodes),
                    "cores": float(self.nodes["cpu_cores"].to_numpy(float)[mine].sum()),
                    "gpus": float(self.nodes["gpus"].to_numpy(float)[mine].sum()),
                    "running": len(runs),
                    "running_cores": _total(runs, "request_cpu_cores"),
                    "waiting": len(waits),
                    "waiting_cores": _total(waits, "request_cpu_cores"),
                    "longest_wait_s": float(longest),
                }
            )
        return pd.DataFrame(rows)


def _total(jobs: pd.DataFrame, column: str) -> float:
    return float((jobs[column].fillna(0.0) * jobs["instances"]).sum())


def words_of(text: str) -> Iterator[dict[str, str]]:
    """Yield the words of each line that scontrol -o prints; values may hold spaces.

    Examples
    --------
    >>> next(words_of("JobId=1 JobName=my job UserId=ann(7)"))["JobName"]
    'my job'
    """
    for line in text.splitlines():
        marks = list(_WORD.finditer(line))
        ends = [mark.start() for mark in marks[1:]] + [len(line)]
        found = {
            mark[1]: line[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)
        }
        if found:
            yield found


def _printed_conf(texts: Mapping[str, str]) -> SlurmConf:
    """Return the configuration as slurmctld prints it."""
    conf = SlurmConf()
    for line in texts.get("config.txt", "").splitlines():
        name, equals, value = line.partition("=")
        if equals and " " not in name.strip() and value.strip() not in _NOTHING:
            conf.settings[name.strip().lower()] = value.strip()
    for words in words_of(texts["nodes.txt"]):
        conf.nodes[words["NodeName"]] = {key.lower(): value for key, value in words.items()}
    for words in words_of(texts["partitions.txt"]):
        kept = {key.lower(): value for key, value in words.items() if value not in _NOTHING}
        # OFF is how the default of the whole cluster is printed for a partition
        if kept.get("preemptmode") == "OFF":
            del kept["preemptmode"]
        conf.partitions[words["PartitionName"]] = kept
    if not conf.nodes:
        raise FormatError("nodes.txt: holds nothing that scontrol show node -o prints.")
    return conf


def _nodes(text: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    rows, off = [], []
    for words in words_of(text):
        gpu = re.search(r"(?:^|,)gpu(?::([A-Za-z][\w.-]*))?:(\d+)", words.get("Gres", ""))
        features = words.get("AvailableFeatures", "")
        rows.append(
            {
                "node_id": words["NodeName"],
                "cpu_cores": float(words.get("CPUEfctv") or words["CPUTot"]),
                "memory_gib": float(words.get("RealMemory", "0")) / 1024,
                "gpus": float(gpu[2]) if gpu else 0.0,
                "gpu_type": (gpu[1] or "GPU") if gpu else "",
                "features": "" if features in _NOTHING else features.replace(",", "|"),
                "attr_weight": float(words.get("Weight", "1")),
                "attr_state": words.get("State", ""),
            }
        )
        if any(word in words.get("State", "") for word in _OFF):
            off.append(words["NodeName"])
    return pd.DataFrame(rows), tuple(off)


def _jobs(text: str, now_s: float) -> tuple[pd.DataFrame, dict[str, int]]:
    rows: list[dict[str, Any]] = []
    left_out: dict[str, int] = {}
    for words in words_of(text):
        state = words.get("JobState", "")
        if state not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED"):
            continue
        reason = words.get("Reason", "")
        if state == "PENDING" and (reason in _HELD or words.get("Priority") == "0"):
            why = reason if reason in _HELD else "held"
            left_out[why] = left_out.get(why, 0) + 1
            continue
        for name in _tasks(words):
            rows.append(_job(words, name, state, now_s))
    columns = list(_job({"JobId": "0"}, "0", "PENDING", now_s))
    found = pd.DataFrame(rows, columns=columns)
    return found, left_out


def _tasks(words: Mapping[str, str]) -> list[str]:
    """Return the ids of a line: pending tasks of an array share one."""
    array = words.get("ArrayJobId")
    if array is None:
        return [words["JobId"]]
    tasks = words.get("ArrayTaskId", "").partition("%")[0]
    if not re.fullmatch(r"[\d,:-]+", tasks):
        return [words["JobId"]]
    found: list[str] = []
    for part in tasks.split(","):
        span, _, step = part.partition(":")
        low, _, high = span.partition("-")
        found += [
            f"{array}_{task}" for task in range(int(low), int(high or low) + 1, int(step or 1))
        ]
    return found


def _job(words: Mapping[str, str], name: str, state: str, now_s: float) -> dict[str, Any]:
    nodes = float(words.get("NumNodes", "1").partition("-")[0] or 1)
    tres = dict(part.split("=", 1) for part in _said(words, "TRES").split(",") if "=" in part)
    cpus = float(tres.get("cpu", words.get("NumCPUs", "1")))
    runs = state != "PENDING"
    gpus = sum(float(count) for key, count in tres.items() if key == "gres/gpu")
    memory = tres.get("mem", "")
    begin = _time(words, "EligibleTime")
    return {
        "job_id": name,
        "parent_id": words.get("ArrayJobId", ""),
        "name": words.get("JobName", ""),
        "user": words.get("UserId", "").partition("(")[0],
        "group": _said(words, "Account"),
        "queue": words.get("Partition", "").partition(",")[0],
        "submit_s": _time(words, "SubmitTime", now_s),
        "start_s": _time(words, "StartTime") if runs else np.nan,
        "status": "running" if runs else "pending",
        "instances": nodes,
        "request_cpu_cores": cpus / nodes,
        "request_memory_gib": units.parse_memory(memory, g_is="binary", bare="MiB") / nodes
        if memory
        else np.nan,
        "request_gpus": gpus / nodes,
        "time_limit_s": _limit(words),
        "attr_qos": _said(words, "QOS"),
        "attr_features": _said(words, "Features").replace("&", "|"),
        "attr_reservation": _said(words, "Reservation"),
        "attr_dependency": re.sub(r"\(\w+\)", "", _said(words, "Dependency")),
        "attr_begin_s": begin - now_s if not np.isnan(begin) and begin > now_s else np.nan,
        "attr_array_throttle": float(words.get("ArrayTaskThrottle", "nan")),
        "attr_priority": float(words.get("Priority", "0")),
        "attr_reason": words.get("Reason", ""),
        "held_nodes": _said(words, "NodeList") if runs else "",
        "slurm_start_s": np.nan if runs else _time(words, "StartTime"),
    }


def _said(words: Mapping[str, str], name: str) -> str:
    text = words.get(name, "")
    return "" if text in _NOTHING else text


def _time(words: Mapping[str, str], name: str, missing: float = np.nan) -> float:
    text = words.get(name, "")
    return missing if text in _NOTHING else instant(text)


def _limit(words: Mapping[str, str]) -> float:
    text = words.get("TimeLimit", "")
    if text in (*_NOTHING, "UNLIMITED", "Partition_Limit"):
        return np.nan
    return units.parse_duration(text, bare="min", where="TimeLimit")


def _latest(text: str) -> float:
    """Return the last instant that has passed for some job: the time of a queue without one."""
    times = [
        instant(words[name])
        for words in words_of(text)
        for name in ("SubmitTime", "LastSchedEval")
        if words.get(name, "Unknown") not in _NOTHING
    ]
    if not times:
        raise FormatError("jobs.txt: tells no time. Write the seconds since 1970 into now.txt.")
    return max(times)


def held_rows(jobs: pd.DataFrame, nodes: pd.DataFrame) -> list[np.ndarray[Any, Any]]:
    """Return the nodes of each running job as rows of the node table."""
    place = {str(name): row for row, name in enumerate(nodes["node_id"])}
    return [
        np.array([place[name] for name in node_names(text) if name in place], np.int64)
        if text
        else np.zeros(0, np.int64)
        for text in jobs["held_nodes"].fillna("").astype(str)
    ]


#: a job without a limit is believed to run for a year
ENDLESS_S = 365 * 86_400.0
