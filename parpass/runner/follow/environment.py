"""The environment of new workers, and the variables of it that they keep."""

from __future__ import annotations

import os
import sys

# Constants are folded with one native thread in every process, so that results are
# equal to the bit, and W workers do not run W threads each on W cores.
ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",  # of libraries written in Rust
)
WORKER_VARIABLES = ("PYTHONHASHSEED", *ONE_THREAD)  # set for workers


def worker_env(hash_seed: int | None = None) -> dict[str, str]:
    """Return the environment variables that workers run with.

    Workers inherit this interpreter's options (`-O`, `-X utf8`). All share one hash
    seed, so that no result depends on which worker ran a function: `hash_seed`, or by
    default the seed of this process if it is set, else 0.
    """
    seed = os.environ.get("PYTHONHASHSEED", "random")
    if hash_seed is not None:
        seed = str(hash_seed)
    env = {"PYTHONHASHSEED": seed if seed.isdecimal() else "0"}
    return env | dict.fromkeys(ONE_THREAD, "1") | _interpreter_options()


def _interpreter_options() -> dict[str, str]:
    flags = sys.flags
    # From Python 3.14 on; what older ones do not have, they do not read.
    newer = "context_aware_warnings", "thread_inherit_context"
    return {
        "PYTHONOPTIMIZE": str(flags.optimize),
        "PYTHONUTF8": str(flags.utf8_mode),
        "PYTHONDEVMODE": "1" if flags.dev_mode else "",
        "PYTHONWARNDEFAULTENCODING": "1" if flags.warn_default_encoding else "",
        **{f"PYTHON_{one.upper()}": str(getattr(flags, one, 0)) for one in newer},
    }
