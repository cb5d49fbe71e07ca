"""Emission of LLVM IR for loop programs, as text: a module for each function."""
