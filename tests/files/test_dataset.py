"""Labels that are missing, and labels that are numbers."""

import pytest

from sparsetoken import read_dataset


def test_an_empty_label_is_no_class(tmp_path, engine):
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
    with pytest.raises(ValueError, match=r"has no labels: say which .* with label=, or .* labels="):
        read_dataset(path).with_labels()


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [(["1", "0"], [1, 0]), (["1.0", "0.0"], [1, 0]), (["1.5", "0"], ["1.5", "0"])],
)
def test_labels_that_are_numbers(tmp_path, engine, labels, wanted):
    path = tmp_path / "bags.csv"
    path.write_text(f"bag,label,x\na,{labels[0]},1\nb,{labels[1]},2\n")
    assert read_dataset(path).labels.tolist() == wanted
