"""Summary and report are made of the same paragraphs."""

import sparsetoken as st
from sparsetoken.planner.result import PlanResult, Sections


class Answer(PlanResult):
    answer = "Enough."

    def to_dict(self):
        return {}

    def _sections(self):
        table = [("samples", "error"), ("10", "0.25"), ("100", "0.1")]
        return Sections(
            "How many?", ["All is as it seems"], ["Take care."], ["A guess."], {"T": table}
        )


def test_summary_has_the_answer_first():
    assert Answer().summary().split("\n") == [
        "Enough.",
        "Take care.",
        "",
        "A guess.",
        "T",
        "  samples  error",
        "       10   0.25",
        "      100    0.1",
    ]


def test_report_has_whole_sentences_and_tables():
    blocks = Answer().report().split("\n\n")
    assert blocks[:4] == [
        "Question. How many?",
        "Assumptions. All is as it seems.",
        "Answer. Enough. Take care.",
        "What it rests on. A guess.",
    ]
    assert blocks[4:6] == ["T:", "  samples  error\n       10   0.25\n      100    0.1"]
    assert blocks[6].startswith(f"Software. sparsetoken {st.__version__}, with Python ")
    marked = Answer().report(markdown=True)
    assert "## Answer\n\nEnough. Take care.\n\n" in marked
    assert "| samples | error |\n| ------: | ----: |\n|      10 |  0.25 |" in marked
