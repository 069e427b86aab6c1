"""What is it doing now, and what comes next?"""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.phase.crbm import CRBM
    from prophase.phase.detect import PhaseDetector
    from prophase.phase.expanding import expand, propose
    from prophase.phase.series import series_of
    from prophase.phase.stream import PhaseStream

_HOMES = {
    "CRBM": "crbm",
    "PhaseDetector": "detect",
    "PhaseStream": "stream",
    "expand": "expanding",
    "propose": "expanding",
    "series_of": "series",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["CRBM", "PhaseDetector", "PhaseStream", "expand", "propose", "series_of"]
