from __future__ import annotations

import pandas as pd
import pytest

from prophase.errors import InputError

#: ann uses 100 s, then bob 60 s; at 160 both have a job waiting, bob's came first
LATER = {
    "submit_s": [0.0, 90.0, 149.0, 150.0],
    "duration_s": [100.0, 60.0, 10.0, 10.0],
    "user": ["ann", "bob", "bob", "ann"],
}


def test_who_has_used_less_goes_first(replay):
    jobs = {"submit_s": [0.0, 1.0, 2.0], "user": ["ann", "ann", "bob"]}
    assert list(replay(jobs=jobs, order="fair_share").start_s) == [0.0, 20.0, 10.0]


def test_usage_of_long_ago_fades(replay):
    assert list(replay(jobs=LATER, order="fair_share").start_s[2:]) == [160.0, 170.0]
    # with a half-life of 30 s ann's 100 s count 9.7 s at 160, bob's 60 s count 32.5 s
    faded = replay(jobs=LATER, order="fair_share", half_life_s="30s")
    assert list(faded.start_s[2:]) == [170.0, 160.0]


def test_who_owns_more_may_use_more(replay):
    shares = pd.DataFrame({"user": ["ann", "bob"], "share": [2.0, 1.0]})
    owned = replay(jobs=LATER, order="fair_share", shares=shares)
    assert list(owned.start_s[2:]) == [170.0, 160.0]


def test_a_wide_job_uses_more(replay):
    jobs = {
        "submit_s": [0.0, 0.0, 1.0, 2.0],
        "request_gpus": [3.0, 1.0, 4.0, 4.0],
        "user": ["ann", "bob", "ann", "bob"],
    }
    assert list(replay("1x4", jobs=jobs, order="fair_share").start_s[2:]) == [20.0, 10.0]


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ({"who": ["ann"], "share": [1.0]}, "needs the columns user and share.*who, share"),
        ({"user": ["ann"], "share": [0.0]}, "number above 0"),
        ({"user": ["ann", "ann"], "share": [1.0, 2.0]}, "names user 'ann' twice"),
    ],
)
def test_shares_that_make_no_sense_are_refused(replay, shares, said):
    with pytest.raises(InputError, match=said):
        replay(jobs=LATER, order="fair_share", shares=pd.DataFrame(shares))


#: ann's lab uses 100 s, the shop nothing; of the lab bob has used nothing himself
LABS = {
    "submit_s": [0.0, 10.0, 20.0],
    "duration_s": [100.0, 10.0, 10.0],
    "user": ["ann", "bob", "cy"],
    "group": ["lab", "lab", "shop"],
}


def test_accounts_are_compared_with_each_other_where_that_is_asked(replay):
    assert list(replay(jobs=LABS, order="fair_share").start_s) == [0.0, 100.0, 110.0]
    by_group = replay(jobs=LABS, order="fair_share", order_options={"by": "group"})
    assert list(by_group.start_s) == [0.0, 110.0, 100.0]
    with pytest.raises(InputError, match="no column 'acount' to share between"):
        replay(jobs=LABS, order="fair_share", order_options={"by": "acount"})


def test_accounts_above_users_are_shared_by_the_fair_tree(replay):
    shares = pd.DataFrame(
        {"account": ["lab", "lab", "shop"], "user": ["ann", "bob", "cy"], "share": 1.0}
    )
    weights = {"age": 0.0, "size": 0.0, "charge": "gpus", "rekey_s": 0.0}
    tree = replay(
        jobs={**LABS, "request_gpus": [1.0] * 3}, order="multifactor", order_options=weights,
        shares=shares,
    )  # fmt: skip
    assert list(tree.start_s) == [0.0, 110.0, 100.0]
