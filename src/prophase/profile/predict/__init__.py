"""How long will it run, and what will it use? Answers from submit-time metadata alone."""
