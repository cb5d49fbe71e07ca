"""The rules of the rewriting simplifier, by family, as lines of `rule_language.py`.

All are about int32 and int64, of which arithmetic is taken not to overflow; those of
`vectors` about vectors of anything. Constants stand on the right of `+` and `*`, and
`x - c` is `x + (-c)`, so patterns need not say it otherwise.
"""
