"""Tables of labels: matched by the right column, or not at all."""

import numpy as np
import pandas
import pyarrow
import pytest
from pyarrow import parquet

from files.bags import TOKENS, same
from files.slides import SLIDES, write_h5
from sparsetoken import read_dataset

N = 12
Y = np.array([0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1])
ORDER = np.random.default_rng(3).permutation(N)


@pytest.fixture
def folder(tmp_path):
    """Return a folder of sequences that are named 0 to 11, each with its label in its tokens."""
    for i in range(N):
        np.save(tmp_path / f"{i}.npy", np.full((2, 3), Y[i] + 1.0))
    return tmp_path


def expected(data):
    return [Y[int(name)] for name in data.ids]


def test_the_index_of_pandas_is_no_name(folder):
    """It comes first, and holds the same numbers in another order."""
    pandas.DataFrame({"bag": ORDER, "label": Y[ORDER]}).to_csv(folder / "labels.csv")
    data = read_dataset(folder)
    assert data.labels.tolist() == expected(data)
    assert data.label_summary == (
        "12 of 12 sequences have a label, from column 'label' of labels.csv, matched by its column "
        "'bag'"
    )


def test_row_names_of_r_are_no_names(folder):
    """They count from 1 where the names count from 0."""
    frame = pandas.DataFrame({"id": ORDER, "label": Y[ORDER]}, index=np.arange(1, N + 1))
    frame.to_csv(folder / "labels.csv")
    data = read_dataset(folder)
    assert data.labels.tolist() == expected(data)


@pytest.mark.parametrize("odd", ["12.5", "3.0", "3.7"])
def test_nothing_is_cut_off_a_number(folder, odd):
    """3.7 does not name sequence 3, as 3.svs does."""
    doses = [odd, *(f"{i}.25" for i in range(1, N))]
    frame = pandas.DataFrame(
        {"dose": doses, "slide": [f"{i}.svs" for i in ORDER], "label": Y[ORDER]}
    )
    frame.to_csv(folder / "labels.csv", index=False)
    data = read_dataset(folder)
    assert data.labels.tolist() == expected(data)
    frame.drop(columns="slide").to_csv(folder / "labels.csv", index=False)
    with pytest.raises(ValueError, match="names none of the sequences"):
        read_dataset(folder)


def test_the_label_names_nothing(folder):
    """Labels that are numbers of sequences."""
    pandas.DataFrame({"label": np.arange(N), "x": 0.5}).to_csv(folder / "labels.csv", index=False)
    with pytest.raises(ValueError, match=r"names none of the sequences: it has '0.5' in 'x'"):
        read_dataset(folder)


@pytest.mark.parametrize("index", [None, "", "Unnamed: 0"])
def test_a_table_without_names_is_refused(folder, index):
    """Nothing but labels, or row names that were saved as a column beside them."""
    frame = pandas.DataFrame({"label": Y})
    frame.to_csv(folder / "labels.csv", index=index is not None, index_label=index)
    with pytest.raises(ValueError, match="no column names the sequences"):
        read_dataset(folder)


def test_a_column_that_names_some_is_refused_unless_it_is_named(folder):
    visits = [1, 2, 3, *[40] * (N - 3)]
    frame = pandas.DataFrame({"visits": visits, "label": Y})
    frame.to_csv(folder / "labels.csv", index=False)
    with pytest.raises(ValueError, match=r"not certain .*: 'visits' names 3 of 12; say which"):
        read_dataset(folder)
    pandas.DataFrame({"slide": ORDER[:9], "label": Y[ORDER[:9]]}).to_csv(
        folder / "labels.csv", index=False
    )
    with pytest.raises(ValueError, match="'slide' names 9 of 12; say which with 'by'"):
        read_dataset(folder)
    data = read_dataset(folder, by="slide")
    assert data.labelled.sum() == 9
    assert data.with_labels().labels.tolist() == expected(data.with_labels())
    assert "9 of 12 sequences have a label" in data.label_summary


def test_columns_that_say_different_things_are_refused(folder):
    frame = pandas.DataFrame({"first": np.arange(N), "second": ORDER, "label": Y})
    frame.to_csv(folder / "labels.csv", index=False)
    with pytest.raises(ValueError, match="'first' names 12 of 12, 'second' names 12 of 12; say"):
        read_dataset(folder)
    data = read_dataset(folder, by="first")
    assert data.labels.tolist() == expected(data)
    frame["second"] = [f"{i}.npy" for i in range(N)]  # the same thing
    frame.to_csv(folder / "labels.csv", index=False)
    data = read_dataset(folder)
    assert data.labels.tolist() == expected(data)


def test_the_only_column_with_exactly_the_names_is_found(tmp_path):
    np.savez(tmp_path / "x.npz", **TOKENS)
    table = tmp_path / "t.csv"
    table.write_text("probe,site,label\na,p,0\nb,q,1\nc,p,1\n")
    data = read_dataset(tmp_path / "x.npz", labels=table)
    assert dict(zip(data.ids, data.labels, strict=True)) == {"a": 0, "b": 1, "c": 1}
    table.write_text("probe,site,label\na,p,0\nb,q,1\nc,p,1\nd,p,1\n")  # one more: not exactly
    with pytest.raises(ValueError, match="'probe' names 3 of 3; say which with 'by'"):
        read_dataset(tmp_path / "x.npz", labels=table)


def test_positions_are_no_names(tmp_path):
    """An array has no names: a column of numbers may mean anything."""
    np.savez(tmp_path / "x.npz", X=np.ones((3, 2, 2)))
    table = tmp_path / "t.csv"
    table.write_text("rank,label\n2,0\n0,1\n1,1\n")
    with pytest.raises(ValueError, match="'rank' names 3 of 3; say which with 'by'"):
        read_dataset(tmp_path / "x.npz", labels=table)
    assert read_dataset(tmp_path / "x.npz", "rank", labels=table).labels.tolist() == [1, 1, 0]
    table.write_text("bag,label\n2,0\n0,1\n1,1\n")
    assert read_dataset(tmp_path / "x.npz", labels=table).labels.tolist() == [1, 1, 0]


def test_what_is_cut_off_names_of_files(tmp_path):
    """Folders, also those of Windows, and endings; a version is part of the name."""
    np.savez(tmp_path / "x.npz", **{"v1": np.ones((2, 3)), "v2": np.ones((2, 3))})
    table = tmp_path / "t.csv"
    for one in (r"C:\scans\{}.svs", "scans/{}.h5", "{}.tiff"):
        table.write_text(f"slide,label\n{one.format('v1')},0\n{one.format('v2')},1\n")
        assert read_dataset(tmp_path / "x.npz", labels=table).labels.tolist() == [0, 1]
    table.write_text("slide,label\nv1.2,0\nv2.2,1\n")
    with pytest.raises(ValueError, match="names none of the sequences"):
        read_dataset(tmp_path / "x.npz", labels=table)


def test_names_that_are_not_unique_get_no_labels(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.ones((3, 2, 2)), ids=["a", "a", "b"])
    (tmp_path / "t.csv").write_text("id,label\na,0\nb,1\n")
    with pytest.raises(ValueError, match=r"sequences of .*x.npz have the same name"):
        read_dataset(tmp_path / "x.npz", "id", labels=tmp_path / "t.csv")


def test_two_tables_of_labels_are_refused(folder):
    for name in ("labels.csv", "labels.parquet"):
        (folder / name).touch()
    with pytest.raises(ValueError, match=r"holds labels.csv and labels.parquet; say which with 'l"):
        read_dataset(folder)


def test_labels_beside_an_archive(tmp_path, labels):
    path = tmp_path / "bags.npz"
    np.savez(path, **TOKENS)
    same(read_dataset(path, labels=labels), "bac", ["ill", "well", None])


def test_a_label_that_is_no_number_is_missing(tmp_path):
    """Parquet has NaN where a CSV file has an empty cell."""
    np.savez(tmp_path / "bags.npz", **TOKENS)
    columns = {"slide": list("bac"), "label": [1.0, np.nan, 0.0], "age": [np.nan, 1.0, 2.0]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "labels.parquet")
    data = read_dataset(tmp_path / "bags.npz", labels=tmp_path / "labels.parquet")
    assert data.labels.tolist() == [1, None, 0]


def test_the_tables_of_clam(tmp_path):
    folder = tmp_path / "h5_files"
    for slide, tokens in SLIDES.items():
        write_h5(folder / f"{slide}.h5", features=tokens)
    table = tmp_path / "dataset.csv"
    table.write_text("case_id,slide_id,tumour,age\np,s0.svs,yes,1\np,s1.svs,no,2\nq,s2.svs,yes,3\n")
    data = read_dataset(folder, label="tumour", labels=table, group="case_id")
    assert (data.labels.tolist(), data.groups.tolist()) == (["yes", "no", "yes"], ["p", "p", "q"])
    with pytest.raises(ValueError, match=r"with 'label', one of case_id, tumour, age$"):
        read_dataset(folder, labels=table)
    with pytest.raises(
        ValueError, match=r"h5_files has no labels: name a table of labels with 'la"
    ):
        read_dataset(folder).with_labels()
    with pytest.raises(
        ValueError, match=r"names none .* has 'p' in 'case_id', .* 's0'; .* 'by' which"
    ):
        read_dataset(folder, "case_id", "tumour", labels=table)
