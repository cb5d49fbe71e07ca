"""Libraries without a linker: what objects use of each other and of the system's."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path

import pytest

from parpass.errors import CodeGenError, LibraryError
from parpass.runtime.compiled_module import SharedObject
from parpass.runtime.cpu_features import architecture
from parpass.runtime.library_file import this_system
from parpass.target.elf_linker import link
from parpass.target.llvm_object import object_code
from parpass.target.target import Target

TARGET = Target("llvm -mtriple=x86_64-unknown-linux-gnu").resolved()
OUTSIDE = """
declare double @exp(double)
declare double @hypot(double, double)
define double @outside(double %x) #0 {
  %e = call double @exp(double %x)
  %h = call double @hypot(double %e, double 1.0)
  ret double %h
}
"""
CALLER = """
declare double @outside(double)
@table = private constant [3 x double] [double 1.0, double 2.5, double 4.0]
@pointers = private constant [2 x ptr] [ptr @outside, ptr @caller]
define double @caller(double %x, i64 %at) #0 {
  %y = call double @outside(double %x)
  %p = getelementptr double, ptr @table, i64 %at
  %t = load double, ptr %p
  %q = getelementptr ptr, ptr @pointers, i64 %at
  %i = icmp eq i64 %at, 0
  br i1 %i, label %again, label %end
again:
  %f = load ptr, ptr %q
  %z = call double %f(double %x)
  %w = fadd double %z, %t
  ret double %w
end:
  %s = fadd double %y, %t
  ret double %s
}
"""
WRITER = """
@count = internal global i64 40
define i64 @counted() #0 {
  %n = load i64, ptr @count
  %m = add i64 %n, 1
  store i64 %m, ptr @count
  ret i64 %m
}
"""


def compiled(text: str) -> bytes:
    return object_code(text, TARGET)


def test_objects_use_each_other_the_system_and_their_own_memory():
    if (architecture(), this_system()) != ("x86_64", "linux"):
        return  # there they are no libraries, as another test has it
    code = link(
        [compiled(CALLER), compiled(OUTSIDE), compiled(WRITER)],
        ["caller", "outside", "counted"],
    )
    library = SharedObject(code)
    double, whole = ctypes.c_double, ctypes.c_int64
    kind = ctypes.CFUNCTYPE(double, double, whole)
    caller = kind(library.address("caller"))
    expected = math.hypot(math.exp(0.5), 1.0)
    for at, more in enumerate((1.0, 2.5, 4.0)):
        assert caller(0.5, at) == pytest.approx(expected + more, rel=1e-15)
    counted = ctypes.CFUNCTYPE(whole)(library.address("counted"))
    assert [counted(), counted()] == [41, 42]
    # Another library of the same bytes has memory of its own.
    other = SharedObject(code)
    assert ctypes.CFUNCTYPE(whole)(other.address("counted"))() == 41
    with pytest.raises(LibraryError, match="no function 'count'"):
        library.address("count")


def test_the_bytes_are_always_the_same():
    objects = [compiled(CALLER), compiled(OUTSIDE)]
    assert link(objects, ["caller"]) == link(objects, ["caller"])
    assert compiled(CALLER) == objects[0]


def test_what_cannot_be_linked_is_named():
    one = compiled(WRITER)
    with pytest.raises(CodeGenError, match="two objects define 'counted'"):
        link([one, one], ["counted"])
    with pytest.raises(CodeGenError, match="no object defines 'none'"):
        link([one], ["none"])
    with pytest.raises(CodeGenError, match="expected an object in ELF"):
        link([b"MZ"], [])


def test_a_function_that_nobody_has_is_told_when_it_is_loaded(tmp_path: Path):
    text = OUTSIDE.replace("@exp", "@no_such_function_at_all")
    with pytest.raises(LibraryError, match="no_such_function_at_all"):
        SharedObject(link([compiled(text)], ["outside"]))


def test_what_llvm_refuses_is_told():
    with pytest.raises(CodeGenError, match="LLVM refuses the text of 'f'"):
        object_code("define i32 @f() #0 { ret i64 0 }", TARGET, "f")
    with pytest.raises(CodeGenError, match="LLVM has no target 'vax-dec-ultrix'"):
        object_code(WRITER, Target("llvm -mtriple=vax-dec-ultrix"))
