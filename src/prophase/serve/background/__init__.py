"""Long work in processes of its own, so that answers stay quick."""
