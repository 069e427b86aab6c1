"""Reports as pages, Markdown and figures."""

from prophase.plots.report.charts import draw_chart
from prophase.plots.report.page import report_page
from prophase.plots.report.writing import write_report

__all__ = ["draw_chart", "report_page", "write_report"]
