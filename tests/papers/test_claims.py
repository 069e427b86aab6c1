from pathlib import Path

import pytest

from prophase.papers.claims import VERDICTS, PublishedClaim, claims_of, counts_of
from prophase.papers.mlaas import mlaas_rows
from prophase.papers.report import reproduction_result
from prophase.papers.schedulers.hydra import hydra_rows
from prophase.papers.schedulers.philly import helios_rows, tiresias_rows
from prophase.papers.sources import (
    CONTENTS,
    DRAWING,
    SOURCES,
    contents_of,
    data_of,
    data_used,
    pieces_of,
)
from prophase.papers.stand_ins import also, openb_stand_in, pai_sim_stand_in
from prophase.result.json_form import to_dict


def test_real_data_are_looked_for_where_the_variable_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROPHASE_DATA", str(tmp_path))
    assert data_of("openb") is None
    (tmp_path / "openb").mkdir()
    assert data_of("openb") == tmp_path / "openb"
    assert data_of("openb", Path("mine")) == Path("mine")
    (tmp_path / "pai").mkdir()
    assert data_of("polaris") is None, "only one of its two folders is there"


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("openb", openb_stand_in),
        ("pai-sim", pai_sim_stand_in),
        ("mlaas", mlaas_rows),
        ("hydra", lambda: hydra_rows(None)),
        ("helios", lambda: helios_rows(None)),
        ("tiresias", lambda: tiresias_rows(None)),
    ],
)
def test_without_data_every_statement_has_a_verdict_and_none_claims_to_be_reproduced(
    name: str, rows
) -> None:
    claims = claims_of(name, rows())
    assert {claim.verdict for claim in claims} <= set(VERDICTS) - {"reproduced", "contradicted"}
    report = reproduction_result(name, claims, data=[], real=False, command="prophase reproduce")
    assert sum(counts_of(claims).values()) == len(claims)
    assert report.not_valid_for
    assert to_dict(report)["sections"]
    assert all(pieces_of(name, claim) for claim in claims)
    assert "-" not in [row["verdict"] for row in contents_of(name, claims)]


def test_what_differs_from_a_published_replay_is_contradicted() -> None:
    row = {
        "run": "fifo", "jobs": 10, "jobs_that_differ": 2, "verdict": "DIFFERS",
        **{f"{n}{end}": 1.0 for n in ("mean_jct_s", "mean_wait_s", "makespan_s")
           for end in ("", "_published")},
    }  # fmt: skip
    claims = claims_of("pai-sim", [row])
    assert counts_of(claims) == {"contradicted": 4}
    assert claims[-1].ours == "8"


def test_every_source_names_its_stand_in() -> None:
    assert all(source.stand_in and source.citation for source in SOURCES.values())


@pytest.mark.data
def test_the_list_of_nodes_and_other_clusters_answer_what_the_public_rows_cannot(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prophase.papers.mlaas.replay_rows", lambda trace: [])
    claims = claims_of("mlaas", mlaas_rows(shared_data / "pai"))
    by_words = {claim.claim: claim for claim in claims}
    assert by_words["GPUs of all nodes"].verdict == "reproduced"
    assert (
        "Gavel" in by_words["slowdown of a job beside another one on the same GPU, at most"].reason
    )
    real = [claim for claim in claims if "Philly" in claim.reason]
    assert [(claim.ours, claim.verdict) for claim in real] == [("62 %", "in kind")]
    used = dict(data_used("mlaas", shared_data / "pai"))
    assert used["openb"] == "real"


@pytest.mark.data
def test_orders_rank_on_recorded_jobs_as_the_simulators_readme_has_them(shared_data: Path) -> None:
    rows = also("pai-sim", shared_data / "pai_sim")
    assert [row["verdict"] for row in rows] == ["needs data"] * 5 + ["in kind"]


def test_numbers_of_tables_are_not_taken_for_one_another() -> None:
    def told(name: str, item: str) -> list[str]:
        return pieces_of(name, PublishedClaim(item, "", "", "", "reproduced"))

    assert told("polaris", "Table II") == ["Table II"]
    assert told("polaris", "Section III-C, F1") == ["Section III-C"]
    assert told("polaris", "Fig. 5a, 5 %") == ["Fig. 5"]
    assert told("thesis", "Table 12, light") == ["Table 12"]
    assert told("pai-sim", "philly600_fifo") == ["recorded runs"]


def test_every_numbered_table_and_figure_of_paper_and_thesis_is_listed() -> None:
    thesis = {piece.name for piece in CONTENTS["thesis"]}
    assert {f"Table {number}" for number in range(1, 14)} <= thesis
    assert {f"Figure {number}" for number in range(1, 18)} <= thesis
    paper = {piece.name for piece in CONTENTS["polaris"]}
    assert {f"Table {number}" for number in ("I", "II", "III", "IV", "V")} <= paper
    assert {f"Fig. {number}" for number in range(1, 6)} <= paper
    drawn = [row for row in contents_of("thesis", []) if row["verdict"] == DRAWING]
    assert len(drawn) == 10
