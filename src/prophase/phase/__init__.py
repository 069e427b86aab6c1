"""What is it doing now, and what comes next?"""

from typing import TYPE_CHECKING

from prophase.lazy_imports import lazy_names

if TYPE_CHECKING:
    from prophase.phase.crbm import CRBM
    from prophase.phase.detector import PhaseDetector
    from prophase.phase.phase_expansion import expand, propose
    from prophase.phase.phase_stream import PhaseStream

_HOMES = {
    "CRBM": "crbm",
    "PhaseDetector": "detector",
    "PhaseStream": "phase_stream",
    "expand": "phase_expansion",
    "propose": "phase_expansion",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["CRBM", "PhaseDetector", "PhaseStream", "expand", "propose"]
