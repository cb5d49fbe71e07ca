"""Layouts through a program: what AlterOpLayout and ConvertLayout share."""

from parpass.relay.transform.layout.rewriter import Alter, LayoutRewriter

__all__ = ["Alter", "LayoutRewriter"]
