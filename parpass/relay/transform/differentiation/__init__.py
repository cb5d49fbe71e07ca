"""Gradients of programs."""
