"""The versions of TVM on which all of this was tested; importing it warns of others.

Workers do not import it, so there is one warning.
"""

from __future__ import annotations

import tvm
import tvm_ffi

from parpass.errors import AdapterWarning
from parpass.spi import warn

TESTED = {
    "apache-tvm": ("0.27.0.post1",),
    "apache-tvm-ffi": ("0.1.14.post1", "0.1.15.post2"),
}


def warn_if_untested() -> None:
    """Warn, by name, of each version that was not tested."""
    installed = {"apache-tvm": tvm.__version__, "apache-tvm-ffi": tvm_ffi.__version__}
    for name, tested in TESTED.items():
        if installed[name] not in tested:
            warn(
                f"this is {name} {installed[name]}, and parpass was tested on "
                f"{' and '.join(tested)}: functions may come out of workers otherwise "
                f"than they went in; try: pip install '{name}=={tested[-1]}'",
                AdapterWarning,
            )


warn_if_untested()
