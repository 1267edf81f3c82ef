"""Three published unit tests for learning from bags: ``python -m benchmarks.unit_tests``.

A bag is positive if it holds certain tokens. In training another fact tells the classes apart as
well, and in the test it misleads: ``tests/evidence_bags.py`` has the generators. AUC in training
and at test, mean over seeds; a learner that takes only evidence for a bag is near 1 in both.
``--models monotone,extra`` chooses learners of ``benchmarks.peers``.
"""

import numpy as np
from sklearn.metrics import roc_auc_score
from tests.evidence_bags import UNIT_TESTS

from benchmarks.peers import MODELS, installed
from benchmarks.report import Table, run
from sparsetoken import Sequences

N_TRAIN, N_TEST = 200, 400


def aucs(model: str, test: str, seed: int) -> list[float]:
    bags, y = UNIT_TESTS[test](N_TRAIN, True, seed)
    fitted = MODELS[model]().fit(Sequences.from_list(bags), y)
    return [
        float(roc_auc_score(labels, fitted.decision_function(Sequences.from_list(new))))
        for new, labels in ((bags, y), UNIT_TESTS[test](N_TEST, False, seed + 1000))
    ]


def main(*, seeds: int = 3, models: str = ",".join(MODELS)) -> None:
    columns = (f"{test}: {part}:6.3f" for test in UNIT_TESTS for part in ("train", "test"))
    table = Table("model:12", *columns)
    for model in installed(models.split(",")):
        each = [[aucs(model, test, seed) for seed in range(seeds)] for test in UNIT_TESTS]
        table.add(model, *np.mean(each, axis=1).ravel())


if __name__ == "__main__":
    run(main)
