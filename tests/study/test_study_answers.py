from __future__ import annotations

from typing import Any

from prophase.study.study_answers import NOT_ANSWERED, answers


def proof(**changed: Any) -> dict[str, Any]:
    saved = {"value": 0.25, "low": 0.2, "high": 0.3}
    return {
        "resource": "memory", "unit": "GiB", "jobs": 400, "advised_jobs": 100,
        "saving": saved, "oom": {"value": 0.0, "low": 0.0, "high": 0.01},
        "limits": {"max_oom": 0.01, "min_saving": 0.2},
        "totals": [{"name": "memory-hours", "unit": "GiB h", "today": 4000.0, "advised": 3000.0,
                    "difference": -1000.0, "saved": saved}],
        "why_no_replay": "no nodes are known", "replays": None, "splits": None, **changed,
    }  # fmt: skip


def by_question(results: dict[str, Any], cannot: dict[str, str]) -> dict[str, tuple[str, str]]:
    return {one.question: (one.value, one.text) for one in answers(results, cannot)}


def test_each_question_has_a_number_with_its_interval_or_a_reason() -> None:
    sized = {"advised": 3, "tasks": 10, "kind": ["task"], "unit": "GiB"}
    used = [
        {"resource": "CPU, mean use", "used_pct": 12.0},
        {"resource": "memory, peak use", "used_pct": 34.2},
    ]
    told = by_question({"describe": {"used": used}, "sizing": sized, "proof": proof()}, {})
    waste = told["Where is the waste?"]
    assert waste == ("34.2 %", "of the memory asked for is used (peak use). CPU, mean use: 12 %.")
    assert told["What should change?"][0] == "3 of 10 tasks"
    assert told["What does it save?"][0] == "25 % (20 to 30)"
    assert "3,000 instead of 4,000 GiB h" in told["What does it save?"][1]
    assert told["What does it risk?"][0] == "0 % (0 to 1)"
    assert "that the recommendation was learnt from" in told["What does it risk?"][1]
    assert told["What does it do to waiting times?"] == (NOT_ANSWERED, "No nodes are known.")
    assert told["How sure is that?"][0] == NOT_ANSWERED


def test_waits_and_later_jobs_are_told_when_they_are_known() -> None:
    wait = {"measure": "mean_wait_s", "of": "all jobs", "today": 7200.0, "advised": 1800.0,
            "change_low": -6000.0, "change_high": 600.0}  # fmt: skip
    splits = {"told": 4, "kept": 3, "near_points": 5.0, "splits": [{}] * 4,
              "held_out_oom": {"value": 0.015, "low": 0.01, "high": 0.022}}  # fmt: skip
    told = by_question({"proof": proof(replays={"changes": [wait]}, splits=splits)}, {})
    value, text = told["What does it do to waiting times?"]
    assert value == "2 h to 30 min"
    assert "-1.67 h to 10 min. It contains zero" in text
    assert told["What does it risk?"][0] == "1.5 % (1 to 2.2)"
    assert told["How sure is that?"][0] == "3 of 4"


def test_what_the_trace_cannot_tell_is_said_once_with_the_reason() -> None:
    why = "needs requests and measured use of one resource"
    told = by_question(
        {"describe": {"used": []}},
        {
            "sizing": why,
            "proof": f"needs a recommendation: {why}",
            "schedules": "needs a list of nodes",
        },
    )
    assert told == {
        "Where is the waste?": (
            NOT_ANSWERED, "The trace does not say what jobs used of what they asked for.",
        ),
        "What should change?": (NOT_ANSWERED, f"That {why}."),
        "Would another queue order help?": (NOT_ANSWERED, "That needs a list of nodes."),
    }  # fmt: skip


def test_time_limits_that_are_not_used_up_are_no_waste() -> None:
    told = by_question({"describe": {"used": [{"resource": "run time", "used_pct": 1.0}]}}, {})
    assert told["Where is the waste?"][0] == NOT_ANSWERED
    assert "1 % of their time limits" in told["Where is the waste?"][1]


def test_an_order_whose_range_holds_zero_says_so() -> None:
    row = {"policy": "shortest, predicted by default", "kind": "order", "of": "all jobs",
           "change_pct": -1.0, "change_pct_low": -16.2, "change_pct_high": 14.2}  # fmt: skip
    told = by_question({"schedules": {"jobs": 900, "policies": [row]}}, {})
    value, text = told["Would another queue order help?"]
    assert value == "-1.0 % (-16.2 to 14.2)"
    assert "no clear change" in text


def test_where_nobody_waits_no_order_helps() -> None:
    row = {"policy": "fifo", "kind": "order", "of": "all jobs", "mean_wait_s": 0.0}
    told = by_question({"schedules": {"jobs": 900, "policies": [row]}}, {})
    assert told["Would another queue order help?"][0] == "no"


def test_what_to_do_on_monday_stands_first_and_follows_the_verdict() -> None:
    sized = {"advised": 3, "tasks": 10}
    for outcome, value in (("pass", "apply 3 recommendations"), ("fail", "change nothing")):
        found = answers({"sizing": sized, "proof": proof(verdict={"outcome": outcome})}, {})
        assert (found[0].question, found[0].value) == ("What to do on Monday", value)
    unsure = proof(verdict={"outcome": "undecided"}, tasks=[{"task": "align"}])
    assert "(align)" in answers({"sizing": sized, "proof": unsure}, {})[0].text
    none = answers({"sizing": {"advised": 0, "tasks": 10}}, {})
    assert none[0].text == "None of 10 tasks gains by a change."


def test_the_recorded_wait_stands_beside_the_replayed_one() -> None:
    wait = {"measure": "mean_wait_s", "of": "all jobs", "today": 1800.0, "advised": 600.0}
    told = proof(replays={"changes": [wait], "recorded_wait_s": 1200.0})
    assert by_question({"proof": told}, {})["What does it do to waiting times?"][1].endswith(
        "The trace recorded 20 min."
    )
