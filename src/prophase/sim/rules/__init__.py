"""What a cluster does beyond starting jobs in turn: one file per rule, checked when it is made."""
