"""Is an advice proven? The user's own history replayed with and without it."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.study.proof.found import Proof
    from prophase.study.proof.given import GivenAdvice, read_advice
    from prophase.study.proof.proving import prove
    from prophase.study.proof.splits import forward_splits
    from prophase.study.proof.telling import proof_report
    from prophase.study.proof.verdict import Limits

_HOMES = {
    "GivenAdvice": "given",
    "Limits": "verdict",
    "Proof": "found",
    "forward_splits": "splits",
    "proof_report": "telling",
    "prove": "proving",
    "read_advice": "given",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "GivenAdvice",
    "Limits",
    "Proof",
    "forward_splits",
    "proof_report",
    "prove",
    "read_advice",
]
