"""How much should it ask for?"""
