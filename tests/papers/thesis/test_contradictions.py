from __future__ import annotations

import pytest

from prophase.papers.thesis import published_tables as published
from prophase.papers.thesis.contradictions import contradictions, implied_u_rate


def test_tables_that_disagree_in_the_source_are_named_with_both_numbers():
    found = {(one["item"], *one["published"].split("; ")) for one in contradictions()}
    assert ("Tables 7 and 10", "28.4 (7)", "18.6 (10)") in found
    assert ("Tables 7 and 9", "13.6 (7)", "13.0 (9)") in found
    assert ("Tables 7 and 9", "5.5 (7)", "5.2 (9)") in found
    assert ("Tables 8 and 10", "22.5 (8)", "21.6 (10)") in found
    assert ("Tables 4, 6 and 12", "350 GB (4), 200 GB (6)", "100 GB (12)") in found


def test_tables_that_agree_are_not_named():
    named = " ".join(one["claim"] for one in contradictions())
    assert "svm, heavy task 2" not in named
    assert "30; 350" not in named


@pytest.mark.parametrize("key", list(published.TABLE_11))
def test_u_rates_of_table_11_follow_from_accuracy_and_u_score(key):
    row = published.TABLE_11[key]
    matching = [
        implied_u_rate(accuracy, u_score)
        for (task, edges, _), (accuracy, u_score) in published.TABLES_7_8.items()
        if (task, edges) == key and accuracy == row.accuracy
    ]
    assert any(abs(rate - row.u_rate) < 0.06 for rate in matching)
