"""What commands answer, and how jobs are scheduled, stays as it was recorded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "tools"))
import golden

QUICK = [
    "theory/mmc,theory/ggc,theory/priorities,theory/gangs,theory/overload",
    "pai/lint,pai/split-folds,pai/simulate,pai/simulate-strict,pai/sample-cochran",
    "sacct/show,sacct/lint,sacct/split,sacct/size-eager,sacct/size-replay",
    "schedules",
]


@pytest.mark.parametrize("names", QUICK)
def test_answers_are_those_recorded_but_for_allowed_differences(names: str) -> None:
    differing, _ = golden.compare(names)
    assert differing == []


def test_a_renamed_key_and_an_ignored_path_are_no_difference(tmp_path: Path) -> None:
    path = tmp_path / "renamed.toml"
    path.write_text(
        '[keys]\nadvice = "recommendation"\n'
        '[[path]]\nfile = "a/*"\nfrom = "^rows/(\\\\d+)/"\nto = "table/\\\\1/"\n'
        '[[ignore]]\npath = "_low$"\nreason = "one bootstrap"\n'
        '[[ignore]]\npath = "^error/"\ntoday = "is now --"\nreason = "a former option"\n'
    )
    allowed = golden.Allowed(path)
    found = golden.leaves({"rows": [{"advice": 1.0, "mean_low": 2.0}]})
    assert allowed.renamed("a/b", found) == {
        "table/0/recommendation": 1.0,
        "table/0/mean_low": 2.0,
    }
    assert allowed.ignores("a/b", "table/0/mean_low")
    assert not allowed.ignores("a/b", "table/0/mean")
    assert allowed.ignores("a/b", "error/0", "--history is now --workspace")
    assert not allowed.ignores("a/b", "error/0", "no such file")


def test_numbers_are_compared_with_a_tolerance_and_sentences_apart() -> None:
    assert golden.same(1.0, 1.0 + 1e-9)
    assert not golden.same(1.0, 1.001)
    assert not golden.same(True, 1)
    assert golden.is_sentence("20 jobs kept their request")
    assert not golden.is_sentence("best_fit")
