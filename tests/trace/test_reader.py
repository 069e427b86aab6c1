from __future__ import annotations

import pytest

from prophase.errors import ParameterError
from prophase.trace.reader import all_readers, reader_named


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("drac-slurm", "drac"),
        ("google2011-jobs", "google2011"),
        ("mit", "mit-supercloud"),
        ("philly-cluster-state", "philly-state"),
    ],
)
def test_a_source_is_also_found_by_the_name_of_its_folder(alias: str, name: str) -> None:
    assert reader_named(alias).name == name


def test_no_alias_means_two_sources() -> None:
    words = [word for reader in all_readers().values() for word in (reader.name, *reader.aliases)]
    assert len(words) == len(set(words))


def test_an_unknown_source_is_refused_with_the_closest_one() -> None:
    with pytest.raises(ParameterError, match="drac"):
        reader_named("drak")
