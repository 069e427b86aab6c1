from __future__ import annotations

import pytest

from prophase.errors import InputError
from prophase.profile.submission.submission import from_fields


def test_names_of_other_tables_are_read_by_what_they_mean_and_a_note_says_so() -> None:
    fields = {"type": "eval", "gpu_num": 2, "mem_GB": 100, "run_time": 5, "colour": "red"}
    found = from_fields(fields, form="YAML", where="job.yaml")
    assert dict(found.columns) == {
        "workload": "eval", "request_gpus": 2.0, "request_memory_gib": pytest.approx(93.13, 1e-4),
        "attr_colour": "red",
    }  # fmt: skip
    assert "gpu_num is read as request_gpus." in found.notes
    assert "run_time is known only after a job has run and is not used." in found.notes


def test_what_is_no_single_value_is_no_attribute() -> None:
    found = from_fields({"user": "ann", "env": {"LR": "1e-4"}}, form="YAML", where="job.yaml")
    assert dict(found.columns) == {"user": "ann"}
    assert found.notes == ("env is not a column of the job table and is not used.",)


def test_two_names_for_one_column_are_refused() -> None:
    with pytest.raises(InputError, match="gpu_num says request_gpus a second time"):
        from_fields({"gpus": 1, "gpu_num": 2}, form="YAML", where="job.yaml")


@pytest.mark.parametrize("value", [65_536, 65_536.0, "65536", "64 GiB"])
def test_the_unit_of_a_foreign_name_counts_for_bare_numbers_also_as_text(value: object) -> None:
    found = from_fields({"mem_MiB": value}, form="CSV row", where="job.csv")
    assert found.columns["request_memory_gib"] == 64.0


def test_true_is_no_amount_of_a_foreign_name() -> None:
    with pytest.raises(InputError, match="mem_MiB"):
        from_fields({"mem_MiB": True}, form="YAML", where="job.yaml")
