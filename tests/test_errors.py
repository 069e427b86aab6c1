from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from prophase.errors import ProphaseError, not_among
from prophase.papers.findings.finding_catalogue import published_findings
from prophase.papers.openb.protocol import simulate_openb
from prophase.sim.policies import named
from prophase.sim.queueing.models import model_named
from prophase.trace.engine import open_engine
from prophase.trace.fetch.catalogue import public_trace
from prophase.trace.mapping.column_mapping import read_mapping
from prophase.trace.reader import reader_named
from prophase.trace.row_rules import keep_rules
from prophase.trace.sample import sample_jobs
from prophase.trace.synth.generator import check_choice, generator_named
from prophase.trace.trace_tables import Trace
from prophase.units.parsers import factor_to

NOTHING = Trace({}, "csv", "")


@pytest.mark.parametrize(
    ("word", "known", "said"),
    [
        ("fifi", ["fifo", "lifo"], "unknown. Did you mean 'fifo'? Known: fifo, lifo."),
        ("zzz", ["fifo", "lifo"], "unknown. Known: fifo, lifo."),
        ("zzz", [], "unknown. Known: none."),
    ],
)
def test_the_hint_stands_between_what_was_wrong_and_what_there_is(word, known, said):
    assert not_among("unknown.", word, known) == said


def test_a_long_list_is_cut_and_says_so():
    assert not_among("No.", "x", "abc", heading="It has", most=2) == "No. It has: a, b and 1 more."


def with_mapping(text: str) -> Callable[[Path], object]:
    def read(folder: Path) -> object:
        (folder / "m.toml").write_text(text, encoding="utf-8")
        return read_mapping(folder / "m.toml")

    return read


@pytest.mark.parametrize(
    "ask",
    [
        lambda _: named("zzzzzz", {"fifo": 1}, "order"),
        lambda _: simulate_openb(
            pd.DataFrame(), pd.DataFrame(), arrivals=[], node_rank=[], place="zzz"
        ),
        lambda _: model_named("zzzzzz"),
        lambda folder: open_engine("zzzzzz", folder),
        lambda _: public_trace("zzzzzz"),
        lambda _: published_findings(NOTHING, only=["zzzzzz"]),
        lambda _: reader_named("zzzzzz"),
        lambda _: keep_rules(["zzzzzz"]),
        lambda _: sample_jobs(pd.DataFrame({"user": ["a"]}), by="zzzzzz"),
        lambda _: generator_named("zzzzzz"),
        lambda _: generator_named("pai").make_from_text({"zzzzzz": "1"}, random_state=0),
        lambda _: check_choice("kind", "zzzzzz", ("levels", "waves")),
        lambda _: factor_to("GiB", "zzzzzz"),
        with_mapping("[zzzzzz]\n"),
        with_mapping('[jobs]\nzzzzzz = 1\ncolumns.job_id = "id"'),
        with_mapping('[jobs.columns]\njob_id = { column = "id", zzzzzz = 1 }'),
        with_mapping('[jobs.columns]\nsubmit_s = { column = "id", unit = "zzzzzz" }'),
        with_mapping('jobs.columns.job_id = "id"\n[jobs.status]\nPass = "zzzzzz"'),
    ],
)
def test_a_word_that_is_like_none_of_the_known_ones_leaves_no_hole_in_the_message(ask, tmp_path):
    with pytest.raises(ProphaseError) as refused:
        ask(tmp_path)
    said = str(refused.value)
    assert "zzz" in said
    assert "  " not in said
    assert said == said.strip()
