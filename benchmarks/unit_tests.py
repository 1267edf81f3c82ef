"""Three published unit tests for learning from bags: ``python -m benchmarks.unit_tests``.

A bag is positive if it holds certain tokens. In training another fact tells the classes apart as
well, and in the test it misleads: ``tests/evidence_bags.py`` has the generators. AUC in training
and at test, mean over seeds; a learner that takes only evidence for a bag is near 1 in both.
``--models monotone,extra`` chooses learners of ``benchmarks.bags``.
"""

import argparse
import importlib.util

import numpy as np
from sklearn.metrics import roc_auc_score
from tests.evidence_bags import UNIT_TESTS

from benchmarks.bags import MODELS
from benchmarks.report import Table
from sparsetoken import Sequences

N_TRAIN, N_TEST = 200, 400


def aucs(model: str, test: str, seed: int) -> tuple[float, float]:
    """Return the AUC of bags trained on, and of new ones."""
    bags, y = UNIT_TESTS[test](N_TRAIN, True, seed)
    new, y_new = UNIT_TESTS[test](N_TEST, False, seed + 1000)
    fitted = MODELS[model]().fit(Sequences.from_list(bags), y)
    scores, new_scores = (
        fitted.decision_function(Sequences.from_list(data)) for data in (bags, new)
    )
    return float(roc_auc_score(y, scores)), float(roc_auc_score(y_new, new_scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    torch = {"probe", "abmil"} if importlib.util.find_spec("torchmil") is None else set()
    parser.add_argument("--models", default=",".join(name for name in MODELS if name not in torch))
    options = parser.parse_args()
    columns = (f"{test}: {part}:6.3f" for test in UNIT_TESTS for part in ("train", "test"))
    table = Table("model:12", *columns)
    for model in options.models.split(","):
        found = [
            np.mean([aucs(model, test, seed) for seed in range(options.seeds)], axis=0)
            for test in UNIT_TESTS
        ]
        table.add(model, *np.concatenate(found))


if __name__ == "__main__":
    main()
