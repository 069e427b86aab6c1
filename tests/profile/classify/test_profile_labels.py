from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError
from prophase.profile.classify.profile_labels import numbered


def test_outliers_and_gaps_are_left_out_and_counted() -> None:
    found = numbered(pd.Series([2.0, np.nan, -1.0, 1.0]), 4)
    assert found.classes == (1, 2)
    assert found.rows.tolist() == [0, 3]
    assert found.codes.tolist() == [1, 0]
    assert found.notes == (
        "1 outlier (25%) left out, as in the paper.",
        "1 job without a label left out.",
    )


def test_words_and_numbers_together_become_words() -> None:
    assert numbered(["b", 1, True], 3).classes == ("1", "True", "b")


@pytest.mark.parametrize(
    ("labels", "said"),
    [([-1, -1], "every job is an outlier"), ([None, np.nan], "no job has a label")],
)
def test_labels_without_a_profile_say_why_nothing_can_be_learned(labels: list, said: str) -> None:
    with pytest.raises(InputError, match=said):
        numbered(labels, 2)


def test_a_label_for_every_job_is_needed() -> None:
    with pytest.raises(InputError, match="2 labels for 3 jobs"):
        numbered([1, 2], 3)
