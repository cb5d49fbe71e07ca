"""Compilers of other people on parpass, each an optional extra of its own."""
