"""Job files as people submit them, read as rows of the job table: known before the job runs."""
