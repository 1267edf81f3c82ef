"""
A sweep on a Dask cluster
=========================

A study of many settings is a *sweep*: a grid of named values, of which each point is computed on
its own. That is what clusters are for, and clusters fail. So the results go into a file as they
arrive, and a sweep that was cut short goes on from there.

This page runs on a small cluster inside one process. On a real one only the address in ``Client``
changes.
"""

# %%
# The sweep
# ---------
# Learning curves of two classifiers, theory beside simulation. Values not named have defaults; each
# point's random numbers come from a seed hashed from its values, so that the table is the same
# whatever the number of workers.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from dask.distributed import Client, LocalCluster

from sparsetoken.experiments import Grid, Store, Sweep, run
from sparsetoken.models import look
from sparsetoken.plotting import curve, lines_and_points, select, styled

sweep = Sweep(
    [
        Grid(
            ["test_error"],
            {"model": ["pooled", "two-step"], "alpha": [0.5, 1.0, 2.0, 4.0, 8.0]},
            {"n_tokens": 10, "signal": 5.0, "dim": 300, "trials": 6},
        )
    ]
)
cells = sweep.cells()
print(len(cells), "points, for instance:", cells[1].describe())

# %%
# Running it, and being interrupted
# ---------------------------------
# Anything with the interface of ``concurrent.futures`` can do the work, a Dask client among them.
# We play the part of the power cut: after eight points an exception ends the run.


class PowerCutError(Exception):
    """Stands for whatever ends a run early."""


def pull_the_plug(done, total):
    """Be called after each point; give up at the eighth."""
    if done == 8:
        raise PowerCutError


folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "learning-curves.db"
threads = {"n_workers": 1, "threads_per_worker": 2, "processes": False}  # quick to start
cluster = LocalCluster(**threads, dashboard_address=None)
client = Client(cluster)
executor = client.get_executor(pure=False)  # a point that was cancelled may be submitted again
try:
    with Store(path) as store:
        run(sweep, store, executor, progress=pull_the_plug)
except PowerCutError:
    with Store(path) as store:
        print("after the power cut:", store.counts(cells))

# %%
# Going on
# --------
# The same call again computes only what is missing; once more, and there is nothing left to do.

with Store(path) as store:
    print(run(sweep, store, executor))
    print(run(sweep, store, executor))
    rows = store.rows(cells)
client.close()
cluster.close()

# %%
# The table
# ---------
# A store returns rows in long format, ready for a data frame or, here, for a picture. The theory is
# a limit: with half a sample per dimension, 300 dimensions are not quite many enough for attention.

for row in rows[:4]:
    number = f"{row['value']:.4f} ± {row['uncertainty']:.1g}"
    print(f"{row['model']}, alpha = {row['alpha']}, {row['source']:<10} {row['quantity']} {number}")

with styled():
    figure, ax = plt.subplots(figsize=(3.6, 2.8), layout="constrained")
    for model in ("two-step", "pooled"):
        curve(ax, select(rows, model=model), "alpha", *look(model)[1:], model)
    lines_and_points(ax)
    ax.set(xscale="log", xlabel="samples per dimension, α", ylabel="test error", ylim=(0, None))
    ax.set_xticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
    ax.minorticks_off()
    ax.legend(loc="upper right")
    figure.draw_without_rendering()  # ticks take their style when they are first drawn

folder.cleanup()
