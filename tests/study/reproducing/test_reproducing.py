from pathlib import Path

import pytest

from prophase.study.report import to_dict
from prophase.study.reproducing import SOURCES, claims_of, counts_of, data_of, reproduction_report
from prophase.study.reproducing.claims import VERDICTS
from prophase.study.reproducing.mlaas import mlaas_rows
from prophase.study.reproducing.stand_ins import openb_stand_in, pai_sim_stand_in


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
    [("openb", openb_stand_in), ("pai-sim", pai_sim_stand_in), ("mlaas", mlaas_rows)],
)
def test_without_data_every_statement_has_a_verdict_and_none_claims_to_be_reproduced(
    name: str, rows
) -> None:
    claims = claims_of(name, rows())
    assert {claim.verdict for claim in claims} <= set(VERDICTS) - {"reproduced", "contradicted"}
    report = reproduction_report(name, claims, data=[], real=False, command="prophase reproduce")
    assert sum(counts_of(claims).values()) == len(claims)
    assert report.not_valid_for
    assert to_dict(report)["findings"]


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
