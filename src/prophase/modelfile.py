"""save_model, load_model."""
