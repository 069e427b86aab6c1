"""Stratified samples: Table I to the row, the same rows for the same seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prophase.errors import InputError, MissingColumnError, ParameterError
from prophase.trace.sample import (
    MISSING,
    cochran_size,
    draw_sample,
    sample_jobs,
    sample_sizes,
    take_rows,
)

#: Table I of the PolarisProfiler paper: workload -> rows, sampled rows
TABLE_I = {
    "bert": (10_940_142, 29_818),
    "ctr": (9_128_957, 24_881),
    "graphlearn": (4_888_371, 13_323),
    "inception": (10_781_289, 29_385),
    "nmt": (13_537, 37),
    "resnet": (60_863, 166),
    "rl": (849_626, 2_316),
    "vgg": (11_768, 32),
    "xlnet": (15_632, 43),
}


def test_table_i_comes_out_of_its_sizes_to_the_row() -> None:
    population = {name: rows for name, (rows, _) in TABLE_I.items()}
    drawn = sample_sizes(population, 100_000)
    assert drawn == {name: sampled for name, (_, sampled) in TABLE_I.items()}
    assert sum(population.values()) == 36_690_185
    assert sum(drawn.values()) == 100_001


def test_table_i_comes_out_of_rows_as_well() -> None:
    """A hundredth of the rows, drawn at the paper's rate."""
    labels = pd.Series(np.repeat(list(TABLE_I), [rows // 100 for rows, _ in TABLE_I.values()]))
    sample = draw_sample(labels, 1000)
    for name, (_, sampled) in TABLE_I.items():
        assert abs(sample.drawn[name] - sampled / 100) <= 1
    assert labels.iloc[sample.rows].value_counts().to_dict() == {
        name: count for name, count in sample.drawn.items() if count
    }


def test_the_same_seed_draws_the_same_rows_and_another_one_others() -> None:
    labels = pd.Series(["a"] * 500 + ["b"] * 500)
    first, again, other = (draw_sample(labels, 100, random_state=s).rows for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert first.tolist() != other.tolist()


def test_a_seed_draws_these_very_rows() -> None:
    """Samples are cited by seed, so a change of this result is a change for users."""
    rows = draw_sample(pd.Series(["a", "b"] * 50), 8, random_state=0).rows.tolist()
    assert rows == [1, 17, 26, 50, 60, 65, 78, 79]


@settings(max_examples=80, deadline=None)
@given(
    labels=st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=200),
    share=st.floats(0.01, 1.0),
    seed=st.integers(0, 100),
)
def test_each_stratum_gives_its_share_rounded(
    labels: list[str | None], share: float, seed: int
) -> None:
    size = max(1, int(share * len(labels)))
    series = pd.Series(labels, dtype="str")
    sample = draw_sample(series, size, random_state=seed)
    assert len(set(sample.rows.tolist())) == len(sample.rows) == sum(sample.drawn.values())
    assert (np.diff(sample.rows) > 0).all()
    drawn = series.iloc[sample.rows].fillna(MISSING).value_counts()
    for name, count in sample.population.items():
        assert drawn.get(name, 0) == sample.drawn[name]
        assert abs(sample.drawn[name] - size * count / len(labels)) <= 0.5
    assert abs(len(sample.rows) - size) <= len(sample.population) / 2


def test_drawing_everything_gives_everything_in_its_order() -> None:
    jobs = pd.DataFrame({"workload": ["b", "a", "b"]}, index=[7, 8, 9])
    pd.testing.assert_frame_equal(sample_jobs(jobs, size=3), jobs)


def test_rows_without_a_workload_are_a_stratum_of_their_own() -> None:
    sample = draw_sample(pd.Series(["a"] * 50 + [None] * 50), 10)
    assert sample.drawn == {"a": 5, MISSING: 5}


def test_numbers_can_be_strata_too() -> None:
    jobs = pd.DataFrame({"request_gpus": [1.0] * 30 + [8.0] * 10})
    assert (sample_jobs(jobs, by="request_gpus", size=4)["request_gpus"] == 8).sum() == 1


def test_a_stratum_too_small_for_a_row_is_named() -> None:
    sample = draw_sample(pd.Series(["big"] * 999 + ["tiny"]), 10)
    assert sample.notes == ("1 strata are too small for a row at this size: tiny.",)


def test_without_a_size_cochran_decides_and_the_notes_say_so() -> None:
    sample = draw_sample(pd.Series(["a"] * 10_000))
    assert len(sample.rows) == 370
    assert "Cochran" in sample.notes[0]


@pytest.mark.parametrize(
    ("population", "options", "size"),
    [
        (10**9, {}, 385),
        (10_000, {}, 370),
        (1, {}, 1),
        (10**9, {"confidence": 0.99}, 664),
        (10**9, {"margin": 0.01}, 9604),
        (10**9, {"proportion": 0.1}, 139),
    ],
)
def test_cochran_sizes_are_those_of_the_textbook(
    population: int, options: dict[str, float], size: int
) -> None:
    assert cochran_size(population, **options) == size


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: sample_sizes({"a": 5}, 6), ParameterError, "between 1 and the 5 rows"),
        (lambda: sample_sizes({"a": 5}, 0), ParameterError, "size is 0"),
        (lambda: draw_sample(pd.Series([], dtype="str")), InputError, "no rows"),
        (lambda: cochran_size(0), ParameterError, "population is 0"),
        (lambda: cochran_size(9, confidence=95), ParameterError, "confidence is 95"),
        (lambda: cochran_size(9, margin=0), ParameterError, "margin is 0"),
        (
            lambda: sample_jobs(pd.DataFrame({"workload": ["a"]}), by="worklod"),
            MissingColumnError,
            "Did you mean 'workload'",
        ),
    ],
)
def test_what_cannot_be_sampled_is_refused_with_what_to_do(
    call: object, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call()  # type: ignore[operator]


def test_rows_taken_from_a_parquet_file_are_those_of_the_frame(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": np.arange(1000), "b": [f"x{n}" for n in range(1000)]})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=64)
    rows = np.array([0, 63, 64, 500, 999])
    taken = take_rows(tmp_path / "t.parquet", rows, ["a", "b"])
    pd.testing.assert_frame_equal(taken, frame.iloc[rows].reset_index(drop=True))
