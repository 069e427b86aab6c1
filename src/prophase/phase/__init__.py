"""What is it doing now, and what comes next?"""
