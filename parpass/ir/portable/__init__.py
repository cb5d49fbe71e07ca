"""Functions for a store on disk: a binary table, as `save_json` writes one as text.

It names no code. With a function there is what InferType knows of it: the entry of the
inference cache, so that a pass sees what it saw of the function that was written.
"""

from parpass.ir.portable.codec import IRPortableCodec

__all__ = ["IRPortableCodec"]
