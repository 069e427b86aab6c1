"""One report per source: what comes out again, what does not, what needs data."""

from __future__ import annotations

import re
from collections.abc import Sequence

from prophase.papers.claims import VERDICTS, PublishedClaim, counts_of
from prophase.papers.mlaas import objectives
from prophase.papers.sources import SOURCES, Source, contents_of
from prophase.plural import counted
from prophase.result import Chart, DataUsed, Fact, NextStep, Provenance, Result, Section, Table

_MEANING = {
    "reproduced": "comes out again from the source's own inputs or arithmetic",
    "contradicted": "does not come out, or the source says otherwise elsewhere",
    "needs data": "cannot be judged with the data at hand; the reason says how to get them",
    "in kind": "comes out on other data than the printed number was made from",
    "differs in kind": "does not come out on other data than the printed number was made from",
    "ours": "the source has no such number",
}
#: verdicts in the order in which a reader wants to see them
_TITLE = {
    "contradicted": "Contradicted",
    "reproduced": "Reproduced",
    "differs in kind": "Differs in kind, on other data",
    "in kind": "Holds in kind, on other data",
    "needs data": "Needs data",
    "ours": "What the source does not say",
}
_NUMBER = re.compile(r"^-?[\d,]*\.?\d+(?= ?%?$)")


def reproduction_result(
    name: str,
    claims: Sequence[PublishedClaim],
    *,
    data: Sequence[DataUsed],
    real: bool,
    command: str,
    remarks: Sequence[str] = (),
    seeds: dict[str, int] | None = None,
) -> Result:
    """Return the report on a source.

    Parameters
    ----------
    name : str
        One of ``SOURCES``.
    claims : sequence of Claim
        What was compared.
    real : bool
        Whether the data are the source's own, or of the same cluster.
    command : str
        The exact command that made it.

    Examples
    --------
    >>> claim = PublishedClaim("Table 11", "estimate, %", "85.7", "85.7", "reproduced")
    >>> report = reproduction_result("thesis", [claim], data=[], real=False, command="...")
    >>> report.answer
    'Of 1 statement, 1 is reproduced.'
    """
    source = SOURCES[name]
    counts = counts_of(claims)
    shown = [
        Section.told(
            verdict,
            title,
            [f"{counted(len(chosen), 'statement')}: {_MEANING[verdict]}."],
            [Table(verdict, [_row(claim) for claim in chosen])],
            # what nobody can judge yet is not put side by side
            [] if verdict == "needs data" else _charts(verdict, chosen),
        )
        for verdict, title in _TITLE.items()
        if (chosen := [claim for claim in claims if claim.verdict == verdict])
    ]
    words = "What came of each, and the command for your own data (WS: a workspace)."
    contents = Table("contents", contents_of(name, claims))
    shown.append(Section.told("contents", "Every table and figure", [words], [contents]))
    if name == "mlaas":
        words = "The seed is a README of intentions without numbers. Each has its command."
        table = Table("objectives", objectives())
        title = "What the seed project set out to do"
        shown.append(Section.told("objectives", title, [words], [table]))
    return Result(
        "reproduce",
        title=f"Reproduced: {source.title}",
        question=f"Do the published numbers come out again? {source.citation}.",
        answer=_answer(counts),
        facts=[Fact(verdict, verdict, count) for verdict, count in counts.items()],
        data=data,
        method=[
            "Every table, figure and main sentence that can be checked is computed by the commands "
            "of this package and put beside what was printed.",
            *(f"{verdict}: {_MEANING[verdict]}." for verdict in VERDICTS if verdict in counts),
            *remarks,
        ],
        sections=shown,
        valid_for=["the source's own data, as far as they are public"]
        if real
        else [f"{source.stand_in}: statements in kind, and arithmetic of printed tables"],
        not_valid_for=[] if real else [_own_data(source)],
        limits=[
            "A number that comes out again is not thereby right: the reasons name where a method "
            "leaks or a unit is off.",
        ],
        next_steps=[_get(source)] if source.fetch and counts.get("needs data") else [],
        provenance=Provenance(command, seeds or {}),
    )


def _own_data(source: Source) -> str:
    how = "set PROPHASE_DATA or pass --data" if source.folders else "they are not public"
    return f"the source's own data: {how}"


def _get(source: Source) -> NextStep:
    """Say how to get what is missing: a command, or in words what to look for."""
    if source.fetch.startswith("prophase "):
        return NextStep("Get the data that are missing.", source.fetch)
    return NextStep(f"Get the data that are missing: {source.fetch}.")


def _answer(counts: dict[str, int]) -> str:
    total = sum(counts.values())
    parts = [
        f"{count} {'is' if count == 1 else 'are'} {verdict}"
        if verdict in ("reproduced", "contradicted")
        else f"{count} {_verb(verdict, count)}"
        for verdict, count in counts.items()
    ]
    return f"Of {counted(total, 'statement')}, {', '.join(parts)}."


def _verb(verdict: str, count: int) -> str:
    one = count == 1
    return {
        "needs data": "needs data" if one else "need data",
        "in kind": "holds in kind" if one else "hold in kind",
        "differs in kind": "differs in kind" if one else "differ in kind",
        "ours": "is our addition" if one else "are our additions",
    }[verdict]


def _row(claim: PublishedClaim) -> dict[str, str]:
    row = {
        "where": claim.item,
        "what": claim.claim,
        "published": claim.published or "–",
        "ours": claim.ours or "–",
        "remark": "; ".join(filter(None, (claim.reason, claim.data and f"from {claim.data}"))),
    }
    return {key: text for key, text in row.items() if text or key not in ("what", "remark")}


def _charts(verdict: str, claims: Sequence[PublishedClaim]) -> list[Chart]:
    """Draw single numbers that share a unit: published beside ours."""
    charts = []
    for what in dict.fromkeys(claim.claim for claim in claims if claim.claim):
        rows = [
            {"where": claim.item, "published": theirs, "ours": ours}
            for claim in claims
            if claim.claim == what
            and (theirs := _number(claim.published)) is not None
            and (ours := _number(claim.ours)) is not None
        ]
        if 3 <= len(rows) <= 12:
            name = re.sub(r"[^a-z0-9]+", "-", f"{verdict}-{what}".lower()).strip("-")[:60]
            title = what[0].upper() + what[1:]
            charts.append(Chart(name, title, "bars", rows, x="where", y=["published", "ours"]))
    return charts[:4]


def _number(text: str) -> float | None:
    found = _NUMBER.match(text.strip())
    return float(found.group().replace(",", "")) if found else None
