"""Job files as people submit them, read as rows of the job table: known before the job runs."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.profile.submission.reading import read_submissions
    from prophase.profile.submission.submission import Submission, as_jobs

_HOMES = {"Submission": "submission", "as_jobs": "submission", "read_submissions": "reading"}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["Submission", "as_jobs", "read_submissions"]
