"""Loops that become vectors."""
