"""The slow, obvious twin of the event loop, handed to tests as a fixture."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    path = Path(__file__).parents[1] / "oracles" / "replay.py"
    spec = importlib.util.spec_from_file_location("replay_oracle", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
