"""Which columns of a table are what, and tables of labels beside the tokens."""

import numpy as np
import pandas
import pyarrow
import pytest
from pyarrow import parquet

from files.bags import BAG, TOKENS, X, lines
from files.slides import SLIDES, nested, same_slides
from sparsetoken import Sequences, read_dataset


def test_columns_can_be_named(tmp_path):
    path = tmp_path / "bags.csv"
    path.write_text("\n".join(lines()).replace("bag", "patient").replace("label", "state"))
    names = {"by": "patient", "label": "state", "features": ("y", "x"), "ignore": "site"}
    data = read_dataset(path, **names)
    assert data.sequences.feature_names.tolist() == ["y", "x"]
    assert np.array_equal(data.sequences[1], TOKENS["a"][:, ::-1])
    by_pattern = read_dataset(path, "patient", "state", ignore=("si*",))
    assert by_pattern.sequences.feature_names.tolist() == ["x", "y"]
    assert by_pattern.roles.features == ("x", "y")
    text = "sequence,label,px0,px1,id\na,0,1,2,9\nb,1,3,4,8\n"
    path.write_text(text)
    assert read_dataset(path, features=("px*",)).sequences.dim == 2


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (dict(by="bags"), "no 'bags'; the nearest names are 'bag', "),
        (dict(label="lable"), "no 'lable'; the nearest names are 'label', "),
        (dict(group="sites"), "no 'sites'; the nearest names are 'site', "),
        (dict(features=("z",)), "no 'z'; the nearest names are "),
        (dict(ignore=("sit",)), "no 'sit'; the nearest names are 'site', "),
        (dict(features=("x", "label")), "'label' cannot be a feature and something else"),
        (dict(ignore=("x", "y", "site")), "no columns with features"),
        (dict(), "row 0 .*, column 'site': 'p' is not a finite number; if t"),
    ],
)
def test_columns_that_are_not_there(tmp_path, selection, message):
    path = tmp_path / "bags.csv"
    path.write_text("\n".join(lines()))
    with pytest.raises(ValueError, match=message):
        read_dataset(path, **selection)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_row_numbers_are_no_features(tmp_path, ending):
    """The index that pandas saves beside the columns, and that it reads as "Unnamed: 0".

    Where positives come first it would give the answer away.
    """
    frame = pandas.DataFrame({"bag": BAG, "x": X[:, 0], "y": X[:, 1]}, index=np.arange(6)[::-1])
    path = tmp_path / f"bags.{ending}"
    frame.to_csv(path) if ending == "csv" else frame.to_parquet(path)
    assert read_dataset(path).sequences.feature_names.tolist() == ["x", "y"]
    again = frame.reset_index(names="Unnamed: 0")
    assert Sequences.from_frame(again, by="bag").feature_names.tolist() == ["x", "y"]
    chosen = Sequences.from_frame(again, by="bag", features=["x", "Unnamed: 0"])
    assert chosen.feature_names.tolist() == ["x", "Unnamed: 0"]


def test_a_second_label_is_no_feature(tmp_path):
    path = tmp_path / "bags.csv"
    rng = np.random.default_rng(0)
    rows = [f"s{i // 3},{i // 3 % 2},{i // 6 % 2},{rng.standard_normal()}" for i in range(24)]
    path.write_text("\n".join(["bag,label,stage,x", *rows]))
    with pytest.raises(ValueError, match=r"'stage' has one value in each sequence.*'ignore'"):
        read_dataset(path)
    assert read_dataset(path, ignore=("stage",)).sequences.dim == 1
    assert read_dataset(path, features=("*",)).sequences.dim == 2


def test_columns_of_lists_are_chosen_by_name(tmp_path):
    path = tmp_path / "x.parquet"
    table = {"bag": list(SLIDES), "uni": nested(), "conch": nested()}
    parquet.write_table(pyarrow.table(table), path)
    with pytest.raises(
        ValueError, match="the tokens may be in uni, conch; say which with 'features'"
    ):
        read_dataset(path)
    same_slides(read_dataset(path, features="conch"))


def test_columns_that_are_no_names(tmp_path):
    path = tmp_path / "x.parquet"
    parquet.write_table(pyarrow.table({"bag": [{"a": 1}], "x": [1.0]}), path)
    with pytest.raises(ValueError, match="taken for 'by', holds struct<a: int64>, not names"):
        read_dataset(path)
    parquet.write_table(
        pyarrow.table({"bag": ["a", "b"], "site": [None, "p"], "x": [1.0, 2.0]}), path
    )
    with pytest.raises(ValueError, match="sequence 'a' has no group"):
        read_dataset(path, group="site")
