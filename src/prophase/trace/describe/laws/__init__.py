"""Laws for durations and arrivals: fitted by maximum likelihood and judged without mercy."""
