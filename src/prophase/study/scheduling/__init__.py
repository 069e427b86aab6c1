"""How much of a perfect schedule do predictions keep?"""
