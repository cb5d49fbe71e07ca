"""The versions of TVM on which all of this was tested; importing it warns of others.

Workers do not import it, so there is one warning.
"""

from __future__ import annotations

import tvm
import tvm_ffi

from parpass.spi import check_version

_TESTED = {
    "apache-tvm": ("0.27.0.post1",),
    "apache-tvm-ffi": ("0.1.14.post1", "0.1.15.post2"),
}


def check_versions() -> None:
    """Warn, by name, of each package whose version was not tested."""
    installed = {"apache-tvm": tvm.__version__, "apache-tvm-ffi": tvm_ffi.__version__}
    for package, found in installed.items():
        check_version(
            package,
            found,
            _TESTED[package],
            "functions may come out of workers otherwise than they went in",
        )


check_versions()
