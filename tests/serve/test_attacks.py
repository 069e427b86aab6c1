"""The attacks of ``attacks.py`` on a real service, one test per attack."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.serve.attacks import (
    ATTACKS,
    Target,
    a_damaged_model,
    a_new_certificate,
    made_workspace,
    serving,
)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_workspace(tmp_path_factory.mktemp("attacked") / "ws")


@pytest.fixture(scope="module")
def target(attacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder = shutil.copytree(attacked, tmp_path_factory.mktemp("target") / "ws")
    with serving(Path(folder)) as found:
        yield found


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: one.__name__)
def test_the_service_holds(attack: Callable[[Target], str], target: Target) -> None:
    assert attack(target)


def test_a_damaged_model_leaves_requests_alone(attacked: Path) -> None:
    assert a_damaged_model(attacked)


def test_a_certificate_is_read_again_when_its_file_changes(attacked: Path) -> None:
    assert a_new_certificate(attacked)
