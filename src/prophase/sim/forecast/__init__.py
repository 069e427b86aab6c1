"""When will a waiting job start? Forecasts from the queue as it is now."""
