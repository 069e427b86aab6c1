from __future__ import annotations

import pytest

from prophase.errors import ParameterError
from prophase.runs.store.database import Database
from prophase.runs.store.settings import LiveSettings


@pytest.fixture
def settings(tmp_path) -> LiveSettings:
    database = Database(f"sqlite:///{tmp_path}/runs.db")
    database.migrate()
    return LiveSettings(database)


def test_defaults_are_those_of_the_thesis_until_somebody_changes_them(settings):
    held = settings.read()
    assert (held["execute.parallel"], held["profile.parallel"]) == (2, 5)
    assert held["maintain.interval_s"] == 300
    assert settings.set("execute.parallel = 4", actor="me") == ("execute.parallel", 4)
    assert settings.read()["execute.parallel"] == 4
    settings.set("execute.parallel=default", actor="me")
    assert settings.read()["execute.parallel"] == 2


def test_allocations_are_settings_of_tasks(settings):
    settings.set("task.train.memory_gib=8", actor="me")
    settings.set("task.a.b.cpu_cores=2", actor="me")
    assert settings.allocations() == {"train": {"memory_gib": 8.0}, "a.b": {"cpu_cores": 2.0}}


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("execute.paralel=4", "Did you mean 'execute.parallel'"),
        ("execute.parallel", "write KEY=VALUE"),
        ("execute.parallel=2.5", "a whole number of at least 0"),
        ("lease_s=nan", "is not a duration"),
        ("task.train.memory=4", "Did you mean 'memory_gib'"),
    ],
)
def test_what_is_no_setting_is_refused_with_what_to_write(settings, assignment, said):
    with pytest.raises(ParameterError, match=said):
        settings.set(assignment, actor="me")


def test_what_one_worker_does_for_all_is_due_once_per_interval(settings):
    assert settings.due("maintain", 0.0) is False
    assert settings.due("maintain", 0.0) is True
    assert settings.due("maintain", 1000.0) is False
