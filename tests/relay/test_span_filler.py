"""`with_span`: what a pass makes gets a span, and what was there stays one object."""

from __future__ import annotations

from parpass import relay
from parpass.diagnostic import Span
from parpass.relay.expr import Call
from parpass.relay.span_filler import with_span

SPAN = Span("net", 3, 3, 1, 9)


def test_what_was_made_has_the_span_and_what_was_there_is_the_same_object():
    there = relay.exp(relay.var("x", shape=(4,)))
    assert isinstance(there, Call)
    shared = relay.tanh(there)
    made = relay.add(shared, shared)
    filled = with_span(made, SPAN, [there])
    assert isinstance(filled, Call)
    left, right = filled.args
    assert isinstance(left, Call)
    assert (filled.span, left.span) == (SPAN, SPAN)
    assert left is right
    assert left.args[0] is there
    assert there.span is None


def test_what_has_a_span_keeps_it():
    other = Span("net", 1, 1, 1, 5)
    inner = relay.exp(relay.var("x", shape=(4,)))
    assert isinstance(inner, Call)
    placed = Call(inner.op, inner.args, inner.attrs, span=other)
    filled = with_span(relay.tanh(placed), SPAN, [])
    assert isinstance(filled, Call)
    assert filled.args[0] is placed


def test_without_a_span_nothing_is_made():
    made = relay.exp(relay.var("x", shape=(4,)))
    assert with_span(made, None, []) is made
