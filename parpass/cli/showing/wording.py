"""What the library advises its callers in Python, said in options of the command."""

from __future__ import annotations

import re

# What the library says, and what the command says in its place.
_SAID: tuple[tuple[str, str], ...] = (
    (r"set on_failure='skip' to", "give --on-failure=skip to"),
    (r"run the pipeline with workers=0 to", "run it with -j0 to"),
    (r"Run the pipeline with workers=0 to", "Run it with -j0 to"),
    (r"workers=0 does without", "-j0 does without"),
    (r"workers=0 asks for that", "-j0 asks for that"),
    (r"workers=None uses every core", "without -j it uses every core"),
    (r"workers=None gives one", "without -j there is one"),
    (r"or run without isolated=True", "or run without --isolate"),
    (r"keep them for several runs, with open_runner", "give one command all inputs"),
    (r"run it by run_pipeline, with workers", "run it without -j0"),
    (r"set the option (parpass\.\w+)", r"give --config \1=..."),
    (r"it as opset=", "it by Python's from_onnx(..., opset=...)"),
    (r"give one: shape=\{'(.*?)': \(\.\.\.\)\}", r"give one: --shape \1:..."),
    (r"\bshape= names", "--shape names"),
)
_RULES = tuple((re.compile(said), instead) for said, instead in _SAID)


def spoken(message: str) -> str:
    """Return a message of the library with its advice in options of the command."""
    for said, instead in _RULES:
        message = said.sub(instead, message)
    return message
