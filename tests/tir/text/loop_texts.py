"""Generated PrimFuncs that have all there is to be written: each node, odd names.

They are made for their text and mean little: variables may be used where they are not
bound, or be bound twice.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from parpass import IRModule, relay, tir
from parpass.ir.global_var import GlobalVar
from parpass.ir.op.op_table import Op
from parpass.ir.types import PointerType, PrimType, TensorType, TupleType
from parpass.tir.data_type import data_type, int_range

Draw = st.DrawFn

NAMES = st.sampled_from(
    [
        *(
            "i",
            "i",
            "i_1",
            "x.outer",
            "A",
            "A_1",
            "for",
            "in",
            "primfn",
            "None",
            "meta",
        ),
        *(
            "min",
            "float32",
            "dtype",
            "a b",
            "%x",
            "",
            "0",
            "x.1",
            '"q"',
            "é",
            "\n",
            "/*",
        ),
        *("IterVar", "vars", "buffers", "attr", "thread", "annotations", "_", "dtype="),
    ]
)
INTS = ["int32", "int64", "int8", "uint8", "uint64", "int7", "bool"]
FLOATS = ["float32", "float16", "float64", "bfloat16", "float8"]
SCALARS = [*INTS, *FLOATS]
STRINGS = st.sampled_from(
    ["", "f", 'a "b"\\', "\n\t", "é\u2028", "// no comment", "/*"]
)
NUMBERS = st.floats()
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | NUMBERS
    | STRINGS
    | st.sampled_from([PrimType("int32"), TensorType((), "int32"), TupleType(())]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(STRINGS, inner),
    max_leaves=3,
)
ATTRIBUTES = st.dictionaries(STRINGS | NAMES, VALUES, max_size=2)
SCOPES = st.sampled_from(["", "shared", "shared.dyn", "a b", "Pointer", "int32", "if"])


def variables(draw: Draw, typ: Any = "int32") -> tir.Var:
    kind = draw(st.sampled_from([tir.Var, tir.Var, tir.SizeVar]))
    return kind(draw(NAMES), typ)


def pointers(draw: Draw, dtype: str) -> tir.Var:
    element = "int8" if dtype == "bool" else dtype
    return variables(draw, PointerType(PrimType(element), draw(SCOPES)))


class _Programs:
    """Draws what may stand in one function, from variables that it collects."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.vars: list[tir.Var] = []
        self.buffers: list[tir.Buffer] = []

    def choose(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def bound(self, typ: Any = "int32") -> tir.Var:
        """Return a variable to bind; now and then it is bound already."""
        known = [var for var in self.vars if typ in (var.dtype, var.type_annotation)]
        if known and self.draw(st.integers(0, 3)) == 0:
            return self.choose(*known)
        self.vars.append(variables(self.draw, typ))
        return self.vars[-1]

    def constant(self, dtype: str) -> tir.PrimExpr:
        if dtype in FLOATS:
            return tir.FloatImm(dtype, self.draw(NUMBERS))
        values = int_range(dtype)
        return tir.IntImm(dtype, self.draw(st.integers(values.start, values.stop - 1)))

    def expr(self, dtype: str = "int32", depth: int = 2) -> tir.PrimExpr:
        known = [var for var in self.vars if var.dtype == dtype]
        if known and self.draw(st.booleans()):
            return self.choose(*known)
        if "x" in dtype:
            return self.vector(dtype, depth)
        if depth == 0:
            return self.constant(dtype)
        return self.choose(*_EXPRESSIONS)(self, dtype, depth - 1)

    def vector(self, dtype: str, depth: int) -> tir.PrimExpr:
        kind = data_type(dtype)
        one = kind.element
        if depth == 0 or self.draw(st.booleans()):
            return tir.Broadcast(self.expr(one, 0), kind.lanes)
        if self.draw(st.booleans()):
            base, stride = self.expr(one, depth - 1), self.expr(one, 0)
            return tir.Ramp(base, stride, kind.lanes)
        lanes = [self.draw(st.integers(0, kind.lanes - 1)) for _ in range(kind.lanes)]
        return tir.Shuffle([self.expr(dtype, depth - 1)], lanes)

    def binary(self, dtype: str, depth: int) -> tir.PrimExpr:
        kinds = (tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Mod, tir.FloorDiv)
        chosen = self.choose(*kinds, tir.FloorMod, tir.Min, tir.Max)
        return chosen(self.expr(dtype, depth), self.expr(dtype, depth))

    def truth(self, _dtype: str, depth: int) -> tir.PrimExpr:
        if self.draw(st.booleans()):
            compare = self.choose(tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE)
            dtype = self.choose(*SCALARS)
            return compare(self.expr(dtype, depth), self.expr(dtype, depth))
        a, b = self.expr("bool", depth), self.expr("bool", depth)
        return self.choose(tir.And(a, b), tir.Or(a, b), tir.Not(a))

    def other(self, dtype: str, depth: int) -> tir.PrimExpr:
        if dtype == "bool":
            return self.truth(dtype, depth)
        if self.draw(st.booleans()):
            return tir.Cast(dtype, self.expr(self.choose(*SCALARS), depth))
        condition = self.expr("bool", depth)
        return tir.Select(condition, self.expr(dtype, depth), self.expr(dtype, depth))

    def let(self, dtype: str, depth: int) -> tir.PrimExpr:
        var = self.bound("int32")
        return tir.Let(var, self.expr("int32", depth), self.expr(dtype, depth))

    def call(self, dtype: str, depth: int) -> tir.PrimExpr:
        ops = [Op.get("tir.exp"), "call_extern", Op.get("add"), GlobalVar("main")]
        callee = self.choose(*ops, GlobalVar("tir.exp"))
        args = [self.expr(dtype, depth), tir.StringImm(self.draw(STRINGS))]
        return tir.Call(dtype, callee, args[: self.draw(st.integers(0, 2))])

    def load(self, dtype: str, depth: int) -> tir.PrimExpr:
        if self.buffers and self.draw(st.booleans()):
            buffer = self.choose(*self.buffers)
            indices = [self.expr("int32", depth) for _ in buffer.shape]
            loaded = tir.BufferLoad(buffer, indices)
            return tir.Call(dtype, Op.get("tir.exp"), [loaded])
        predicate = self.choose(None, self.expr("bool", depth))
        pointer = pointers(self.draw, dtype)
        return tir.Load(dtype, pointer, self.expr("int32", depth), predicate)

    def buffer(self) -> tir.Buffer:
        dtype = self.choose("int32", "float32", "bool", "float32x4")
        size = self.draw(st.integers(0, 2))
        shape = [self.expr("int32", 1) for _ in range(size)]
        strides = self.choose((), [self.expr("int32", 0) for _ in range(size)])
        made = tir.decl_buffer(
            shape,
            dtype,
            self.draw(NAMES),
            data=pointers(self.draw, dtype),
            strides=strides,
            elem_offset=self.choose(None, tir.const(0, "int64"), self.expr()),
            data_alignment=self.choose(-1, 64),
            offset_factor=self.choose(0, 4),
            buffer_type=self.choose("", "auto_broadcast"),
        )
        self.buffers.append(made)
        return made

    def statement(self, depth: int) -> tir.Stmt:
        leaves = (_Programs.evaluate, _Programs.store)
        kinds = leaves if depth == 0 else (*leaves, *_STATEMENTS)
        return self.choose(*kinds)(self, depth - 1)

    def evaluate(self, _depth: int) -> tir.Stmt:
        dtype = self.choose(*SCALARS, "int32x4", "float32x2", "boolx4")
        return tir.Evaluate(self.expr(dtype, 3))

    def store(self, _depth: int) -> tir.Stmt:
        if self.buffers and self.draw(st.booleans()):
            buffer = self.choose(*self.buffers)
            indices = [self.expr() for _ in buffer.shape]
            return tir.BufferStore(buffer, self.expr(buffer.dtype), indices)
        lanes = self.choose("", "x4")
        predicate = self.choose(None, self.expr(f"bool{lanes}"))
        pointer, index = pointers(self.draw, "float32"), self.expr(f"int32{lanes}")
        return tir.Store(pointer, self.expr(f"float32{lanes}"), index, predicate)

    def sequence(self, depth: int) -> tir.Stmt:
        count = self.draw(st.integers(0, 3))
        return tir.SeqStmt([self.statement(depth) for _ in range(count)])

    def let_stmt(self, depth: int) -> tir.Stmt:
        typ = self.choose("int32", PrimType("int32"))
        return tir.LetStmt(self.bound(typ), self.expr(), self.statement(depth))

    def axis(self) -> tir.IterVar:
        dom = self.choose(None, tir.Range.from_min_extent(0, self.expr()))
        number = self.draw(st.integers(0, 10))
        return tir.IterVar(dom, self.bound(), number, self.choose("", "threadIdx.x"))

    def attr(self, depth: int) -> tir.Stmt:
        nodes = [None, self.axis(), self.bound(), self.expr(), self.buffer()]
        node = self.choose(*nodes, tir.StringImm("s"), tir.Range(0, 4))
        key, value = self.draw(STRINGS), self.choose(self.expr(), tir.StringImm("v"))
        return tir.AttrStmt(node, key, value, self.statement(depth))

    def checked(self, depth: int) -> tir.Stmt:
        message = self.choose(tir.StringImm("no"), self.expr("int32"))
        return tir.AssertStmt(self.expr("bool"), message, self.statement(depth))

    def loop(self, depth: int) -> tir.Stmt:
        kind = self.draw(st.sampled_from(tir.ForKind))
        thread = self.choose(None, self.axis())
        var, begin, extent = self.bound(), self.expr(), self.expr()
        annotations = self.draw(ATTRIBUTES)
        body = self.statement(depth)
        return tir.For(var, begin, extent, kind, body, thread, annotations)

    def branch(self, depth: int) -> tir.Stmt:
        condition, then_case = self.expr("bool"), self.statement(depth)
        else_case = self.choose(None, self.statement(depth))
        return tir.IfThenElse(condition, then_case, else_case)

    def until(self, depth: int) -> tir.Stmt:
        condition = tir.LT(self.expr(), self.expr())
        return tir.While(condition, self.statement(depth))

    def realize(self, depth: int) -> tir.Stmt:
        buffer = self.buffer()
        bounds = [tir.Range.from_min_extent(self.expr(), 4) for _ in buffer.shape]
        condition = self.expr("bool")
        return tir.BufferRealize(buffer, bounds, condition, self.statement(depth))

    def allocate(self, depth: int) -> tir.Stmt:
        var = pointers(self.draw, "float32")
        if self.draw(st.booleans()):
            self.buffers.append(tir.decl_buffer((4,), "float32", "own", data=var))
        condition, annotations = self.choose(None, self.expr("bool")), ATTRIBUTES
        body = self.statement(depth)
        extents = [self.expr()]
        drawn = self.draw(annotations)
        return tir.Allocate(var, "float32", extents, condition, body, drawn)


_EXPRESSIONS = [
    *(_Programs.binary, _Programs.binary, _Programs.other, _Programs.other),
    *(_Programs.let, _Programs.call, _Programs.load),
]
_STATEMENTS = [
    *(_Programs.sequence, _Programs.sequence, _Programs.let_stmt, _Programs.attr),
    *(_Programs.checked, _Programs.loop, _Programs.loop, _Programs.branch),
    *(_Programs.until, _Programs.realize, _Programs.allocate),
]
_RESULTS = st.sampled_from(
    [
        *(None, PrimType("int32"), TensorType((), "int32"), TensorType((2,), "int8")),
        TupleType((PrimType("float32x4"), TupleType(()))),
        PointerType(PointerType(PrimType("int8"), "shared"), "x"),
    ]
)


@st.composite
def any_prim_funcs(draw: Draw) -> tir.PrimFunc:
    """Return a PrimFunc."""
    programs = _Programs(draw)
    types = st.sampled_from(["int32", "handle", PrimType("handle"), "float32x4"])
    params = [variables(draw, draw(types)) for _ in range(draw(st.integers(0, 3)))]
    programs.vars += params
    mapped = {param: programs.buffer() for param in params[1:]}
    body = programs.statement(3)
    func = tir.PrimFunc(tuple(params), body, draw(_RESULTS), mapped)
    for key, value in draw(ATTRIBUTES).items():
        func = func.with_attr(key, value)
    return func


def any_modules() -> st.SearchStrategy[IRModule]:
    """Return modules of such functions, beside one of Relay."""
    x = relay.Var("x", relay.TensorType((2,)))
    other = relay.Function((x,), relay.add(x, relay.const(1.0)))
    return any_prim_funcs().map(
        lambda func: IRModule({"main": func, "other": other, "tir.exp": func})
    )


HANDWRITTEN = """#[attrs(k=1)]
// of both kinds
@main = primfn(a: handle, %for: int32, n: SizeVar(int32)) -> int32
  attr = {"global_symbol": "main", "k": [1, -2.5f, None, True]}
  vars = {t: int32}
  buffers = {A: Buffer(p: Pointer(float32), float32, [n, 4], [4, 1], elem_offset=%for),
             B: Buffer(own: Pointer(shared int32), int32, [m: int32], [], align=64)}
  buffer_map = {a: A} {
  attr [IterVar(t: int32, Range(min=0, extent=4), "ThreadIndex", "x")] "e" = 4;
  let m: int32 = n + 2 * 3 - -1; /* and more */
  allocate(own: Pointer(shared int32), int32, [m]) if m > 1;
  for (i: int32, 0, n, annotations={"k": "v"}) "unroll" {
    A[i, 0] = A[i, 1] * 2f32 + @tir.exp(1.5f32, dtype=float32);
    own[ramp(0, 1, 4) if broadcast(i < 2 && !(t == 1), 4)] = broadcast(i, 4);
    if (truncmod(i, 2) == 0) { B[i] = (int32*)own[i]; } else { seq { } }
    { let x: int7 = int7(-3); x; @other(float16(inf), "s", dtype=void); }
  }
  while (B[0] != 1) { (let y: bool = True in y || 1 / n >= 2); }
  assert(min(n, 1) <= 1, "no");
  realize(A, [Range(min=0, extent=4), Range(min=0, extent=1)], True) { 0; }
}

def @other(%x) { %x }
@"a b" = primfn() -> () { shuffle([ramp(0i64, 1i64, 2)], [1, 0]); }
"""
