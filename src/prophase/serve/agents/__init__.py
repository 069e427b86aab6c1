"""Agents as users: the questions of the house as tools of the Model Context Protocol."""
