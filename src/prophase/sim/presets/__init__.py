"""Published simulators, reproduced exactly."""
