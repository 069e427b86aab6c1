"""What a published study found in one trace, computed for any other."""
