"""What each source claims, beside ours, with one of a few verdicts.

reproduced: comes out again from the same inputs. contradicted: does not, or the source says
otherwise elsewhere. needs data: cannot be judged with the data at hand. in kind, differs in
kind: comes out, or does not, on other data than the printed number was made from. ours: the
source has no such number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from prophase.json_types import JsonMapping, JsonObject

VERDICTS = ("reproduced", "contradicted", "needs data", "in kind", "differs in kind", "ours")
_OPENB_MEASURES = {
    "allocation_at_100_pct": "GPUs allocated when 100 % have been asked for, %",
    "allocation_at_130_pct": "GPUs allocated when 130 % have been asked for, %",
    "fragmentation_ratio_at_90_pct": "idle GPUs that are of no use at 90 % arrival, %",
}
#: what rows without words of their own compare
_CLAIMS = {"ai4dl": "samples with the published phase"}


@dataclass(frozen=True)
class PublishedClaim:
    """A table, figure or sentence of a source, what it says, what we find, and the verdict."""

    item: str
    claim: str
    published: str
    ours: str
    verdict: str
    reason: str = ""
    #: what ours was taken from, if sources use several data
    data: str = ""

    @classmethod
    def waiting(
        cls, item: str, claim: str, published: str, command: str, *, ours: str = "", data: str = ""
    ) -> PublishedClaim:
        """Return what the data at hand cannot decide."""
        return cls(item, claim, published, ours, "needs data", f"get it with: {command}", data)


def claim_row(
    item: str, claim: str, published: str, ours: str, verdict: str, reason: str = ""
) -> JsonObject:
    """Return the row that a comparison prints and saves."""
    row = asdict(PublishedClaim(item, claim, published, ours, verdict, reason))
    del row["data"]
    return row


def verdict_on(holds: bool, *, real: bool = True) -> str:
    """Return the verdict on a claim that the data can decide.

    What other rows show, or synthetic ones, does not decide on a number printed for the source's
    own, which are ``real``.
    """
    if real:
        return "reproduced" if holds else "contradicted"
    return "in kind" if holds else "differs in kind"


def claims_of(name: str, rows: Sequence[Mapping[str, object]]) -> list[PublishedClaim]:
    """Return the claims that the rows of a source's comparison are about.

    Examples
    --------
    >>> row = {"item": "phases", "published": "204", "ours": "204", "verdict": "equal"}
    >>> claims_of("ai4dl", [row])[0].verdict
    'reproduced'
    """
    if rows and "place" in rows[0] and name == "openb":
        return list(_openb(rows))
    if rows and "run" in rows[0] and name == "pai-sim":
        return list(_pai_sim(rows))
    return [
        PublishedClaim(
            str(row["item"]),
            str(row.get("claim") or _CLAIMS.get(name, "")),
            str(row.get("published", "")),
            str(row.get("ours", "")),
            judged(str(row["verdict"])),
            str(row.get("reason", "")),
            str(row.get("data", "")),
        )
        for row in rows
    ]


def judged(verdict: str) -> str:
    """Return a comparison's own words as one of the verdicts."""
    if verdict in VERDICTS:
        return verdict
    if verdict == "DIFFERS":
        return "contradicted"
    return "needs data" if verdict.startswith("nothing published") else "reproduced"


def counts_of(claims: Sequence[PublishedClaim]) -> dict[str, int]:
    """Return how many claims have each verdict, in the order of the verdicts."""
    found = Counter(claim.verdict for claim in claims)
    return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}


def _openb(rows: Sequence[JsonMapping]) -> Iterator[PublishedClaim]:
    for row in rows:
        for name, words in _OPENB_MEASURES.items():
            theirs = row.get(f"{name}_published")
            yield PublishedClaim(
                f"{row['list']} list, {row['place']}",
                words,
                "" if theirs is None else f"{theirs:.2f}",
                f"{row[name]:.2f}",
                "needs data" if theirs is None else judged(row["verdict"]),
                row["verdict"],
            )


def _pai_sim(rows: Sequence[JsonMapping]) -> Iterator[PublishedClaim]:
    for row in rows:
        for name, words in (
            ("mean_jct_s", "mean completion time, s"),
            ("mean_wait_s", "mean wait, s"),
            ("makespan_s", "makespan, s"),
        ):
            theirs, ours = row[f"{name}_published"], row[name]
            yield PublishedClaim(
                str(row["run"]), words, f"{theirs:,.2f}", f"{ours:,.2f}", judged(row["verdict"])
            )
        if row.get("jobs_that_differ") is not None:
            equal = row["jobs"] - row["jobs_that_differ"]
            jobs, verdict = f"{row['jobs']:,}", judged(row["verdict"])
            yield PublishedClaim(
                str(row["run"]), "jobs with the same completion time", jobs, f"{equal:,}", verdict
            )
