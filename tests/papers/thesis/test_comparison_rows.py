from __future__ import annotations

from prophase.papers.thesis.comparison_rows import compared, exact, scored
from prophase.sizing.bins.scores import score


def test_arithmetic_that_gives_another_number_differs():
    assert exact("T", "c", 325, 325.4, digits=0)["verdict"] == "reproduced"
    assert exact("T", "c", 325, 326.4, digits=0)["verdict"] == "DIFFERS"


def test_other_data_agree_in_kind_or_not():
    assert compared("T", "c", [89.9], [89.0], tolerance=1)["verdict"] == "in kind"
    assert compared("T", "c", [89.9], [88.0], tolerance=1)["verdict"] == "differs in kind"
    better = compared("T", "c", [85.7], [99.0], tolerance=1)
    assert better["verdict"] == "differs in kind"


def test_two_under_estimates_more_are_chance_and_three_are_not():
    def verdict(under: int) -> str:
        true = [1] * under + [0] * (100 - under)
        return scored("T", "c", [], [], [0.0], [score(true, [0] * 100, bins=2)])["verdict"]

    assert verdict(2) == "in kind"
    assert verdict(3) == "differs in kind"
