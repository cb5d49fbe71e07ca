"""Dataflow patterns, under the names of `tvm.relay.dataflow_pattern`.

    x = wildcard()
    pattern = is_op("nn.relu")(is_op("nn.conv2d")(x, is_constant()))
    pattern.match(expr)         # whether an expression looks like this
    pattern.partition(expr)     # each match in a function of its own

`rewrite` replaces matches by what a `DFPatternCallback` returns. Both may be used in
passes, function passes included: patterns and callbacks travel to workers.
"""

from parpass.relay.dataflow_pattern.matching import match
from parpass.relay.dataflow_pattern.pattern import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)
from parpass.relay.dataflow_pattern.pattern_builders import (
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from parpass.relay.dataflow_pattern.rewriting import (
    DFPatternCallback,
    partition,
    rewrite,
)

DFPattern.match = match
DFPattern.partition = partition

__all__ = [
    "AltPattern",
    "AttrPattern",
    "CallPattern",
    "ConstantPattern",
    "DFPattern",
    "DFPatternCallback",
    "DataTypePattern",
    "DominatorPattern",
    "ExprPattern",
    "FunctionPattern",
    "IfPattern",
    "LetPattern",
    "ShapePattern",
    "TupleGetItemPattern",
    "TuplePattern",
    "TypePattern",
    "VarPattern",
    "WildcardPattern",
    "dominates",
    "has_attr",
    "has_dtype",
    "has_shape",
    "has_type",
    "is_constant",
    "is_expr",
    "is_if",
    "is_let",
    "is_op",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "match",
    "partition",
    "rewrite",
    "wildcard",
]
