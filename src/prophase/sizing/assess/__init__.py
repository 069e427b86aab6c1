"""How well are requests used? Utilisation, groups of tasks, drivers, money, static requests."""
