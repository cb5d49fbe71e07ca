"""Dataflow patterns, under the names of `tvm.relay.dataflow_pattern`.

    x = wildcard()
    pattern = is_op("nn.relu")(is_op("nn.conv2d")(x, is_constant()))
    pattern.match(expr)         # whether an expression looks like this
    pattern.partition(expr)     # each match in a function of its own

`rewrite` replaces matches by what a `DFPatternCallback` returns. Both may be used in
passes, function passes included: patterns and callbacks travel to workers.
"""

from parpass.relay.dataflow_pattern import pattern, pattern_builders, rewriting
from parpass.relay.dataflow_pattern.matching import match
from parpass.relay.dataflow_pattern.pattern import *
from parpass.relay.dataflow_pattern.pattern_builders import *
from parpass.relay.dataflow_pattern.rewriting import *

pattern.DFPattern.match = match
pattern.DFPattern.partition = rewriting.partition

__all__ = ["match"]
__all__ += pattern.__all__
__all__ += pattern_builders.__all__
__all__ += rewriting.__all__
