"""What a schedule tells: waits, utilisation, fragmentation, waste, cost, fairness."""
