"""What a Slurm site is at this moment: nodes, partitions, shares, and what its accounting keeps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pandas as pd

from prophase.errors import FetchError
from prophase.integrations.slurm.commands import SlurmCommands
from prophase.json_types import JsonMapping
from prophase.trace.readers.sacct_json import plain

_PAIR = re.compile(r"(\w+)=(\S*)")
_NOTHING = ("", "(null)", "N/A", "NONE", "n/a")
#: what to change at a site whose accounting keeps no memory
RECORD_MEMORY = (
    "set JobAcctGatherType=jobacct_gather/cgroup and JobAcctGatherFrequency=task=30 in slurm.conf, "
    "then: scontrol reconfigure, and restart slurmd"
)


def settings(commands: SlurmCommands) -> dict[str, str]:
    """Return the configuration that slurmctld runs with, names in lower case."""
    found = {}
    for line in commands.said("scontrol", "show", "config").splitlines():
        name, equals, value = line.partition("=")
        if equals:
            found[name.strip().lower()] = value.strip()
    return found


def why_no_memory(held: Mapping[str, str]) -> str | None:
    """Say why accounting cannot know memory, and what to change; None if it can."""
    kind = held.get("jobacctgathertype", "")
    if kind.rpartition("/")[2] in ("none", ""):
        set_to = kind or "not set"
        return f"This site records no memory (JobAcctGatherType={set_to}): {RECORD_MEMORY}."
    frequency = re.search(r"(?:^|task=)(\d+)", held.get("jobacctgatherfrequency", "30"))
    if frequency is not None and int(frequency[1]) == 0:
        return (
            "This site samples no memory use (JobAcctGatherFrequency=task=0), so MaxRSS is only "
            f"what steps held at their end: {RECORD_MEMORY}."
        )
    return None


def nodes_text(commands: SlurmCommands) -> str:
    """Return what scontrol prints of all nodes, a line each."""
    return commands.said("scontrol", "show", "node", "-o")


def partitions(commands: SlurmCommands) -> pd.DataFrame:
    """Return the partitions: nodes, limits, defaults, priority."""
    printed = commands.said("scontrol", "show", "partition", "-o")
    return partition_table(dict(_PAIR.findall(line)) for line in printed.splitlines() if line)


def partition_table(found: Iterator[Mapping[str, str]]) -> pd.DataFrame:
    """Return one row per partition from scontrol's words.

    Examples
    --------
    >>> held = {"PartitionName": "gpu", "Nodes": "n[1-2]", "MaxTime": "1-00:00:00"}
    >>> float(partition_table(iter([held]))["max_time_s"][0])
    86400.0
    """
    rows = [
        {
            "partition": one["PartitionName"],
            "nodes": _word(one.get("Nodes")),
            "state": _word(one.get("State")),
            "is_default": one.get("Default") == "YES",
            "max_time_s": _seconds(one.get("MaxTime")),
            "default_time_s": _seconds(one.get("DefaultTime")),
            "priority_tier": _number(one.get("PriorityTier")),
            "priority_job_factor": _number(one.get("PriorityJobFactor")),
            "preempt_mode": _word(one.get("PreemptMode")),
            "qos": _word(one.get("QoS")),
            "cpu_cores": _number(one.get("TotalCPUs")),
            "node_count": _number(one.get("TotalNodes")),
            "default_memory_mib_per_node": _number(one.get("DefMemPerNode")),
            "default_memory_mib_per_cpu": _number(one.get("DefMemPerCPU")),
            "max_memory_mib_per_node": _number(one.get("MaxMemPerNode")),
            "tres": _word(one.get("TRES")),
        }
        for one in found
    ]
    return pd.DataFrame(rows)


def shares(commands: SlurmCommands) -> pd.DataFrame | None:
    """Return the shares of accounts and users; None at a site without fair share."""
    try:
        printed = commands.said("sshare", "-a", "-l", "-P")
    except FetchError:
        return None
    lines = [line.split("|") for line in printed.splitlines() if line.strip()]
    head, rows = lines[0], lines[1:]
    found = [dict(zip(head, (cell.strip() for cell in row), strict=False)) for row in rows]
    return pd.DataFrame(
        [
            {
                "group": one.get("Account"),
                "user": one.get("User") or None,
                "shares": _number(one.get("RawShares")),
                "share_frac": _number(one.get("NormShares")),
                "usage_raw": _number(one.get("RawUsage")),
                "usage_frac": _number(one.get("EffectvUsage")),
                "fair_share": _number(one.get("FairShare")),
            }
            for one in found
        ]
    )


def rest_nodes_text(document: JsonMapping) -> str:
    """Return the nodes of slurmrestd's JSON as scontrol would print them."""
    lines = []
    for one in document.get("nodes") or ():
        words = {
            "NodeName": one.get("name"),
            "CPUTot": plain(one.get("cpus")),
            "RealMemory": plain(one.get("real_memory")),
            "Gres": one.get("gres"),
            "AvailableFeatures": _joined(one.get("features")),
            "Weight": plain(one.get("weight")),
            "Partitions": _joined(one.get("partitions")),
        }
        lines.append(" ".join(f"{key}={value}" for key, value in words.items() if value))
    return "\n".join(lines) + "\n"


def _joined(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _word(value: str | None) -> str | None:
    return None if value is None or value in _NOTHING else value


def _number(value: str | None) -> float | None:
    try:
        return float(value) if value else None
    except ValueError:
        return None


def _seconds(value: str | None) -> float | None:
    """Return seconds of ``[days-]hours:minutes:seconds``; None if there is no limit."""
    match = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", value or "")
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return 86_400.0 * days + 3600.0 * hours + 60.0 * minutes + seconds
