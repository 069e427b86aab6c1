from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import ParameterError
from prophase.trace import check_jobs, check_nodes, check_usage
from prophase.trace.synth.generator import (
    all_generators,
    chosen,
    generator_named,
    hex_names,
    numbered,
    tables_to_store,
)
from prophase.trace.trace_tables import Trace

CHECKS = {"jobs": check_jobs, "nodes": check_nodes, "usage": check_usage}
SMALL = {"pai": {"jobs": "400"}, "containers": {"series": "4", "samples": "50"}}


def make(name: str, seed: int = 0, **options: str) -> Trace:
    return generator_named(name).make_from_text(
        {**SMALL.get(name, {}), **options}, random_state=seed
    )


def test_the_four_worlds_are_found_by_name() -> None:
    assert list(all_generators()) == ["cluster", "containers", "pai", "pipeline"]


@pytest.mark.parametrize("name", all_generators())
def test_every_table_keeps_its_schema(name: str) -> None:
    for table, frame in make(name).tables.items():
        CHECKS[table](frame)


@pytest.mark.parametrize("name", all_generators())
def test_the_same_seed_gives_identical_tables_and_truth(name: str) -> None:
    first, second = make(name, seed=3), make(name, seed=3)
    assert first.data_hash == second.data_hash
    stored = tables_to_store(second)
    for table, frame in tables_to_store(first).items():
        pd.testing.assert_frame_equal(frame, stored[table])


@pytest.mark.parametrize("name", all_generators())
def test_another_seed_gives_another_trace(name: str) -> None:
    first, second = make(name, seed=1), make(name, seed=2)
    assert first.data_hash != second.data_hash
    table = next(iter(first.tables))
    assert not first.tables[table].equals(second.tables[table])


@pytest.mark.parametrize("name", all_generators())
def test_the_global_random_state_is_neither_read_nor_moved(name: str) -> None:
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # type: ignore[union-attr,index]  # noqa: NPY002
    make(name)
    assert (np.random.get_state()[1] == before).all()  # type: ignore[index]  # noqa: NPY002


@pytest.mark.parametrize("name", all_generators())
def test_every_parameter_of_a_generator_is_explained(name: str) -> None:
    import inspect

    taken = set(inspect.signature(generator_named(name).make).parameters) - {"random_state"}
    assert taken == set(generator_named(name).parameters)


def test_the_data_hash_follows_from_the_parameters() -> None:
    assert make("pai", jobs="400").data_hash != make("pai", jobs="401").data_hash


def test_truth_is_stored_under_names_that_say_so() -> None:
    trace = make("pai")
    assert list(tables_to_store(trace)) == ["jobs", "nodes", "truth_profiles"]


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("pai", {"jobs": "ten"}, "Pass a number, such as 10000"),
        ("pai", {"jobs": "3"}, "Pass a value from 20"),
        ("pai", {"job": "30"}, "Did you mean 'jobs'?"),
        ("containers", {"kind": "level"}, "Did you mean 'levels'?"),
        ("containers", {"gaps": "maybe"}, "Pass yes or no"),
        ("containers", {"metrics": "cpu_cores,disk"}, "metrics is 'disk'"),
        ("cluster", {"like": "pia"}, "Known: pai, openb, small"),
        ("pipeline", {"logic_change_task": "train"}, "which is no task"),
        ("pipeline", {"logic_change_date": "soon"}, "Pass a date such as 2020-07-01"),
        ("pipeline", {"logic_change_date": "2021-02-01"}, "all in 2020"),
    ],
)
def test_a_wrong_parameter_is_refused_with_what_to_pass(
    name: str, options: dict[str, str], said: str
) -> None:
    with pytest.raises(ParameterError, match=r".") as caught:
        make(name, **options)
    assert said in str(caught.value)
    assert "  " not in str(caught.value)


def test_an_unknown_world_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'pipeline'"):
        generator_named("pipelines")


@pytest.mark.parametrize("seed", [-1, 0.5, True])
def test_a_seed_that_is_no_whole_number_is_refused(seed: int) -> None:
    with pytest.raises(ParameterError, match="random_state"):
        make("cluster", seed=seed)


def test_names_are_text_of_the_kind_pandas_reads_back() -> None:
    assert str(chosen(["a", "b"], np.array([1, 0])).dtype) == "str"
    assert str(numbered("job-", np.array([3])).dtype) == "str"


def test_a_negative_code_and_a_name_none_are_missing() -> None:
    names = chosen(["a", None], np.array([-1, 0, 1]))
    assert names.isna().tolist() == [True, False, True]


def test_a_suffix_joins_with_a_slash() -> None:
    roles = chosen(["ps", "worker"], np.array([0, 1]))
    assert numbered("job-", np.array([7, 7]), suffix=roles).tolist() == ["job-7/ps", "job-7/worker"]


def test_hexadecimal_names_never_repeat_even_over_several_calls() -> None:
    rng = np.random.default_rng(0)
    first, second = hex_names(rng, 5000, 12), hex_names(rng, 5000, 12, first=5000)
    names = first.to_pylist() + second.to_pylist()
    assert len(set(names)) == 10_000
    assert all(len(name) == 12 and int(name, 16) >= 0 for name in names[:50])
