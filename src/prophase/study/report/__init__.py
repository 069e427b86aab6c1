"""One report for every result: question, data, method, result, validity, limits, next steps.

A `Report` is plain data. `prophase.plots.report` turns it into a page, Markdown and figures;
`to_dict` and `from_dict` make it JSON and read it again.
"""
