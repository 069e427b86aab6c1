"""What all tests share: where the real traces are, and that nothing is skipped in CI."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: in CI a test that cannot run is a failure, not a gap
REQUIRE_ALL = os.environ.get("PROPHASE_REQUIRE_ALL") == "1"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the real traces; tests that need it are skipped elsewhere."""
    folder = Path(os.environ.get("PROPHASE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real traces at {folder}; set PROPHASE_DATA")
    return folder


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: object) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()
    if REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although PROPHASE_REQUIRE_ALL=1: {report.longrepr}"
