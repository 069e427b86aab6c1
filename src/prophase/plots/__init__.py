"""Results in, figures and pages out."""
