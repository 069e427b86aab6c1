"""PolarisProfiler's paper, table by table: what comes out again, and what does not."""
