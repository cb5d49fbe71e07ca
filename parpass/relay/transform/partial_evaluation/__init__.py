"""Partial evaluation: what is known of values while a program is compiled."""
