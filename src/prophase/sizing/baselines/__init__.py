"""The field's sizers, each as its authors describe it."""
