"""The versioned API: one file per subject."""
