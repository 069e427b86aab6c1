"""What to tell a job at the moment it is submitted: prediction and proven requests together."""
