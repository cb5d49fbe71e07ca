"""Integrations of other compilers and clusters, each an optional extra of its own."""
