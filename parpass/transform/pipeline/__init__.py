"""Pipelines as text: MLIR's grammar, with xDSL's flat form as the outermost level."""

from parpass.transform.pipeline.options import OptionSpec, options_of, to_text
from parpass.transform.pipeline.parser import as_pass, parse_pipeline
from parpass.transform.pipeline.printer import print_pipeline

__all__ = [
    "OptionSpec",
    "as_pass",
    "options_of",
    "parse_pipeline",
    "print_pipeline",
    "to_text",
]
