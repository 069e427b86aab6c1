"""The whole loop: from a trace to a proven advice and its report, step by step."""
