"""Which kinds of job are there? Usage metrics, clustering and profiles."""
