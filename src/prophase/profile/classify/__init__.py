"""Which profile will a job have? Told from what is known when it is submitted."""
