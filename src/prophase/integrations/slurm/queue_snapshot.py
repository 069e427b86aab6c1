"""The queue of the Slurm cluster that this machine talks to, by Slurm's own programs."""

from __future__ import annotations

import time
from pathlib import Path

from prophase.errors import FetchError, storage_error
from prophase.integrations.slurm.commands import SlurmCommands
from prophase.sim.slurm.snapshot import COMMANDS, NEEDED, QueueSnapshot


def look(folder: Path, *, timeout_s: float = 60.0) -> QueueSnapshot:
    """Write what the programs print into a folder, and read it.

    Accounting (QOS and associations) may be missing; jobs, nodes and partitions may not.
    """
    commands = SlurmCommands(timeout_s, otherwise="read a saved queue: --saved FOLDER")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "now.txt").write_text(f"{time.time():.0f}\n", encoding="utf-8")
        for file, command in COMMANDS.items():
            try:
                said = commands.said(*command)
            except FetchError:
                if file in NEEDED:
                    raise
                continue
            (folder / file).write_text(said, encoding="utf-8")
    except OSError as cause:
        raise storage_error(cause, folder) from cause
    return QueueSnapshot.read(folder)
