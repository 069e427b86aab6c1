"""The slow, obvious twins of the single-queue kernels, handed to tests as a fixture."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def queue_oracle() -> ModuleType:
    path = Path(__file__).parents[2] / "oracles" / "single_queue.py"
    spec = importlib.util.spec_from_file_location("single_queue_oracle", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
