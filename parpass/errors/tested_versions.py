"""The warning of a foreign package whose version an integration was not tested on."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from parpass.errors.warning import AdapterWarning, warn


def check_version(
    package: str,
    found: str,
    tested: Sequence[str],
    effect: str,
    category: type[Warning] = AdapterWarning,
) -> bool:
    """Return whether a version was tested; warn if it was not.

    Args:
        package: The name under which pip installs the package.
        found: The installed version.
        tested: The tested versions, the recommended one last: `0.74.0` is that version
            alone, `0.68.*` its whole series, as in pip.
        effect: The possible problem, or the different behaviour, with another version.
        category: The class of the warning.
    """
    if any(fnmatchcase(found, one) for one in tested):
        return True
    *others, last = tested
    listed = f"{', '.join(others)} and {last}" if others else last
    warn(
        f"parpass was tested with {package} {listed}, not {found}: {effect}; try: pip "
        f"install '{package}=={last}'",
        category,
    )
    return False
