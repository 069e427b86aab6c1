"""Which profile will a job have? Predicted from what is known when it is submitted."""
