"""The same sequences from every kind of file, and what is wrong with a file in its own words."""

import gzip
import sys

import numpy as np
import pytest

from sparsetoken import read_dataset
from sparsetoken.sequences.forms import OneTokenWarning

# Sequences b, a, c in the order of their first row, with rows that are not together.
BAG = ["b", "a", "b", "c", "a", "b"]
LABEL = ["ill", "well", "ill", "ill", "well", "ill"]
SITE = ["p", "q", "p", "p", "q", "p"]
X = np.arange(12.0).reshape(6, 2) / 7
TOKENS = {"b": X[[0, 2, 5]], "a": X[[1, 4]], "c": X[[3]]}


@pytest.fixture(params=["arrow", "csv module"])
def engine(request, monkeypatch):
    """Read text with Arrow, and as if it were not installed."""
    if request.param == "arrow":
        pytest.importorskip("pyarrow", reason="one of two ways to read text")
    else:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    return request.param


def lines(sep=","):
    rows = [["bag", "label", "site", "x", "y"]]
    for i, name in enumerate(BAG):
        rows.append([name, LABEL[i], SITE[i], *(repr(float(value)) for value in X[i])])
    return [sep.join(row) for row in rows]


def same(data, order="bac", labels=("ill", "well", "ill")):
    assert data.ids == list(order)
    for name, tokens in zip(data.ids, data.sequences, strict=True):
        assert np.array_equal(tokens, TOKENS[name])
    assert data.labels.tolist() == list(labels)


SITES = {"group": "site"}


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
def test_text(tmp_path, engine, text):
    path = tmp_path / "bags.csv"
    path.write_bytes(text.encode())
    data = read_dataset(path, **SITES)
    same(data)
    assert data.sequences.feature_names.tolist() == ["x", "y"]
    assert data.groups.tolist() == ["p", "q", "p"]
    assert data.rows.tolist() == [0, 2, 5, 1, 4, 3]
    assert data.labelled.all()


def test_text_in_many_blocks(tmp_path, engine, monkeypatch):
    monkeypatch.setattr("sparsetoken.files.csv.CELLS", 10)
    path = tmp_path / "bags.csv"
    path.write_text("\n".join(lines()))
    same(read_dataset(path, **SITES))


def test_other_ways_to_write_text(tmp_path, engine):
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


def test_columns_can_be_named(tmp_path, engine):
    path = tmp_path / "bags.csv"
    path.write_text("\n".join(lines()).replace("bag", "patient").replace("label", "state"))
    chosen = {"by": "patient", "label": "state", "features": ("y", "x"), "ignore": "site"}
    data = read_dataset(path, **chosen)
    assert data.sequences.feature_names.tolist() == ["y", "x"]
    assert np.array_equal(data.sequences[1], TOKENS["a"][:, ::-1])
    by_pattern = read_dataset(path, "patient", "state", ignore=("si*",))
    assert by_pattern.sequences.feature_names.tolist() == ["x", "y"]
    assert by_pattern.reading["features"] == ["x", "y"]
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
        (dict(), "line 2, column 'site': 'p' is not a finite number, in sequence 'b'; if t"),
    ],
)
def test_columns_that_are_not_there(tmp_path, engine, selection, message):
    path = tmp_path / "bags.csv"
    path.write_text("\n".join(lines()))
    with pytest.raises(ValueError, match=message):
        read_dataset(path, **selection)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bag,label,x\na,0,1\n\na,0,two\n", "line 4, column 'x': 'two' is not a finite number, in"),
        ("bag,label,x\na,0,1\na,0,\n", "line 3, column 'x': '' is not a finite number"),
        ("bag,label,x\na,0,1\nb,1,nan\n", "line 3, column 'x': 'nan' is not a finite .* 'b'"),
        ("bag,label,x\na,0,1\nb,1,1e999\n", "line 3, column 'x': '1e999' is not a finite number"),
        ("bag,label,x\na,0\n", "line 2: 2 columns instead of 3"),
        (
            "bag,label,x\na,0,1\nb,0,1\na,1,1\n",
            "line 4, column 'label': '1', but '0' before in .*a'",
        ),
        ("bag,label,x\na,0,1\na,,1\n", "line 3, column 'label': '', but '0' before in sequence"),
        ("bag,label,x\na,0,1\n,0,1\n", "line 3, column 'bag': '' names no sequence"),
        (
            "id,label,x\na,0,1\n",
            "no column 'bag' or 'sequence' among id, label, x; name .* with by=",
        ),
        (
            "bag,sequence,label,x\na,b,0,1\n",
            "there are 'bag' and 'sequence'; say which is meant with by=",
        ),
        ("bag,label\na,0\n", "no columns with features"),
        ("bag,label,x\n", "no tokens"),
        ("", "no columns with features"),
        ('bag,label,x\na,0,"1\n', "line 2"),
        ("bag,label,x,label\na,0,1,1\n", "two columns named 'label'"),
    ],
)
def test_what_is_wrong_with_text(tmp_path, engine, text, message):
    path = tmp_path / "bags.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_dataset(path)


def test_text_that_is_none(tmp_path, engine):
    path = tmp_path / "bags.csv"
    path.write_bytes("bag,label,x\nä,0,1\n".encode("latin-1"))
    with pytest.raises(ValueError, match="not text in UTF-8"):
        read_dataset(path)
    packed = tmp_path / "bags.csv.gz"
    packed.write_bytes(gzip.compress(b"bag,label,x\na,0,1\n" * 1000)[:-30])
    with pytest.raises(ValueError, match="damaged"):
        read_dataset(packed)


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


def test_a_second_label_is_no_feature(tmp_path, engine):
    path = tmp_path / "bags.csv"
    rng = np.random.default_rng(0)
    rows = [f"s{i // 3},{i // 3 % 2},{i // 6 % 2},{rng.standard_normal()}" for i in range(24)]
    path.write_text("\n".join(["bag,label,stage,x", *rows]))
    with pytest.raises(ValueError, match=r"'stage' has one value in each sequence.*ignore=.stage"):
        read_dataset(path)
    assert read_dataset(path, ignore=("stage",)).sequences.dim == 1
    assert read_dataset(path, features=("*",)).sequences.dim == 2


def test_parquet(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow", reason="reads Parquet")
    from pyarrow import parquet

    path = tmp_path / "bags.parquet"
    columns = {"bag": BAG, "label": LABEL, "site": SITE, "x": X[:, 0], "y": X[:, 1]}
    parquet.write_table(pyarrow.table(columns), path)
    data = read_dataset(path, **SITES)
    same(data)
    assert data.groups.tolist() == ["p", "q", "p"]
    with pytest.raises(
        ValueError, match=r"column 'site' holds string, not numbers; .*ignore=.site"
    ):
        read_dataset(path)
    small = {"bag": [1, 2], "label": [True, False], "x": np.array([1, 2], np.float32)}
    parquet.write_table(pyarrow.table(small), path)
    data = read_dataset(path)
    assert (data.ids, data.labels.tolist()) == ([1, 2], [True, False])
    assert data.sequences.dtype == np.float32
    parquet.write_table(pyarrow.table({"bag": [1, 2], "label": [1.0, None], "x": [1, None]}), path)
    with pytest.raises(ValueError, match="row 1, column 'x': its value is not a finite number"):
        read_dataset(path)
    path.write_bytes(b"PAR1 nonsense")
    with pytest.raises(ValueError, match=r"is not a .parquet file"):
        read_dataset(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"pip install 'sparsetoken\[data\]'"):
        read_dataset(path)


def test_parquet_with_a_sequence_a_row(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="reads Parquet")
    from pyarrow import parquet

    path = tmp_path / "bags.parquet"
    tokens = [part.tolist() for part in TOKENS.values()]
    columns = {"bag": list(TOKENS), "label": ["ill", "well", "ill"], "tokens": tokens}
    parquet.write_table(pyarrow.table(columns), path)
    data = read_dataset(path)
    same(data)
    assert data.rows.tolist() == [0, 0, 0, 1, 1, 2]
    with pytest.raises(ValueError, match="no 'labels'; the nearest names are 'label'"):
        read_dataset(path, label="labels")


def savez(path, **arrays):
    np.savez(path, **arrays)


def save_h5(path, **arrays):
    h5py = pytest.importorskip("h5py", reason="reads .h5")
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            array = np.asarray(array)
            file[name] = array.astype("S") if array.dtype.kind == "U" else array
            if array.dtype.kind == "U":
                del file[name]
                file.create_dataset(name, data=array.tolist(), dtype=h5py.string_dtype())


@pytest.mark.parametrize(("ending", "write"), [("npz", savez), ("h5", save_h5)])
def test_archives(tmp_path, ending, write):
    path = tmp_path / f"bags.{ending}"
    write(path, X=X, bag=BAG, y=LABEL, site=SITE, feature_names=["x", "y"])
    data = read_dataset(path, **SITES)
    same(data)
    assert data.groups.tolist() == ["p", "q", "p"]
    assert data.rows.tolist() == [0, 2, 5, 1, 4, 3]
    assert data.sequences.feature_names.tolist() == ["x", "y"]
    dense = X.reshape(3, 2, 2)
    write(path, X=dense, y=[1, 0, 1], ids=["p", "q", "r"])
    data = read_dataset(path)
    assert (data.ids, data.labels.tolist()) == (["p", "q", "r"], [1, 0, 1])
    assert np.array_equal(data.sequences[1], dense[1])
    write(path, X=dense, mask=[[1, 0], [1, 1], [1, 1]], y=[1, 0, 1])
    assert read_dataset(path).sequences.lengths.tolist() == [1, 2, 2]
    write(path, X=X, offsets=[0, 4, 6], y=[1, 0])
    assert read_dataset(path).sequences.lengths.tolist() == [4, 2]
    write(path, **TOKENS)
    data = read_dataset(path)
    assert data.labels is None
    assert data.ids == (["a", "b", "c"] if ending == "h5" else ["b", "a", "c"])
    assert np.array_equal(data.sequences[data.ids.index("b")], TOKENS["b"])


def test_one_label_a_bag_is_never_guessed(tmp_path):
    """Names that appear in another order than the sorted one: labels could mean either."""
    path = tmp_path / "bags.npz"
    np.savez(path, X=X, bag=BAG, y=["ill", "well", "ill"])
    with pytest.raises(ValueError, match="appear in the order 'b', 'a', 'c', which is not the sor"):
        read_dataset(path)
    np.savez(path, X=X, bag=BAG, y=["ill", "well", "ill"], ids=["b", "a", "c"])
    same(read_dataset(path))
    np.savez(path, X=X, bag=BAG, y=["well", "ill", "ill"], ids=["a", "b", "c"])
    same(read_dataset(path))
    np.savez(path, X=X, bag=["a", "a", "b", "b", "b", "c"], y=[0, 1, 0])  # both orders agree
    assert dict(zip("abc", read_dataset(path).labels, strict=True)) == {"a": 0, "b": 1, "c": 0}
    np.savez(path, X=X, bag=BAG, y=[1, 0, 1], ids=["a", "b", "b"])
    with pytest.raises(ValueError, match="ids must hold each name in 'bag' once"):
        read_dataset(path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"Z": np.ones((2, 2, 2))},
            "must hold an array 'X' .* with features=. It holds Z \\(2, 2, 2\\) f",
        ),
        ({"X": X.reshape(3, 2, 2), "y": [1, 0]}, r"y must have shape \(3,\), got \(2,\)"),
        ({"X": X.reshape(3, 2, 2), "bag": [0, 1, 2]}, r"with 'bag', X must have shape \(tokens, d"),
        ({"X": X, "bag": BAG, "y": [1] * 5 + [0]}, "y: sequence 'b' has two values: 1 in row 0"),
        ({"X": X, "bag": BAG, "y": [1, 0]}, r"y must have shape \(3,\), or one per token \(6,\)"),
        ({"X": X * np.nan, "bag": BAG}, "NaN in sequence 'b', token 0, feature 0"),
        ({"X": X[0]}, "Reshape your data"),
        ({"a": X, "b": X[:, :1]}, "sequence 'b' has 1 features per token, 'a' has 2"),
        ({"X": np.array([{}], dtype=object)}, "Python objects, which are never read"),
    ],
)
def test_what_is_wrong_with_archives(tmp_path, arrays, message):
    path = tmp_path / "bags.npz"
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=message):
        read_dataset(path)


def test_damaged_archives(tmp_path):
    for name in ("bags.npz", "bags.h5", "bags.safetensors"):
        path = tmp_path / name
        with pytest.raises(FileNotFoundError):
            read_dataset(path)
        path.write_bytes(b"PK\x03\x04 nonsense")
        with pytest.raises(ValueError, match=f"{name} is not .*, or is damaged"):
            read_dataset(path)
    np.savez(path := tmp_path / "bags.npz", X=X)
    with pytest.warns(OneTokenWarning, match="each of the 6 rows"):
        assert len(read_dataset(path)) == 6
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="damaged"):
        read_dataset(path)
    (tmp_path / "bags.txt").touch()
    with pytest.raises(ValueError, match=r"a folder or a file ending in \.csv, .*got 'bags.txt'"):
        read_dataset(tmp_path / "bags.txt")


def test_safetensors(tmp_path):
    torch = pytest.importorskip("torch", reason="writes bfloat16")
    safetensors = pytest.importorskip("safetensors.torch", reason="reads .safetensors")
    tensors = {name: torch.arange(4.0).reshape(2, 2) for name in ("p", "q")}
    tensors["q"] = tensors["q"].to(torch.bfloat16) * 3
    path = tmp_path / "bags.safetensors"
    safetensors.save_file(tensors, path)
    data = read_dataset(path)
    assert data.ids == ["p", "q"]
    assert data.sequences.dtype == np.float32
    assert data.sequences[1].tolist() == [[0, 3], [6, 9]]


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("slide,label,patient\na.svs,well,q\nb,ill,p\nc,,p\nunknown,ill,r\n")
    return path


@pytest.mark.parametrize("ending", ["h5", "npy", "safetensors", "npz"])
def test_folders_with_a_table_of_labels(tmp_path, labels, ending):
    folder = tmp_path / "slides"
    folder.mkdir()
    for name, tokens in TOKENS.items():
        path = folder / f"{name}.{ending}"
        if ending == "h5":  # as extractors write them: a batch of one, and coordinates
            save_h5(path, features=tokens[np.newaxis], coords=np.ones((len(tokens), 2), dtype=int))
        elif ending == "npy":
            np.save(path, tokens)
        elif ending == "npz":
            np.savez(path, feats=tokens, names=np.array(["s"]))
        else:
            numpy = pytest.importorskip("safetensors.numpy", reason="reads .safetensors")
            numpy.save_file({"features": tokens}, path)
    data = read_dataset(folder, group="patient", labels=labels)
    same(data, "abc", ["well", "ill", None])
    assert data.groups.tolist() == ["q", "p", "p"]
    assert data.with_labels().ids == ["a", "b"]
    assert data.rows.tolist() == [0, 1, 0, 1, 2, 0]
    assert read_dataset(folder).labels is None
    labels.rename(folder / "labels.csv")
    same(read_dataset(folder), "abc", ["well", "ill", None])


def test_what_is_wrong_with_folders(tmp_path, labels):
    folder = tmp_path / "slides"
    folder.mkdir()
    with pytest.raises(ValueError, match=r"must hold files of one kind.*it holds nothing"):
        read_dataset(folder)
    np.save(folder / "s.npy", X)
    with pytest.raises(ValueError, match=r"names none of the sequences: it has 'a.svs' in 'slide'"):
        read_dataset(folder, labels=labels)
    labels.write_text("slide,label\ns,1\ns,0\n")
    with pytest.raises(ValueError, match="no 'state'; the nearest names are "):
        read_dataset(folder, label="state", labels=labels)
    with pytest.raises(ValueError, match="row 1: another label or group for 's'"):
        read_dataset(folder, labels=labels)
    np.save(folder / "t.npy", X[0])
    with pytest.raises(ValueError, match=r"t.npy: its array must have shape \(L, d\), got \(2,\)"):
        read_dataset(folder)
    save_h5(folder / "u.h5", features=X)
    with pytest.raises(ValueError, match=r"it holds 2 .npy and 1 .h5"):
        read_dataset(folder)


def test_labels_beside_an_archive(tmp_path, labels):
    path = tmp_path / "bags.npz"
    np.savez(path, **TOKENS)
    same(read_dataset(path, labels=labels), "bac", ["ill", "well", None])


def test_what_a_model_remembers_need_not_be_there(tmp_path, engine):
    path = tmp_path / "new.csv"
    path.write_text("bag,x,comment\na,1,odd\n")
    known = {"by": "patient", "label": "state", "features": ["x"], "table": True}
    data = read_dataset(path, like=known)
    assert (data.ids, data.labels) == (["a"], None)
    np.savez(tmp_path / "new.npz", X=X.reshape(3, 2, 2))
    assert len(read_dataset(tmp_path / "new.npz", like=known)) == 3
