"""LLVM's text of loop programs, written by hand: one function, one module of LLVM's."""
