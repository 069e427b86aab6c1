"""What if there were other nodes, more jobs, another policy, other requests?"""
