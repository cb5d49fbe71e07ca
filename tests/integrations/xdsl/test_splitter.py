"""Text is cut where it is understood, and nowhere else."""

from __future__ import annotations

import pytest

from parpass.integrations.xdsl.splitter import split_module

FUNCTIONS = """\
// a comment with { in it
#map = affine_map<(d0) -> (d0 + 1)>
!t = i32
builtin.module attributes {"a.b" = "}{"} {
  func.func @f(%a: i32) -> i32 {
    "test.op"() {text = "\\"} // {"} : () -> () // }
    func.return %a : i32
  }
  func.func private @declared(i32) -> ()
  func.func private @with_attributes(i32) attributes {a = 1}
  func.func public @g()
      attributes {b = {c = 1}} {
    func.return
  } loc("here":1:2)
  "func.func"() <{sym_name = "h", function_type = () -> ()}> ({
  ^bb0:
    "func.return"() : () -> ()
  }) : () -> ()
  %x = "test.op"() : () -> i32
  "test.op"(%x) ({
    func.func @inner() { func.return }
  }) : (i32) -> ()
}
"""


def test_functions_are_found_with_their_names_and_bodies():
    found = split_module(FUNCTIONS)
    assert found is not None
    assert FUNCTIONS[slice(*found.aliases)].endswith("!t = i32\n")
    assert found.head == 'builtin.module attributes {"a.b" = "}{"} {'
    assert found.tail == "}\n"
    names = [piece.name for piece in found.pieces]
    assert names == ["f", "", "", "g", "h", "", ""]
    bodies = [
        FUNCTIONS[slice(*piece.body)].split()
        for piece in found.pieces
        if piece.name in ("g", "h")
    ]
    assert bodies[0] == ["{", "func.return", "}"]
    assert bodies[1][:2] == ["{", "^bb0:"]
    whole = [FUNCTIONS[piece.begin : piece.end] for piece in found.pieces]
    assert whole[3].endswith('} loc("here":1:2)')
    assert whole[5] == '%x = "test.op"() : () -> i32'


def test_operations_without_a_module_are_cut():
    found = split_module("func.func @f() {\n}\nfunc.func @g() {\n}\n")
    assert found is not None
    assert (found.head, [piece.name for piece in found.pieces]) == ("", ["f", "g"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "// nothing\n",
        '"builtin.module"() ({\n}) : () -> ()',
        "builtin.module {\n} loc(unknown)",
        "builtin.module {\n}\nbuiltin.module {\n}",
        "builtin.module @name {\n}",
        "builtin.module {\n^bb0(%a: i32):\n  func.func @f() {\n  }\n}",
        "builtin.module {\n  func.func @f() {\n}",
        "builtin.module {\n  func.func @f() {\n  ]\n}",
        "func.func @f() {\n}\n}",
        "func.func @f() {\n}\nfunc.func @f() {\n}",
        "func.func @f() {\n}\n#late = 1\nfunc.func @g() {\n}",
        "func.func @f() {\n}\n{-#\n#-}",
        "#many =\n  affine_map<() -> ()>\nfunc.func @f() {\n}",
        "func @f() {\n}",
    ],
)
def test_what_is_not_understood_is_not_cut(text: str):
    assert split_module(text) is None
