"""The classifier that learns as well as anything can where the model holds."""

from typing import Any

from sparsetoken.estimators.members import Member
from sparsetoken.estimators.posterior_heads import PosteriorHeads
from sparsetoken.estimators.stack_classifier import StackClassifier


class BayesAttentionClassifier(StackClassifier):
    def __init__(
        self,
        class_weight: Any = None,
        cv: Any = 5,
        *,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.class_weight = class_weight
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _members(self, n_tokens: int | None, mapped: bool) -> list[Member]:
        return [PosteriorHeads(both=False)]
