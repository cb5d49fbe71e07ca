from __future__ import annotations

import subprocess
import sys


def test_the_runners_options_can_be_set_before_the_runner_is_loaded():
    code = (
        "import sys, parpass\n"
        "parpass.PassContext(config={'parpass.asking_workers_seconds': 0.0})\n"
        "assert 'parpass.runner' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
