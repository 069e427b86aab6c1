"""What would the cluster do?"""
