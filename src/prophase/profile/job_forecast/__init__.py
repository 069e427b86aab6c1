"""What is known of one job before it runs: how long, how much, how sure, and why."""
