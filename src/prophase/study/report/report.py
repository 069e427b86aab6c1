"""A report: what was asked, what came out, how sure it is, and what to do with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from prophase.study.report.charts import Chart
from prophase.study.report.parts import (
    Answer,
    DataUsed,
    Measure,
    Reproduction,
    ResultTable,
    Step,
)

Verdict = Literal["note", "good", "warning", "bad"]


@dataclass(frozen=True)
class Finding:
    """One part of the result: sentences, figures, tables under a heading.

    ``figures`` holds charts as data, or finished matplotlib figures as ``(name, caption,
    figure)``; the latter are drawn, but not kept in JSON.
    """

    title: str
    text: Sequence[str] = ()
    tables: Sequence[ResultTable] = ()
    charts: Sequence[Chart] = ()
    figures: Sequence[tuple[str, str, Any]] = ()


@dataclass(frozen=True)
class Report:
    """Everything that a reader needs to judge a result and to act on it.

    Parameters
    ----------
    title : str
        What the page is called.
    question : str
        What was asked.
    answer : str
        The result in one or two sentences.
    verdict : {"note", "good", "warning", "bad"}
        How the answer is marked.
    facts : sequence of Measure
        The few numbers that stand at the top.
    answers : sequence of Answer
        The questions of a longer report, answered at a glance; on pages they take the place of
        the facts.
    data, method, findings
        What went in, what was done, what came out.
    valid_for, not_valid_for, limits : sequence of str
        Where the result holds, where it does not, and what it leaves out.
    apply : sequence of Step
        How to use it.
    reproduce : Reproduction, optional
        How to get it again.

    Examples
    --------
    >>> report = Report(
    ...     "Sizing",
    ...     question="How much memory can be saved?",
    ...     answer="About a third.",
    ...     facts=[Measure("saving", 31.4, "%", 27.9, 35.1)],
    ... )
    >>> report.facts[0].text()
    '31.4 % (27.9 to 35.1)'
    """

    title: str
    question: str
    answer: str = ""
    verdict: Verdict = "note"
    facts: Sequence[Measure] = ()
    data: Sequence[DataUsed] = ()
    method: Sequence[str] = ()
    findings: Sequence[Finding] = ()
    valid_for: Sequence[str] = ()
    not_valid_for: Sequence[str] = ()
    limits: Sequence[str] = ()
    apply: Sequence[Step] = ()
    reproduce: Reproduction | None = None
    answers: Sequence[Answer] = ()
