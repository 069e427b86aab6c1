"""A short rolling upgrade; ``python -m tests.serve.rolling_upgrade`` is the long one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.serve.attacks import made_workspace
from tests.serve.rolling_upgrade import campaign, postgres_programs, running_postgres


def test_replacing_a_replica_fails_no_admission_and_loses_no_report(tmp_path: Path) -> None:
    programs = postgres_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server; tools/system-packages installs one")
    with running_postgres(programs) as server:
        tally = campaign(
            made_workspace(tmp_path / "ws"),
            server,
            tmp_path,
            replicas=2,
            rate=10.0,
            replacements=1,
            settle_s=1.0,
        )
    assert tally.upgrades == 1
    assert not tally.failed.total(), tally.lines()
    assert not tally.lost, tally.lines()
    assert len(tally.kept) == len(set(tally.kept))
    assert tally.asked["admission"] > 5
    assert tally.confirmed
