"""The slow, obvious twin of the event loop, handed to tests as a fixture."""

from __future__ import annotations

from types import ModuleType

import pytest
from tests.oracles import replay


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    return replay
