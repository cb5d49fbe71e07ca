"""Relay as the machine, and the base of IRs, know it."""
