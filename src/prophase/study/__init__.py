"""Which choice is best, and is it proven?"""
