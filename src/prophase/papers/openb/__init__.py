"""The protocol of the openb study: pods placed one by one, fragmentation measured."""
