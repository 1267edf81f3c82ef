"""Labels that are missing, and labels that are numbers."""

import pyarrow
import pytest
from pyarrow import parquet

from sparsetoken import read_dataset


def test_an_empty_label_is_no_class(tmp_path):
    path = tmp_path / "bags.csv"
    path.write_text("bag,label,x\na,1,1\nb,,2\nb,,3\nc,0,4\nd,NA,5\n")
    data = read_dataset(path)
    assert data.labels.tolist() == [1, None, 0, None]
    assert data.labelled.tolist() == [True, False, True, False]
    kept = data.with_labels()
    assert (kept.ids, kept.labels.tolist(), kept.rows.tolist()) == (["a", "c"], [1, 0], [0, 3])
    assert kept.labels.dtype.kind == "i"
    path.write_text("bag,label,x\na,,1\nb,,2\n")
    with pytest.raises(ValueError, match="has no labels in 'label'"):
        read_dataset(path).with_labels()
    path.write_text("bag,x\na,1\nb,2\n")
    with pytest.raises(
        ValueError, match=r"has no labels: say which .* with 'label', or .* 'labels'"
    ):
        read_dataset(path).with_labels()


@pytest.mark.parametrize(
    ("labels", "expected"),
    [(["1", "0"], [1, 0]), (["1.0", "0.0"], [1, 0]), (["1.5", "0"], ["1.5", "0"])],
)
def test_labels_that_are_numbers(tmp_path, labels, expected):
    path = tmp_path / "bags.csv"
    path.write_text(f"bag,label,x\na,{labels[0]},1\nb,{labels[1]},2\n")
    assert read_dataset(path).labels.tolist() == expected


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "01", "2"], ["1", "01", "2"]),
        (["10", "1e1", "2"], ["10", "1e1", "2"]),
        (["1", "1.0", "2"], ["1", "1.0", "2"]),
        (["1.0", "0.0", "2."], [1, 0, 2]),
        (["9007199254740993", "9007199254740992", "1"], [9007199254740993, 9007199254740992, 1]),
        (["99999999999999999999", "1", "2"], ["99999999999999999999", "1", "2"]),
        (["-1", "+1", "0"], ["-1", "+1", "0"]),
    ],
)
def test_labels_that_differ_stay_different(tmp_path, labels, expected):
    rows = [
        f"{name},{label},{i}" for i, (name, label) in enumerate(zip("abc", labels, strict=True))
    ]
    (tmp_path / "x.csv").write_text("\n".join(["bag,label,x", *rows]))
    assert read_dataset(tmp_path / "x.csv").labels.tolist() == expected


def test_large_whole_numbers_of_parquet(tmp_path):
    table = {"bag": [1, 2], "label": [9007199254740993, 9007199254740992], "x": [1.0, 2.0]}
    parquet.write_table(pyarrow.table(table), tmp_path / "x.parquet")
    assert read_dataset(tmp_path / "x.parquet").labels.tolist() == table["label"]
