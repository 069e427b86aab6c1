from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import SchemaError
from prophase.trace import check_jobs, check_nodes, check_usage


def jobs(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"job_id": ["a", "b"], **columns})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"duration_s": [1.0]}), "job_id is missing"),
        (jobs(durations=[1.0, 2.0]), "Did you mean 'duration_s'"),
        (jobs(colour=["red", "blue"]), "attr_"),
        (jobs(duration_s=[1.0, -2.0]), r"row 1: duration_s is -2"),
        (jobs(duration_s=["1", "2"]), "is a number in s"),
        (jobs(request_gpus=[np.inf, 1.0]), r"row 0: request_gpus is inf"),
        (jobs(status=["completed", "done"]), "status holds 'done'"),
        (pd.DataFrame({"job_id": ["a", "a"]}), "job_id 'a' repeats"),
        (pd.DataFrame({"job_id": ["a", None]}), "row 1: job_id is missing"),
    ],
)
def test_a_job_table_that_breaks_the_schema_is_refused_with_the_place(table, message):
    with pytest.raises(SchemaError, match=message):
        check_jobs(table)


def test_missing_numbers_are_fine():
    assert len(check_jobs(jobs(duration_s=[np.nan, 3.0], attr_batch=["x", None]))) == 2


def test_usage_and_nodes_are_checked_alike():
    good = pd.DataFrame({"series_id": ["a"], "time_s": [0.0], "queue_length": [3.0]})
    assert check_usage(good) is good
    with pytest.raises(SchemaError, match="time_s is missing"):
        check_usage(good.drop(columns="time_s"))
    with pytest.raises(SchemaError, match="node_id 'n' repeats"):
        check_nodes(pd.DataFrame({"node_id": ["n", "n"]}))
