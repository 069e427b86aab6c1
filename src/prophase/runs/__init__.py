"""Go and measure."""
