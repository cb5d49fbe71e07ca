"""The rules of SimplifyExpr, by what they are about."""
