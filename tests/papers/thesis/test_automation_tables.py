from __future__ import annotations

import pytest

from prophase.papers.thesis import automation_tables as published


def test_run_tables_and_retry_are_those_of_the_thesis() -> None:
    rows = {row["item"]: row for row in published.automation_rows()}
    assert list(rows) == ["Table 1", "Table 2", "Figure 8", "Figure 9", "Figure 17"]
    assert {row["verdict"] for row in rows.values()} == {"reproduced"}


def test_a_state_too_few_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "STATES", (*published.STATES, 60))
    rows = {row["item"]: row["verdict"] for row in published.automation_rows()}
    assert rows["Table 2"] == "DIFFERS"
