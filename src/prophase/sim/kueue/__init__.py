"""The queues of Kueue: quotas, borrowing, and Workloads that wait for them."""
