from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from prophase.errors import InputError, MissingFileError
from prophase.papers.claims import PublishedClaim
from prophase.papers.polaris.paper_data import find_inputs
from prophase.papers.polaris.reproduction import reproduce


def by_item(items: list[PublishedClaim]) -> dict[str, PublishedClaim]:
    return {one.item: one for one in items}


@pytest.fixture(scope="module")
def on_real_data(shared_data: Path) -> dict[str, PublishedClaim]:
    return by_item(reproduce(shared_data))


@pytest.mark.data
def test_table_iv_comes_out_but_for_four_numbers_of_optics(
    on_real_data: dict[str, PublishedClaim],
) -> None:
    assert on_real_data["Table IV, HDBSCAN"].verdict == "reproduced"
    optics = on_real_data["Table IV, OPTICS"]
    assert (optics.verdict, optics.ours) == ("contradicted", "16 of 20 agree")
    assert "98036 (printed 98936)" in optics.reason
    assert optics.reason.count("printed") == 4


@pytest.mark.data
def test_the_headline_is_a_ratio_read_as_percent(on_real_data: dict[str, PublishedClaim]) -> None:
    headline = on_real_data["Fig. 5a, 5 %"]
    assert (headline.verdict, headline.ours) == ("contradicted", "1.2 %")
    assert "80.4 % of jobs are within 500 %" in headline.reason


@pytest.mark.data
def test_the_choice_among_cells_contains_its_answer(
    on_real_data: dict[str, PublishedClaim],
) -> None:
    choice = on_real_data["Section III-B, choice"]
    assert choice.verdict == "reproduced"
    assert "26 clusters, 24,603 outliers" in choice.ours
    assert "picks HDBSCAN-100-power-manhattan (125)" in choice.reason


@pytest.mark.data
def test_accuracy_falls_when_rows_of_a_job_stay_together(
    on_real_data: dict[str, PublishedClaim],
) -> None:
    found = on_real_data["Section III-C, accuracy"]
    assert found.data.startswith("999 rows")
    assert {"by row", "by job", "by time"} <= {
        word for word in ("by row", "by job", "by time") if word in found.ours
    }


@pytest.mark.data
def test_other_rows_of_the_trace_speak_in_kind_only(
    on_real_data: dict[str, PublishedClaim],
) -> None:
    for name in ("Hopkins", "Table II", "Section III-C, explanation"):
        assert on_real_data[name].verdict == "in kind", name
    assert on_real_data["Section III-D"].verdict == "differs in kind"
    assert "task=ps" in on_real_data["Section III-C, explanation"].ours


def test_without_data_nothing_but_arithmetic_is_reproduced_and_it_is_said_what_to_get() -> None:
    found = by_item(reproduce())
    assert found["Table I"].verdict == "reproduced"
    for name in ("Table I, rows", "Table IV, HDBSCAN", "Section III-B, profiles"):
        assert found[name].verdict == "needs data", name
        assert "prophase fetch p" in found[name].reason
    for name in ("Hopkins", "Table II", "Fig. 4", "Section III-C, accuracy", "Section III-D"):
        assert "in kind" in found[name].verdict, name
    assert found["Hopkins"].data.startswith("synthetic trace")
    assert found["Section III-C, F1"].verdict == "contradicted"


@pytest.mark.data
def test_each_part_of_the_data_is_enough_for_its_own_items(
    shared_data: Path, tmp_path: Path
) -> None:
    shutil.copy(shared_data / "polaris" / "01_hdbscan_analysis.csv", tmp_path)
    (tmp_path / "another_analysis.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    found = find_inputs(tmp_path)
    assert found.grid is not None
    assert len(found.grid) == 56
    assert found.errors is None
    assert not found.real


def test_a_folder_with_nothing_of_the_paper_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the paper's files"):
        find_inputs(tmp_path)
    with pytest.raises(MissingFileError, match="no such file or folder"):
        find_inputs(tmp_path / "nowhere")
