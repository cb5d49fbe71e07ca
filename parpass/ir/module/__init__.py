"""Modules: functions and types by their names."""

from parpass.ir.module.module import IRModule, Module, stated_type

__all__ = ["IRModule", "Module", "stated_type"]
