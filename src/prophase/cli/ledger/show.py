"""prophase ledger show: what recommendations predicted and what they saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prophase.cli.output import Format, FormatOption, show_result
from prophase.cli.settings import Formerly
from prophase.cli.shared_options import PricesOption
from prophase.json_types import JsonObject
from prophase.result import Result

if TYPE_CHECKING:
    from prophase.study.ledger.balance import Account, Balance
    from prophase.study.ledger.ledger import Ledger


def command(
    ledger: Annotated[
        Path,
        typer.Argument(
            envvar="PROPHASE_WORKSPACE", help="Ledger file, or the workspace that holds it."
        ),
    ] = Path(),
    advice: Annotated[
        int | None,
        typer.Option("--entry", help="Only this recommendation, task by task."),
        Formerly("--advice"),
    ] = None,
    prices: PricesOption = None,
    format: FormatOption = Format.table,
) -> None:
    """Show every recommendation: predicted, saved, followed, killed; and the tasks that lost.

    Examples:

    `prophase ledger show ws`

    `prophase ledger show ws --entry 2 --prices prices.toml`
    """
    from prophase.study.ledger.ledger import Ledger

    present(Ledger(ledger), prices, advice, format, [])


def present(
    book: Ledger, prices: Path | None, advice: int | None, format: Format, said: list[str]
) -> None:
    """Print the balance of a ledger."""
    from prophase.errors import MissingFileError
    from prophase.study.ledger.balance import balance_of
    from prophase.trace.prices import Prices

    if not book.path.is_file():
        raise MissingFileError(
            f"{book.path}: there is no ledger. Begin one: prophase ledger add recommendation.json "
            "--workspace WORKSPACE"
        )
    found = balance_of(book, prices=None if prices is None else Prices.read(prices), advice=advice)
    rows = found.rows() if advice is None else found.task_rows()
    shown = [_short(row) for row in rows] if format is Format.table else rows
    show_result(
        Result.of_rows(
            "ledger-show-present", shown, values=found.to_dict(), notes=[*said, *_remarks(found)]
        ),
        format,
    )


def _short(row: JsonObject) -> JsonObject:
    left = ("made_at", "unknown", "before_h", "actual_h")
    return {key: value for key, value in row.items() if key not in left}


def _remarks(found: Balance) -> list[str]:
    said = [
        "saved = reserved at the request of before the recommendation - really reserved; killed "
        "attempts count as lost; kept_pct is saved over predicted."
    ]
    for one in found.advices:
        price = found.price.get(one.advice.resource, 0.0)

        def told(account: Account, unit: str = one.advice.unit, price: float = price) -> str:
            row = account.row(price)
            money = f", {row['saved_cost']:,.2f} {found.currency}".rstrip() if price else ""
            return f"{account.name} ({row['saved_h']:,.2f} {unit} h{money})"

        if one.total.saved < 0:
            said.append(
                f"Recommendation {one.advice.id} lost more than it saved: {told(one.total)}."
            )
        named = ", ".join(told(task) for task in one.losers[:5])
        if named:
            more = f" and {len(one.losers) - 5} more" if len(one.losers) > 5 else ""
            said.append(f"Recommendation {one.advice.id} lost with: {named}{more}.")
    if not any(one.total.jobs for one in found.advices):
        said.append("Nothing is settled yet: prophase ledger settle LATER_JOBS")
    right = "add up exactly" if found.reconciles() else "DO NOT ADD UP: the ledger is damaged"
    return [*said, f"Sums over jobs, tasks and recommendations {right}."]
