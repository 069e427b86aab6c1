"""Our sizer: the ladder of requests with the least expected waste."""
