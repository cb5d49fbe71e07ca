"""How many examples property tests take, and which: Hypothesis's profiles.

* `default`: drawn from what each test is, so that a first run is hardly a lottery. They
  still differ with the version of Hypothesis, and with the modules that are loaded,
  whose constants it uses: a test must not need one that is rare.
* `long`: others in each run, and twice as many; of the long forms (`-m stress`).
* `hunt`: others in each run, and ten times as many (`-m hunt`).

`--hypothesis-seed` repeats what the last two drew. What is found becomes an explicit
`@example`.

No profile judges by the clock, which says more of the machine than of the code.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

DEFAULT, LONG, HUNT = "default", "long", "hunt"

_EXAMPLES = {DEFAULT: 10, LONG: 20, HUNT: 100}
_SLOW = [HealthCheck.too_slow]


def register_profiles() -> None:
    """Register the profiles with Hypothesis."""
    for name, examples in _EXAMPLES.items():
        settings.register_profile(
            name,
            settings(
                max_examples=examples,
                derandomize=name == DEFAULT,
                deadline=None,
                print_blob=True,
                suppress_health_check=_SLOW,
            ),
        )


def profile_of(markers: str) -> str:
    """Return the profile for the tests that a marker expression (`-m`) selects."""
    return {"hunt": HUNT, "stress": LONG}.get(markers.partition(" ")[0], DEFAULT)


def examples(share: float, *suppressed: HealthCheck) -> settings:
    """Return settings that take a share of the profile's examples, and at least one.

    Args:
        share: Above 1 for what is cheap and has many cases, below for what is dear.
        suppressed: Health checks that the property cannot pass, besides the profile's.
    """
    return settings(
        max_examples=max(1, round(share * settings().max_examples)),
        suppress_health_check=[*_SLOW, *suppressed],
    )
