"""Kernels of Relay, which fusion makes, become loop programs."""
