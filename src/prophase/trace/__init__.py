"""What happened? Every source becomes the same three tables."""

from typing import TYPE_CHECKING

from prophase.lazy_imports import lazy_names

if TYPE_CHECKING:
    from prophase.trace.import_pipeline import import_trace
    from prophase.trace.prices import Prices
    from prophase.trace.reader import Reader, all_readers, reader_named
    from prophase.trace.schema import (
        JOBS,
        NODES,
        SCHEMAS,
        USAGE,
        check_jobs,
        check_nodes,
        check_usage,
        known_at_submit,
    )
    from prophase.trace.staged_tables import ImportReport
    from prophase.trace.trace_tables import Trace, open_trace
    from prophase.trace.workspace import Workspace

_HOMES = {
    "JOBS": "schema",
    "NODES": "schema",
    "SCHEMAS": "schema",
    "USAGE": "schema",
    "ImportReport": "staged_tables",
    "Prices": "prices",
    "Reader": "reader",
    "Trace": "trace_tables",
    "Workspace": "workspace",
    "all_readers": "reader",
    "check_jobs": "schema",
    "check_nodes": "schema",
    "check_usage": "schema",
    "import_trace": "import_pipeline",
    "known_at_submit": "schema",
    "open_trace": "trace_tables",
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
