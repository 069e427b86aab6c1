"""What Slurm fills in where a batch script says nothing: account, partition, QOS."""

from __future__ import annotations

import re

from prophase.errors import FetchError
from prophase.integrations.slurm.commands import SlurmCommands

_QUICK = SlurmCommands(timeout_s=3.0)


def user_defaults(user: str, commands: SlurmCommands = _QUICK) -> dict[str, str]:
    """Return columns that Slurm would fill in for a user; those nobody tells are left out."""
    found = {}
    for column, ask in (("group", _account), ("queue", _partition)):
        try:
            value = ask(user, commands)
        except FetchError:
            continue
        if value:
            found[column] = value
    return found


def _account(user: str, commands: SlurmCommands) -> str:
    words = ("-n", "-P", "show", "user", user, "format=DefaultAccount")
    return commands.said("sacctmgr", *words).strip().partition("\n")[0]


def _partition(user: str, commands: SlurmCommands) -> str:
    for line in commands.said("scontrol", "show", "partition", "-o").splitlines():
        named = re.match(r"PartitionName=(\S+)", line)
        if named and re.search(r"\bDefault=YES\b", line):
            return named[1]
    return ""
