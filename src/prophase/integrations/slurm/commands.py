"""Slurm's own programs, asked in one time zone and refused in our words."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from prophase.errors import FetchError

#: what programs say when nobody answers them -> what to do
_UNREACHABLE = (
    "Unable to contact slurm controller",
    "Connection refused",
    "failed to open persistent connection",
    "Unable to connect to database",
    "Unable to establish controller machine",
    "Connection timed out",
)


@dataclass(frozen=True)
class SlurmCommands:
    """Runs sacct, scontrol, sshare and their like.

    Parameters
    ----------
    timeout_s : float, default=120
        A program that takes longer is given up.
    cluster : str, optional
        Which of several clusters is meant.
    otherwise : str
        What else to do where the programs are not installed.
    """

    timeout_s: float = 120.0
    cluster: str | None = None
    otherwise: str = "ask slurmrestd: --rest http://HOST:6820 --token-file FILE"

    def said(self, program: str, *words: str) -> str:
        """Return what a program printed; anything but success is an error."""
        found = shutil.which(program)
        if found is None:
            raise FetchError(
                f"{program} is not installed here. Run this where Slurm's programs are (a login "
                f"node), or {self.otherwise}"
            )
        named = ["-M", self.cluster] if self.cluster else []
        try:
            done = subprocess.run(
                [found, *named, *words],
                capture_output=True,
                check=False,
                timeout=self.timeout_s,
                stdin=subprocess.DEVNULL,
                # times in UTC: local ones repeat an hour in autumn
                env={**os.environ, "TZ": "UTC", "LC_ALL": "C", "SLURM_TIME_FORMAT": "standard"},
            )
        except subprocess.TimeoutExpired as cause:
            raise FetchError(
                f"{program}: no answer within {self.timeout_s:g} s. Nothing was taken; the next "
                "round asks again."
            ) from cause
        except OSError as cause:
            raise FetchError(f"{program}: cannot be run ({cause}).") from cause
        told = done.stderr.decode(errors="replace").strip()
        if done.returncode or "error:" in told:
            raise _refused(program, words, done.returncode, told)
        return done.stdout.decode("utf-8", errors="replace")


def _refused(program: str, words: Sequence[str], code: int, told: str) -> FetchError:
    last = told.splitlines()[-1] if told else f"exit {code}"
    if any(text in told for text in _UNREACHABLE):
        who = "slurmdbd" if program in ("sacct", "sacctmgr", "sreport") else "slurmctld"
        return FetchError(
            f"{program}: {who} does not answer ({last}). Nothing was taken; the next round asks "
            f"again. Is {who} running? (scontrol ping; sacctmgr ping)"
        )
    return FetchError(f"{program} {' '.join(words)[:120]}: {last}")
