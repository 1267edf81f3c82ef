"""Predicted 80 % intervals beside what came: how many hold, how far medians are off, how narrow."""

from typing import Any

import numpy as np

from benchmarks.report import Table

INTERVAL = ["true", "lower", "median", "upper"]
"""Columns of a frame of predictions."""


def interval_table() -> Table:
    return Table("method:34", "n:5d", "held:6.1%", "off by:7.3f", "bias:7.3f", "width:7.3f",
                 "score:8.4f")  # fmt: skip


def figures(rows: Any, least: float = 0.0) -> list[float]:
    """Return a row of the table: errors below ``least`` are equally good.

    The median factor and its direction, the median width, and the interval score (Gneiting and
    Raftery, 2007; less is better): the width, and ten times what was missed, 2 over 1 − 80 %.
    """
    true, lower, median, upper = rows[INTERVAL].to_numpy(float).T
    log = np.log(np.maximum(median, least) / np.maximum(true, least))
    missed = np.maximum(lower - true, 0.0) + np.maximum(true - upper, 0.0)
    held, width = np.mean((lower <= true) & (true <= upper)), upper - lower
    off, bias = np.exp(np.median(np.abs(log))), np.exp(np.median(log))
    return [len(rows), held, off, bias, np.median(width), np.mean(width + 10.0 * missed)]
