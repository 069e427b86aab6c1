"""Are predictions and profiles still right? Watch finished jobs, notice changes, mend them."""
