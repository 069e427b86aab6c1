"""Where a job goes: one file per policy."""
