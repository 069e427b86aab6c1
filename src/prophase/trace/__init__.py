"""What happened? Every source becomes the same three tables."""

from prophase.trace.check import check_jobs, check_nodes, check_usage
from prophase.trace.importing import import_trace
from prophase.trace.loading import Trace, open_trace
from prophase.trace.reader import Reader, all_readers, reader_named
from prophase.trace.schema import JOBS, NODES, SCHEMAS, USAGE, known_at_submit
from prophase.trace.staging import ImportReport
from prophase.trace.workspace import Workspace

__all__ = [
    "JOBS",
    "NODES",
    "SCHEMAS",
    "USAGE",
    "ImportReport",
    "Reader",
    "Trace",
    "Workspace",
    "all_readers",
    "check_jobs",
    "check_nodes",
    "check_usage",
    "import_trace",
    "known_at_submit",
    "open_trace",
    "reader_named",
]
