from __future__ import annotations

import pandas as pd

from prophase.profile.predict.evaluation import in_sequence


def numbered(count: int) -> pd.DataFrame:
    return pd.DataFrame({"submit_order": range(1, count + 1), "duration_s": 5.0})


def test_jobs_that_ran_into_the_next_file_were_not_known_when_it_began() -> None:
    may = pd.DataFrame(
        {"submit_s": [float(t) for t in range(30)], "duration_s": [1.0] * 29 + [500.0]}
    )
    june = pd.DataFrame({"submit_s": [31.0, 40.0], "duration_s": 1.0})
    found = in_sequence(may, june)
    assert len(found.known) == 29
    assert found.later["duration_s"].tolist() == [500.0]
    assert "1 train job had not ended" in found.notes[0]


def test_files_that_both_begin_with_number_one_are_put_one_after_the_other() -> None:
    found = in_sequence(numbered(20), numbered(10))
    assert found.test["submit_order"].tolist() == list(range(21, 31))
    assert len(found.known) == 20
    assert "no clock" in found.notes[0]


def test_two_parts_of_one_numbered_file_keep_their_numbers() -> None:
    jobs = numbered(40)
    even = jobs[jobs["submit_order"] % 2 == 0]
    odd = jobs[jobs["submit_order"] % 2 == 1]
    found = in_sequence(even, odd)
    assert found.test is odd
    assert found.notes == ()


def test_jobs_that_are_not_in_sequence_are_all_learned_from() -> None:
    jobs = pd.DataFrame({"submit_s": [float(t) for t in range(40)], "duration_s": 100.0})
    found = in_sequence(jobs[::2], jobs[1::2])
    assert len(found.known) == 20
    assert found.later.empty
