"""All passes shipped for loop programs, and what makes passes; see the package."""

from parpass.tir.transform.function_pass import Apply, PrimFuncPass, prim_func_pass

__all__ = ["Apply", "PrimFuncPass", "prim_func_pass"]
