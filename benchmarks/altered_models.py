"""Altered model files: a sentence, the same scores, or answers; never a crash.

``python -m benchmarks.robustness models [MODELS] [SEED]``: files of all classifiers with bytes
flipped, or rewritten with other arrays and headers. They are loaded and asked in a process of its
own (``tests/altered_models.py``).
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path

_SCRIPT = Path(__file__).parents[1] / "tests" / "altered_models.py"


def main(count: int = 2000, seed: int = 0) -> None:
    """Print how many altered models ended how, and each that ended badly."""
    command = [sys.executable, str(_SCRIPT), str(count), str(seed)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    lines = ended.stdout.splitlines()
    verdicts = Counter(line.partition(": ")[2].partition(":")[0] for line in lines)
    for line in lines:
        if "WRONG" in line:
            print(line)
    if ended.returncode:
        print(f"CRASH (exit code {ended.returncode}) at {lines[-1]}")
    for name, number in verdicts.most_common():
        print(f"{number:>6} {name}")
