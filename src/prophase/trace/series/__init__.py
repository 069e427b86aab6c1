"""Usage series, and the models of a series that capabilities share."""
