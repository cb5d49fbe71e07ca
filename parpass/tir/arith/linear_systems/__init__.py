"""Systems of equations and inequalities that are linear in variables."""
