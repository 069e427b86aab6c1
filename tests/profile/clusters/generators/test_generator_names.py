from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import FormatError, MissingColumnError, ParameterError, ProphaseError
from prophase.profile.clusters.generators.generator_names import GENERATORS, generator_named
from prophase.profile.clusters.generators.rules import ProfileRules

JOBS = pd.DataFrame({"workload": ["bert"] * 20 + ["ctr"] * 30, "cpu_mean_cores": range(50)})


@pytest.mark.parametrize("name", GENERATORS)
def test_every_generator_is_there_by_name_and_says_its_settings(name: str) -> None:
    found = generator_named(name, JOBS, clusters=None, min_cluster_size=None)
    assert found.settings()["name"]


def test_the_number_of_jobs_decides_the_least_size() -> None:
    many = pd.DataFrame({"cpu_mean_cores": range(100_001)})
    assert generator_named("hdbscan", JOBS).settings()["min_cluster_size"] == 15
    assert generator_named("hdbscan", many).settings()["min_cluster_size"] == 300
    assert generator_named("autoencoder", many, codes=3).settings()["inner"]["min_samples"] == 10


def test_unknown_names_and_settings_of_others_are_refused() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'hdbscan'"):
        generator_named("hdbscam", JOBS)
    with pytest.raises(ParameterError, match="clusters has no meaning for hdbscan"):
        generator_named("hdbscan", JOBS, clusters=3)
    with pytest.raises(MissingColumnError, match="'kind'"):
        generator_named("semi-supervised", JOBS, label="kind")
    with pytest.raises(ParameterError, match="not both"):
        generator_named("rules", JOBS, label="workload", rules="x.toml")


def test_rules_come_from_a_file_or_from_a_column(tmp_path: Path) -> None:
    by_column = generator_named("rules", JOBS)
    assert isinstance(by_column, ProfileRules)
    assert [rule.name for rule in by_column.rules] == ["ctr", "bert"]
    file = tmp_path / "rules.toml"
    file.write_text('[[rule]]\nname = "big"\n[rule.when.cpu_mean_cores]\nat_least = 40\n')
    by_file = generator_named("rules", JOBS, rules=file)
    assert (by_file.cluster(JOBS[["cpu_mean_cores"]].to_numpy(float), JOBS).labels >= 0).sum() == 10


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[rule", "not valid TOML"),
        ("", "no \\[\\[rule\\]\\]"),
        ('[[rule]]\nname = "a"', "rule 1 needs a name"),
        ('[[rule]]\nname = "a"\nwhen.cpu.over = 1', "'over' is unknown"),
        ('[[rule]]\nname = "a"\nwhen.cpu.below = "ten"', "has to be a number"),
    ],
)
def test_a_bad_file_of_rules_is_refused_with_its_place(
    text: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(text)
    with pytest.raises(FormatError, match=said):
        generator_named("rules", JOBS, rules=file)


def test_a_file_of_rules_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProphaseError, match=r"none\.toml"):
        generator_named("rules", JOBS, rules=tmp_path / "none.toml")
