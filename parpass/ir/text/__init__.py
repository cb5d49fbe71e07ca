"""Shared parts of the IRs' text formats: tokens, names, literals, types, errors."""
