from __future__ import annotations

from pathlib import Path

import pytest

from prophase.errors import ParameterError
from prophase.trace import known_at_submit, open_trace

HEADER = ",job_name,norm_job_submit_time,ddl,A100,V100,GTX2080Ti\n"


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    (tmp_path / "20_ddl.csv").write_text(HEADER + "0,b,0,inf,10,20,30\n1,a,0,99.0,11,21,31\n")
    (tmp_path / "30_ddl.csv").write_text(HEADER + "0,b,0,50.0,10,20,30\n")
    return tmp_path


def test_no_deadline_is_missing_and_run_times_are_known_only_afterwards(cases: Path) -> None:
    jobs = open_trace(cases, source="hydra").jobs.set_index("job_id")
    assert jobs.attr_deadline_s.isna().tolist() == [True, False, False]
    assert jobs.loc["20_ddl/a", "after_duration_gtx2080ti_s"] == 31
    assert "after_duration_a100_s" not in known_at_submit(jobs.columns)


def test_one_case_can_be_chosen_and_keeps_the_order_of_its_file(cases: Path) -> None:
    jobs = open_trace(cases, source="hydra", options={"case": "20_ddl"}).jobs
    assert jobs.name.tolist() == ["b", "a"]


def test_a_case_that_is_not_there_is_refused_with_the_known_ones(cases: Path) -> None:
    with pytest.raises(ParameterError, match="Known cases: 20_ddl, 30_ddl"):
        open_trace(cases, source="hydra", options={"case": "40_ddl"})


@pytest.mark.data
def test_the_share_of_jobs_with_a_deadline_is_the_published_one(shared_data: Path) -> None:
    jobs = open_trace(shared_data / "hydra", source="hydra").jobs
    share = jobs.attr_deadline_s.notna().groupby(jobs.parent_id).mean()
    assert share.round(2).to_dict() == {"20_ddl": 0.20, "30_ddl": 0.29}
    ratio = (jobs.after_duration_v100_s / jobs.after_duration_a100_s).median()
    assert ratio == pytest.approx(1.70, abs=0.02)
