"""The smallest programs that raise errors, to be run.

Errors of broken files, of workers and of machines have none.
"""

from __future__ import annotations

_RELAY = "from parpass import relay\n"
_MODULE = (
    "import parpass\nfrom parpass import relay\n\n"
    'x = relay.var("x", shape=(2,))\n'
    "mod = parpass.IRModule.from_expr(relay.Function((x,), x))\n"
)
_FUNCTION_PASS = _MODULE + "\n\n@relay.transform.function_pass(opt_level=0)\n"
_CONTEXT = "from parpass.transform import PassContext\n\n"

CASES = {
    "ArgumentError": "from parpass.transform import Sequential\n\nSequential(3)\n",
    "ConfigError": _CONTEXT + 'PassContext(config={"relay.FuseOps.depth": 3})\n',
    "ConfigValueError": _CONTEXT
    + 'PassContext(config={"parpass.function_timeout": "soon"})\n',
    "IRTypeError": _RELAY + "\nrelay.Tuple(3)\n",
    "MalformedJSONError": "import parpass\n\nparpass.load_json('{\"nodes\": 3}')\n",
    "ModuleTypeError": "import parpass\n\nparpass.IRModule({3: 4})\n",
    "ParseError": _RELAY + '\nrelay.fromtext("def main(%x: float32) { %x }")\n',
    "PassContextError": _CONTEXT
    + "outer, inner = PassContext(), PassContext()\n"
    + "outer.__enter__()\ninner.__enter__()\n"
    + "try:\n    outer.__exit__(None, None, None)\n"
    + "finally:\n    inner.__exit__(None, None, None)\n"
    + "    outer.__exit__(None, None, None)\n",
    "PassInputError": _RELAY + "\nrelay.transform.FoldConstant()(3)\n",
    "PassResultError": _FUNCTION_PASS
    + "def forgetful(func, mod, ctx):\n    pass\n\n\nforgetful(mod)\n",
    "PipelineSyntaxError": "from parpass.transform import parse_pipeline\n\n"
    'parse_pipeline("FoldConstant{")\n',
    "ReadOnlyModuleError": _FUNCTION_PASS
    + "def writing(func, mod, ctx):\n"
    + '    mod["other"] = func\n    return func\n\n\nwriting(mod)\n',
    "ScopeBuilderError": "from parpass.relay import ScopeBuilder\n\n"
    "ScopeBuilder().get()\n",
    "StructuralMismatchError": _RELAY
    + "import parpass\n\n"
    + "parpass.assert_structural_equal(relay.const(1), relay.const(2))\n",
    "TargetError": 'import parpass\n\nparpass.target.Target("llmv")\n',
    "UndefinedPassError": _MODULE + "\nparpass.Sequential([None])(mod)\n",
    "UnknownAttrError": _RELAY
    + '\nx = relay.var("x", shape=(2, 2))\nrelay.nn.softmax(x).attrs["axes"]\n',
    "UnknownFunctionError": 'import parpass\n\nparpass.get_global_func("myadd")\n',
    "UnknownGlobalError": _MODULE + '\nmod["man"]\n',
    "UnknownOpError": 'from parpass.ir import Op\n\nOp.get("nn.rleu")\n',
    "UnknownPassError": 'import parpass\n\nparpass.create_pass("FoldConstants")\n',
    "UnprintablePassError": _FUNCTION_PASS
    + "def mine(func, mod, ctx):\n    return func\n\n\n"
    + "parpass.transform.print_pipeline(mine)\n",
    "UntypedError": _RELAY + '\nx = relay.var("x")\nrelay.nn.relu(x).checked_type\n',
}
