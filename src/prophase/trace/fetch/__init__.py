"""Fetch public traces: what is known of them, and a download that can be believed."""

from prophase.trace.fetch.catalogue import PublicTrace, RemoteFile, all_public_traces, public_trace
from prophase.trace.fetch.fetching import FetchReport, fetch

__all__ = [
    "FetchReport",
    "PublicTrace",
    "RemoteFile",
    "all_public_traces",
    "fetch",
    "public_trace",
]
