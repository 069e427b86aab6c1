"""What to tell a job at the moment it is submitted: prediction and proven requests together."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.study.submitting.counsel import Counsel, RequestCounsel
    from prophase.study.submitting.counsellor import Counsellor

_HOMES = {"Counsel": "counsel", "Counsellor": "counsellor", "RequestCounsel": "counsel"}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["Counsel", "Counsellor", "RequestCounsel"]
