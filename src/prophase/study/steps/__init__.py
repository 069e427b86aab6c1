"""The whole loop: from a trace to a proven recommendation and its report, step by step."""
