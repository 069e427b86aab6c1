"""One file per source of traces; each offers a READER."""
