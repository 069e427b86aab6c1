"""What would a sizer have cost on a recorded trace?"""
