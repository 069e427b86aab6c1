"""What to tell a job at the moment it is submitted: prediction and proven requests together."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.study.submitting.counsel import Counsel, RequestCounsel
    from prophase.study.submitting.counsellor import Counsellor, Gives, Remembering

_HOMES = {
    "Counsel": "counsel",
    "Counsellor": "counsellor",
    "Gives": "counsellor",
    "Remembering": "counsellor",
    "RequestCounsel": "counsel",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["Counsel", "Counsellor", "Gives", "Remembering", "RequestCounsel"]
