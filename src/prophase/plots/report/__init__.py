"""Reports as pages, Markdown and figures."""
