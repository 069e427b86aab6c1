"""The table of runs: register, claim, move on, reset, look.

Every move happens in one transaction together with its line in the history. A worker moves a run
only under a claim that is still its own; a claim ends by itself when its holder goes silent.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from sqlalchemy import Connection, insert, select

from prophase.errors import ParameterError
from prophase.runs.store.leases import LeaseQueries
from prophase.runs.store.records import NewRun, as_row, unclaimed_row
from prophase.runs.store.tables import CLAIMS, HISTORY, RUNS, VERSIONS
from prophase.runs.store.transitions import RunTransitions

#: rows per statement; SQLite allows 32,766 values in one
_ROWS_AT_ONCE = 500


class RunStore(LeaseQueries, RunTransitions):
    """The runs of a campaign.

    Parameters
    ----------
    database : Database
        Where they are; its tables must be up to date.
    """

    def register(self, runs: Iterable[NewRun], *, actor: str) -> int:
        """Add the runs that are not there yet and return how many were added."""
        wanted = {(run.scenario, run.execution_date, run.version): run for run in runs}

        def add(connection: Connection) -> int:
            now = connection.execute(select(self._now)).scalar_one()
            there = {
                (row.scenario, row.execution_date, row.scenario_version)
                for row in connection.execute(
                    select(RUNS.c.scenario, RUNS.c.execution_date, RUNS.c.scenario_version)
                )
            }
            fresh = [run for key, run in wanted.items() if key not in there]
            for at in range(0, len(fresh), _ROWS_AT_ONCE):
                rows = [as_row(run) for run in fresh[at : at + _ROWS_AT_ONCE]]
                ids = connection.scalars(insert(RUNS).returning(RUNS.c.id), rows).all()
                connection.execute(insert(CLAIMS), [unclaimed_row(run_id, now) for run_id in ids])
                first = {"time_s": now, "to_state": 0, "event": "registered", "actor": actor}
                connection.execute(insert(HISTORY), [{"run": i, **first} for i in ids])
            return len(fresh)

        return self.database.write(add)

    def save_version(self, version: str, *, pipeline: str, code: str) -> None:
        """Keep the pipeline and the place of the job code under the version's name."""

        def save(connection: Connection) -> None:
            known = select(VERSIONS.c.version).where(VERSIONS.c.version == version)
            if connection.execute(known).first() is None:
                row = {"version": version, "pipeline": pipeline, "code": code}
                connection.execute(insert(VERSIONS), {**row, "made_at_s": time.time()})

        self.database.write(save)

    def version(self, version: str) -> tuple[str, str]:
        """Return the pipeline and the place of the job code of a version."""
        asked = select(VERSIONS.c.pipeline, VERSIONS.c.code).where(VERSIONS.c.version == version)
        row = self.database.read(lambda connection: connection.execute(asked).first())
        if row is None:
            raise ParameterError(f"Version {version!r} of the job code was never registered.")
        return str(row.pipeline), str(row.code)
