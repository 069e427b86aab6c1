"""One file per theme; every function marked ``@check`` is found by itself."""
