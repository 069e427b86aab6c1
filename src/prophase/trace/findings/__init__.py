"""What a published study found in one trace, computed for any other."""

from prophase.trace.findings.figure import Figure, Finding
from prophase.trace.findings.finding_out import FINDINGS, find_out

__all__ = ["FINDINGS", "Figure", "Finding", "find_out"]
