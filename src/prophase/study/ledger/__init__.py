"""Was an advice worth it? What was promised beside what happened, to the last unit."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.study.ledger.balance import Balance, balance_of
    from prophase.study.ledger.book import Ledger, StoredAdvice
    from prophase.study.ledger.settling import Entry, settle_jobs

_HOMES = {
    "Balance": "balance",
    "Entry": "settling",
    "Ledger": "book",
    "StoredAdvice": "book",
    "balance_of": "balance",
    "settle_jobs": "settling",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["Balance", "Entry", "Ledger", "StoredAdvice", "balance_of", "settle_jobs"]
