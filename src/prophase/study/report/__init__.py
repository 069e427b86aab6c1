"""One report for every result: question, data, method, result, validity, limits, next steps.

A `Report` is plain data. `prophase.plots.report` turns it into a page, Markdown and figures;
`to_dict` and `from_dict` make it JSON and read it again.
"""

from prophase.study.report.charts import Chart
from prophase.study.report.document import from_dict, read_report, to_dict
from prophase.study.report.parts import (
    Answer,
    DataUsed,
    Measure,
    Reproduction,
    ResultTable,
    Step,
)
from prophase.study.report.report import Finding, Report
from prophase.study.report.stored import StoredReport, stored_reports

__all__ = [
    "Answer",
    "Chart",
    "DataUsed",
    "Finding",
    "Measure",
    "Report",
    "Reproduction",
    "ResultTable",
    "Step",
    "StoredReport",
    "from_dict",
    "read_report",
    "stored_reports",
    "to_dict",
]
