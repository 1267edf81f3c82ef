"""Summary and report are made of the same paragraphs."""

import sparsetoken as st
from sparsetoken.planner.words import PlanResult


class Answer(PlanResult):
    answer = "Enough."

    def to_dict(self):
        return {}

    def _sections(self):
        return {
            "Answer": [self.answer, "Take care."],
            "Assumptions": ["All is as it seems."],
            "What it rests on": ["A guess."],
            "T": [("samples", "error"), ("10", "0.25"), ("100", "0.1")],
        }


def test_summary_has_the_answer_first():
    assert Answer().summary().split("\n") == [
        "Enough.",
        "Take care.",
        "",
        "Assumptions: All is as it seems.",
        "",
        "What it rests on: A guess.",
        "",
        "T:",
        "",
        "  samples  error",
        "       10   0.25",
        "      100    0.1",
    ]


def test_a_report_is_the_summary_with_the_software():
    text = Answer().report()
    assert text.startswith(Answer().summary())
    software = text.removeprefix(Answer().summary()).strip()
    assert software.startswith(f"Software: sparsetoken {st.__version__}, with Python ")
    marked = Answer().report(markdown=True)
    assert marked.startswith("## Answer\n\nEnough. Take care.\n\n## Assumptions")
    assert "| samples | error |\n| ------: | ----: |\n|      10 |  0.25 |" in marked
