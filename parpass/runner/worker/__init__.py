"""The workers' own side."""
