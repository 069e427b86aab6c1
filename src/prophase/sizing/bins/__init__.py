"""Memory and CPU in bins: the classes that the thesis predicts."""
