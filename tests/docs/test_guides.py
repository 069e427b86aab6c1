"""Guides say what is true: their commands run. Apart from other pages, to run beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.docs.pages import GUIDES, page_name, run_commands

assert run_commands  # the fixture


@pytest.mark.parametrize("page", GUIDES, ids=page_name)
def test_the_commands_of_a_guide_run_as_they_stand(
    page: Path, run_commands: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    run_commands(page, tmp_path)
