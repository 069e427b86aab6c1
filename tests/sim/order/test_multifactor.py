from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from prophase.errors import InputError, ParameterError
from prophase.sim import Workload, owners
from prophase.sim.order import multifactor
from prophase.sim.order.multifactor import DAMPENING, FAIR_TREE, refresh
from prophase.sim.signatures import (
    OWNER_COLUMNS,
    OWNER_FACTOR,
    OWNER_PARENT,
    OWNER_SHARE,
    OWNER_USAGE,
)

#: everybody, accounts A and B, users a1 and a2 of A, b1 of B, and u of no account
PARENT = [-1, 0, 0, 1, 1, 2, 0]
IS_USER = [0, 0, 0, 1, 1, 1, 1]


def factors(share, usage, *, fair_tree, dampening=1.0):
    owners = np.zeros((7, OWNER_COLUMNS))
    owners[:, OWNER_PARENT], owners[:, OWNER_SHARE] = PARENT, share
    owners[:, OWNER_USAGE] = usage
    facts = np.zeros((2, DAMPENING + 1))
    facts[0, FAIR_TREE], facts[0, DAMPENING] = fair_tree, dampening
    facts[1, :7] = IS_USER
    refresh(owners, 0.0, facts)
    return list(owners[3:, OWNER_FACTOR])


def test_the_fair_tree_ranks_accounts_first_and_users_within_them():
    """Share over usage decides at each level: u, then A with a1 before a2, then B."""
    # A: 0.5 / 0.5 = 1, B: 0.25 / 0.4 = 0.6, u: 0.25 / 0.1 = 2.5
    usage = [100.0, 50.0, 40.0, 10.0, 40.0, 40.0, 10.0]
    assert factors([1, 2, 1, 1, 1, 1, 1], usage, fair_tree=1) == [0.75, 0.5, 0.25, 1.0]


def test_who_has_used_nothing_shares_the_first_rank():
    unused = [0.0] * 7
    assert factors([1, 2, 1, 1, 1, 1, 1], unused, fair_tree=1) == [1.0] * 4
    # A has used something, so its users come last, the one who has not before the other
    usage = [10.0, 10.0, 0.0, 10.0, 0.0, 0.0, 0.0]
    assert factors([1, 2, 1, 1, 1, 1, 1], usage, fair_tree=1) == [0.25, 0.5, 1.0, 1.0]


def test_the_classic_formula_halves_for_every_share_used_up():
    usage = [100.0, 60.0, 40.0, 10.0, 50.0, 40.0, 0.0]
    found = factors([1, 2, 1, 1, 1, 1, 1], usage, fair_tree=0)
    # a1: 0.1 + (0.6 - 0.1) / 2 = 0.35 of a share of 0.25; b1 is alone in B: 0.4 of 0.25
    assert found == pytest.approx([2**-1.4, 2 ** -(0.55 / 0.25), 2**-1.6, 1.0])
    dampened = factors([1, 2, 1, 1, 1, 1, 1], usage, fair_tree=0, dampening=2.0)
    assert dampened == pytest.approx([value**0.5 for value in found])


ONE_WEIGHT = {"age": 0.0, "fair_share": 0.0, "size": 0.0}


def starts(replay, jobs, cluster="1x4", **weights):
    options = {**ONE_WEIGHT, "rekey_s": 0, **weights}
    return list(replay(cluster, jobs=jobs, order="multifactor", order_options=options).start_s)


def test_age_alone_is_first_come_first_served(replay):
    jobs = {"submit_s": [0.0, 10.0, 5.0], "request_gpus": [4.0] * 3, "duration_s": [30.0] * 3}
    assert starts(replay, jobs, age=1000.0) == [0.0, 30.0, 60.0]


def test_wide_jobs_go_first_or_last(replay):
    jobs = {"submit_s": [0.0, 1.0, 2.0], "request_gpus": [1.0] * 3, "instances": [4.0, 1.0, 4.0]}
    assert starts(replay, jobs, "4x1", size=1000.0) == [0.0, 20.0, 10.0]
    assert starts(replay, jobs, "4x1", size=1000.0, small_first=True) == [0.0, 10.0, 20.0]


def test_partitions_and_qualities_of_service_weigh_what_their_columns_say(replay):
    jobs = {
        "request_gpus": [4.0] * 4,
        "partition_factor": [0.0, 0.5, None, 1.0],
        "qos_factor": [1.0, 0.2, 0.0, 0.0],
    }
    assert starts(replay, jobs, partition=100.0) == [20.0, 10.0, 30.0, 0.0]
    assert starts(replay, jobs, qos=100.0) == [0.0, 10.0, 20.0, 30.0]


def test_fair_share_follows_cores_used(replay):
    jobs = {
        "submit_s": [0.0, 1.0, 2.0, 3.0],
        "user": ["ann", "ann", "bob", "ann"],
        "request_gpus": [4.0] * 4,
        "request_cpu_cores": [8.0] * 4,
    }
    assert starts(replay, jobs, "1x4 8c", fair_share=1000.0) == [0.0, 20.0, 10.0, 30.0]


def test_keys_are_looked_at_every_so_often_only(replay):
    """At 10 bob would be first; with looks every 300 s his job keeps the rank it came with."""
    jobs = {
        "submit_s": [0.0, 1.0, 2.0],
        "user": ["ann", "ann", "bob"],
        "request_gpus": [4.0] * 3,
        "request_cpu_cores": [8.0] * 3,
    }
    assert starts(replay, jobs, "1x4 8c", fair_share=1000.0, rekey_s=300.0) == [0.0, 10.0, 20.0]


def test_accounts_come_from_the_table_of_shares(replay):
    """lab has used everything: its other member waits behind a user of no account."""
    shares = pd.DataFrame(
        {"account": ["lab", "lab", "lab"], "user": [None, "ann", "bob"], "share": [1.0] * 3}
    )
    jobs = {
        "submit_s": [0.0, 1.0, 2.0],
        "user": ["ann", "bob", "eve"],
        "request_gpus": [4.0] * 3,
        "request_cpu_cores": [8.0] * 3,
    }
    options = {**ONE_WEIGHT, "fair_share": 1000.0, "rekey_s": 0}
    schedule = replay(
        "1x4 8c", jobs=jobs, order="multifactor", order_options=options, shares=shares
    )
    assert list(schedule.start_s) == [0.0, 20.0, 10.0]


def tree(*rows):
    return pd.DataFrame(rows, columns=["account", "parent", "user", "share"])


#: two faculties; science has two labs, one of them with a group
FACULTIES = tree(
    ("group", "lab", None, 1.0), ("science", None, None, 3.0), ("arts", None, None, 1.0),
    ("lab", "science", None, 1.0), ("other", "science", None, 1.0),
    ("group", None, "ann", 1.0), ("lab", None, "bob", 1.0), ("arts", None, "cyd", 1.0),
)  # fmt: skip


def test_accounts_stand_below_accounts_and_the_tree_is_that_of_the_table():
    made = Workload.from_jobs(
        pd.DataFrame({"job_id": ["a"], "submit_s": 0.0, "duration_s": 1.0, "user": "ann"})
    )
    found = owners.owners_of(made, FACULTIES)
    above = {name: found.names[up] for name, up in zip(found.names, found.parent, strict=True)}
    assert above["ann"] == "group"
    assert (above["group"], above["lab"], above["science"]) == ("lab", "science", "")
    assert above["cyd"] == "arts"
    assert owners.DEEPEST == multifactor._DEEPEST


def test_usage_counts_for_every_account_above(replay):
    """ann's run is charged to science too: bob of another lab there waits behind cyd of arts."""
    jobs = {
        "submit_s": [0.0, 1.0, 2.0],
        "user": ["ann", "bob", "cyd"],
        "request_gpus": [4.0] * 3,
        "request_cpu_cores": [8.0] * 3,
    }
    options = {**ONE_WEIGHT, "fair_share": 1000.0, "rekey_s": 0}
    for tree_wise in (True, False):
        schedule = replay(
            "1x4 8c", jobs=jobs, order="multifactor", shares=FACULTIES,
            order_options={**options, "fair_tree": tree_wise},
        )  # fmt: skip
        assert list(schedule.start_s) == [0.0, 20.0, 10.0]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (tree(("a", "b", None, 1.0), ("b", "a", None, 1.0)), "circle: a below b below a"),
        (tree(("a", "gone", None, 1.0)), "names 'gone' as parent of account 'a'"),
        (tree(("a", "b", "ann", 1.0)), "gives user 'ann' a parent"),
        (tree(*((f"{i}", f"{i + 1}" if i < 9 else None, None, 1.0) for i in range(10))), "deep"),
    ],
)
def test_a_tree_that_cannot_be_is_refused(table, said, replay):
    with pytest.raises(InputError, match=said):
        replay(jobs={"submit_s": [0.0]}, order="multifactor", shares=table)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"max_age_s": 0}, "max_age_s = 0: give a number of at least 1"),
        ({"dampening": 0}, "dampening = 0"),
        ({"fairshare": 1}, "fair_share"),
    ],
)
def test_options_that_make_no_sense_are_refused(replay, option, said):
    with pytest.raises(ParameterError, match=said):
        replay(jobs={"submit_s": [0.0]}, order="multifactor", order_options=option)
