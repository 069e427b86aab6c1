"""Which jobs are the same job again, and whose: the columns ``tenant`` and ``kind``."""
