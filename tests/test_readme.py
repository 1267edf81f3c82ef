"""The Python blocks of the README run, and give the numbers that stand beside them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_block_runs(block, capsys):
    assert len(block.strip().splitlines()) <= 8
    exec(block, {})
    printed = [line for line in capsys.readouterr().out.splitlines() if line]
    stated = re.findall(r"\)  # ([\d.]+)$", block, flags=re.MULTILINE)
    for line, number in zip(printed, stated, strict=True) if stated else ():
        assert float(line) == pytest.approx(float(number), abs=6e-4)


def test_three_ways_in_within_a_hundred_lines():
    assert len(BLOCKS) == 3
    assert len(README.splitlines()) <= 100


def test_links_lead_to_what_a_code_host_renders():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target
        assert not target.endswith(".rst")
