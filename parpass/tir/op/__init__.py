"""Functions that build loop expressions, under TVM's names.

Unlike the constructors of nodes, they convert operands to a common dtype and fold
constants: `floordiv(x, 1)` is `x`.
"""

from parpass.tir.op import conditions, intrin, numeric, operands, reducers
from parpass.tir.op.conditions import *
from parpass.tir.op.intrin import *
from parpass.tir.op.numeric import *
from parpass.tir.op.operands import *
from parpass.tir.op.reducers import *

__all__: list[str] = []
__all__ += conditions.__all__
__all__ += intrin.__all__
__all__ += numeric.__all__
__all__ += operands.__all__
__all__ += reducers.__all__
