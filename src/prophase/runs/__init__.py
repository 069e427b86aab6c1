"""Go and measure: register runs of a pipeline, and have them deployed, executed and profiled."""
