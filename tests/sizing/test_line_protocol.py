from __future__ import annotations

from pathlib import Path

import pytest

from prophase.errors import FormatError
from prophase.sizing import make_online_sizer
from prophase.sizing.line_protocol import Conversation


def test_outcomes_change_the_answer_and_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "kept" / "outcomes.jsonl"
    talk = Conversation(make_online_sizer("maximum"), log)
    ask = '{"task": "align", "features": {"request_gib": 16}}'
    assert talk.answer(ask)["request_gib"] == 16
    talk.answer('{"task": "align", "peak_gib": 4, "runtime_h": 0.5}')
    assert talk.answer(ask)["request_gib"] == pytest.approx(4.4)
    later = Conversation(make_online_sizer("maximum"), log)
    assert later.outcomes == 1
    assert later.answer(ask)["request_gib"] == pytest.approx(4.4)


def test_a_line_cut_off_by_a_crash_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "outcomes.jsonl"
    log.write_text('{"task": "a", "peak_gib": 4, "runtime_h": 1}\n{"task": "a", "pea')
    assert Conversation(make_online_sizer("maximum"), log).outcomes == 1


def test_a_retry_asks_for_more_than_was_killed() -> None:
    talk = Conversation(make_online_sizer())
    again = talk.answer('{"task": "a", "features": {"request_gib": 16}, "last_gib": 4}')
    assert again["request_gib"] > 4
    assert again["attempt"] == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "not a JSON object"),
        ('{"features": {}}', "needs a task"),
        ('{"task": "a", "features": 3}', "features must be"),
        ('{"task": "a", "peak_gib": "much"}', "not an amount"),
        ('{"task": "a", "peak_gib": -3}', "not an amount"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused(line: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        Conversation(make_online_sizer()).answer(line)
