"""The slow, obvious twins of the single-queue kernels, handed to tests as a fixture."""

from __future__ import annotations

from types import ModuleType

import pytest
from tests.oracles import single_queue


@pytest.fixture(scope="session")
def queue_oracle() -> ModuleType:
    return single_queue
