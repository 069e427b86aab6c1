"""What happened? Every source becomes the same three tables."""

from typing import TYPE_CHECKING

from prophase.lazy import lazy_names

if TYPE_CHECKING:
    from prophase.trace.check import check_jobs, check_nodes, check_usage
    from prophase.trace.importing import import_trace
    from prophase.trace.loading import Trace, open_trace
    from prophase.trace.prices import Prices
    from prophase.trace.reader import Reader, all_readers, reader_named
    from prophase.trace.schema import JOBS, NODES, SCHEMAS, USAGE, known_at_submit
    from prophase.trace.staging import ImportReport
    from prophase.trace.workspace import Workspace

_HOMES = {
    "JOBS": "schema",
    "NODES": "schema",
    "SCHEMAS": "schema",
    "USAGE": "schema",
    "ImportReport": "staging",
    "Prices": "prices",
    "Reader": "reader",
    "Trace": "loading",
    "Workspace": "workspace",
    "all_readers": "reader",
    "check_jobs": "check",
    "check_nodes": "check",
    "check_usage": "check",
    "import_trace": "importing",
    "known_at_submit": "schema",
    "open_trace": "loading",
    "reader_named": "reader",
}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "JOBS",
    "NODES",
    "SCHEMAS",
    "USAGE",
    "ImportReport",
    "Prices",
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
