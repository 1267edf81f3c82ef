"""The Python blocks of the README run, and give the numbers that stand beside them."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_block_runs(block, capsys):
    assert len(block.strip().splitlines()) <= 8
    exec(block, {})
    printed = [line for line in capsys.readouterr().out.splitlines() if line]
    stated = re.findall(r"\)  # ([\d.]+)$", block, flags=re.MULTILINE)
    for line, number in zip(printed, stated, strict=True) if stated else ():
        assert float(line) == pytest.approx(float(number), abs=6e-4)


def test_there_are_blocks_for_both_audiences():
    assert len(BLOCKS) >= 2
