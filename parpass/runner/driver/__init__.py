"""Runs of a pipeline: where they come from, and what carries out their commands."""
