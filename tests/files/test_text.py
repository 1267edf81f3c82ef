"""Text: how it is written, and what is wrong with it."""

import gzip

import numpy as np
import pandas
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from files.bags import SITES, lines, same
from sparsetoken import PooledClassifier, Sequences, read_dataset
from sparsetoken.estimators import PerToken


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(lines()) + "\n",
        "\n".join(lines()),
        "\r\n".join(lines()) + "\r\n",
        "\ufeff" + "\r\n".join(lines()) + "\r\n",
        "\n".join(lines()) + "\n\n\r\n\n",
        "\n".join(lines()) + "\n,,,,\n,,,,\n",
        "\n".join(lines()[:3]) + "\n\n" + "\n".join(lines()[3:]),
        "\n".join(lines()).replace("ill", '"ill"').replace("bag", '"bag"'),
    ],
    ids=["plain", "no end", "CRLF", "BOM", "blank end", "empty cells", "blank line", "quotes"],
)
def test_text(tmp_path, text):
    path = tmp_path / "bags.csv"
    path.write_bytes(text.encode())
    data = read_dataset(path, **SITES)
    same(data)
    assert data.sequences.feature_names.tolist() == ["x", "y"]
    assert data.groups.tolist() == ["p", "q", "p"]
    assert data.rows.tolist() == [0, 2, 5, 1, 4, 3]
    assert data.labelled.all()


def test_text_in_many_blocks(tmp_path):
    """A cell that is wrong is named by its row, also beyond the first block that Arrow reads."""
    path = tmp_path / "bags.csv"
    rows = [f"b{i // 10},{i // 10 % 2},{i / 3},{i}" for i in range(100_000)]
    path.write_text("\n".join(["bag,label,x,y", *rows]))
    data = read_dataset(path)
    assert np.array_equal(data.sequences.tokens[:, 0], np.arange(100_000) / 3)
    rows[90_000] = "b9000,0,1_000,2"
    path.write_text("\n".join(["bag,label,x,y", *rows]))
    with pytest.raises(
        ValueError, match=r"row 90000 \(from 0\), column 'x': '1_000' is not a finite number"
    ):
        read_dataset(path)


def test_wide_rows(tmp_path):
    """Arrow reads blocks of a megabyte unless it is told otherwise."""
    names, row = [f"gene{i}" for i in range(60_000)], ",0.12345678901234567"
    text = "\n".join([",".join(["bag", *names]), *(f"{bag}{row * 60_000}" for bag in "ab")])
    (tmp_path / "x.csv").write_text(text)
    assert read_dataset(tmp_path / "x.csv", ignore=names[:59_990]).sequences.dim == 10


@pytest.mark.parametrize("number", ["1_000", "١٢", "0x10", "1,5", "1e", "--1", "½"])
def test_what_is_no_number_to_others_is_none_here(tmp_path, number):
    (tmp_path / "x.csv").write_text(f'bag,label,x\na,0,1\nb,1,"{number}"\n', encoding="utf-8")
    with pytest.raises(
        ValueError, match=f"row 1 .*, column 'x': '{number}' is not a finite number"
    ):
        read_dataset(tmp_path / "x.csv")


def test_a_missing_value_says_how_to_fill_it(tmp_path):
    (tmp_path / "x.csv").write_text("bag,label,x,y\na,0,1,1\na,0,,3\nb,1,2,2\n")
    with pytest.raises(
        ValueError, match=r"missing, Sequences.from_frame and estimators.PerToken\(SimpleI"
    ):
        read_dataset(tmp_path / "x.csv")
    X, y = Sequences.from_frame(pandas.read_csv(tmp_path / "x.csv"), by="bag", label="label")
    make_pipeline(PerToken(SimpleImputer()), PooledClassifier()).fit(X, y)


def test_other_ways_to_write_text(tmp_path):
    (tmp_path / "bags.tsv").write_text("\n".join(lines("\t")))
    same(read_dataset(tmp_path / "bags.tsv", **SITES))
    with gzip.open(tmp_path / "bags.csv.gz", "wt") as file:
        file.write("\n".join(lines()))
    same(read_dataset(tmp_path / "bags.csv.gz", **SITES))
    quoted = 'bag,label,"a, b"\n"one\ntwo",1,2\n"say ""x""",0,3\n'
    (tmp_path / "quoted.csv").write_text(quoted)
    data = read_dataset(tmp_path / "quoted.csv")
    assert data.ids == ["one\ntwo", 'say "x"']
    assert data.sequences.feature_names.tolist() == ["a, b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "bag,label,x\na,0,1\n\na,0,two\n",
            r"row 1 \(from 0\), column 'x': 'two' is not a finite number; if",
        ),
        ("bag,label,x\na,0,1\na,0,\n", "row 1 .*, column 'x': nan is not a finite number"),
        ("bag,label,x\na,0,1\nb,1,nan\n", "row 1 .*, column 'x': nan is not a finite .* 'b'"),
        ("bag,label,x\na,0,1\nb,1,1e999\n", "row 1 .*, column 'x': inf is not a finite number"),
        ("bag,label,x\na,0\n", r"damaged: .*Expected 3 columns, got 2: a,0"),
        (
            "bag,label,x\na,0,1\nb,0,1\na,1,1\n",
            "column 'label': row 2 has '1', but '0' before in .*a'",
        ),
        (
            "bag,label,x\na,0,1\na,,1\n",
            "column 'label': row 1 has None, but '0' before in sequence",
        ),
        ("bag,label,x\na,0,1\n,0,1\n", "bag must name the sequence of each row, row 1 has none"),
        (
            "id,label,x\na,0,1\n",
            "no column 'bag' or 'sequence' among id, label, x; name .* with 'by'",
        ),
        (
            "bag,sequence,label,x\na,b,0,1\n",
            "there are 'bag' and 'sequence'; say which is meant with 'by'",
        ),
        ("bag,label\na,0\n", "no columns with features"),
        ("bag,label,x\n", "no tokens"),
        ("", "no columns with features"),
        ('bag,label,x\na,0,"1\n', "row 0"),
        ("bag,label,x,label\na,0,1,1\n", "two columns named 'label'"),
        ("bag;x\na;1\n", r"must have commas between its columns, got ';'"),
    ],
)
def test_what_is_wrong_with_text(tmp_path, text, message):
    path = tmp_path / "bags.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_dataset(path)


def test_text_that_is_none(tmp_path):
    path = tmp_path / "bags.csv"
    path.write_bytes("bag,label,x\nä,0,1\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"damaged: .*invalid UTF8 data"):
        read_dataset(path)
    packed = tmp_path / "bags.csv.gz"
    packed.write_bytes(gzip.compress(b"bag,label,x\na,0,1\n" * 1000)[:-30])
    with pytest.raises(ValueError, match="damaged"):
        read_dataset(packed)
