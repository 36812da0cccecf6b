"""Files become datasets with the values that stand in them."""

import gzip
import io

import polars as pl
import pytest

from lattree import DataError, Dataset, ParameterError, read_csv, read_ipc, read_parquet

TEXT = "id,code,size,when,y\n1,007,2.5,2020-01-01,a\n2,?,,2020-01-02,b\n3,010,4,,a\n"


@pytest.fixture
def csv(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


def kinds(data):
    return {feature.name: feature.number or feature.kind for feature in data.schema.features}


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz", "odd [1]*?.csv", "ünïcode.csv"])
def test_csv(csv, name):
    data = read_csv(csv(TEXT, name), "y")
    assert kinds(data) == {"id": "integer", "code": "integer", "size": "float", "when": "date"}
    frame = data.to_polars()
    assert frame["code"].to_list() == [7, None, 10]
    assert frame["size"].to_list() == [2.5, None, 4.0]
    assert frame["y"].to_list() == ["a", "b", "a"]


@pytest.mark.parametrize("name", ["table.tsv", "table.tsv.gz", "table.TAB"])
def test_tsv(csv, name):
    assert kinds(read_csv(csv(TEXT.replace(",", "\t"), name), "y"))["when"] == "date"
    assert kinds(read_csv(str(csv(TEXT.replace(",", ";"))), "y", separator=";"))["when"] == "date"


@pytest.mark.parametrize("options", [{"nominal": ["code"]}, {"nominal": "code"}, {"ordinal": {"code": ["010", "007"]}}])
def test_levels_keep_their_text(csv, options):
    data = read_csv(csv(TEXT), "y", **options)
    assert set(data.schema.features[1].levels) == {"007", "010"}
    assert data.to_polars()["code"].to_list() == ["007", None, "010"]


def test_ordinal_without_levels_is_sorted_by_value(csv):
    assert read_csv(csv("x,y\n10,a\n9,b\n"), "y", ordinal=["x"]).schema.features[0].levels == ["9", "10"]


def test_target_that_looks_like_numbers(csv):
    text = "x,y\n1,007\n2,010\n"
    assert read_csv(csv(text), "y").schema.classes == [7, 10]
    assert read_csv(csv(text), "y", nominal=["y"]).schema.classes == ["007", "010"]


def test_missing_values(csv):
    data = read_csv(csv("x,y\nNA,a\n-1,b\n?,a\n"), "y", null_values=["NA", "-1"])
    assert data.to_polars()["x"].to_list() == [None, None, "?"]


def test_dtypes_come_from_the_whole_file(csv):
    text = "x,y\n" + "1,a\n" * 5000 + "2.5,b\n"
    assert read_csv(csv(text), "y").to_polars()["x"][-1] == 2.5


def test_options_reach_the_dataset(csv):
    data = read_csv(csv("a,b,c,y\n1,2,3,p\n4,5,6,q\n"), "y", drop="a", counts="b", weight="c")
    assert data.schema.feature_names == []
    assert data.to_polars().to_dict(as_series=False) == {"y": ["p", "q"], "counts": [2, 5], "weight": [3.0, 6.0]}
    again = read_csv(csv("a,b,c\n1,2,3\n"), like=read_csv(csv("a,b,c,y\n1,2,3,p\n4,5,6,q\n", "b.csv"), "y"))
    assert again.schema.feature_names == ["a", "b", "c"]


@pytest.mark.parametrize("read", [read_csv, read_parquet, read_ipc])
def test_files_that_are_not_there(tmp_path, read):
    with pytest.raises(FileNotFoundError, match="none"):
        read(tmp_path / "none", "y")
    with pytest.raises(IsADirectoryError):
        read(tmp_path, "y")


@pytest.mark.parametrize("read", [read_csv, read_parquet, read_ipc])
def test_empty_and_damaged_files(csv, read):
    with pytest.raises(DataError, match="is empty; expected a"):
        read(csv(""), "y")
    if read is not read_csv:
        with pytest.raises(DataError, match="cannot be read as"):
            read(csv(TEXT), "y")


def test_csv_errors(csv):
    with pytest.raises(DataError, match="cannot be read as CSV"):
        read_csv(csv("a,b\n1,2,3\n"), "b")
    with pytest.raises(DataError, match='two columns are named "a"'):
        read_csv(csv("a,a\n1,2\n"), "a")
    with pytest.raises(DataError, match='which is no column; the columns are "a", "b"'):
        read_csv(csv("a,b\n1,2\n"), "class")
    with pytest.raises(DataError, match='the target "b" is missing at row 1'):
        read_csv(csv("a,b\n1,2\n3,\n"), "b")
    path = csv("")
    path.write_bytes(b"a,b\n\xe9,1\n")
    with pytest.raises(DataError, match="cannot be read as CSV"):
        read_csv(path, "b")


def test_header_only(csv):
    assert read_csv(csv("a,b\n"), "b").n_rows == 0


def test_parquet_and_ipc_keep_dtypes(tmp_path):
    frame = pl.DataFrame(
        {
            "e": pl.Series(["lo", "hi", None], dtype=pl.Enum(["lo", "hi"])),
            "c": pl.Series(["x", None, "y"], dtype=pl.Categorical),
            "n": [1, None, 3],
            "y": ["a", "b", "a"],
        }
    )
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")
    frame.write_ipc(tmp_path / "z.arrow", compression="zstd")
    for data in (
        read_parquet(tmp_path / "t.parquet", "y"),
        read_ipc(tmp_path / "t.arrow", "y"),
        read_ipc(str(tmp_path / "z.arrow"), "y"),
    ):
        assert isinstance(data, Dataset)
        assert kinds(data) == {"e": "ordinal", "c": "nominal", "n": "integer"}
        assert data.to_polars().equals(frame, null_equal=True)


def test_dates_that_could_be_read_in_two_ways_stay_text(csv):
    text = "a,b,c,y\n01/02/2020,2020/02/01,2020-02-01 10:00,x\n03/04/2021,2021/04/03,2021-04-03 11:30,z\n"
    assert kinds(read_csv(csv(text), "y")) == {"a": "nominal", "b": "datetime_us", "c": "datetime_us"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n\n"])
def test_blank_lines_at_the_end_are_no_rows(csv, end):
    assert len(read_csv(csv("a,y\n1,x\n,z\n" + end), "y")) == 2
    assert len(read_csv(csv("a\n1\n\n" + end))) == 2 + end.count("\n")  # missing cells of the one column there is


@pytest.mark.parametrize("name", ["nominal", "ordinal", "drop", "null_values"])
def test_options_of_a_wrong_type_are_named(csv, name):
    with pytest.raises(TypeError, match=f"`{name}` must be a text or a list of texts, got int"):
        read_csv(csv(TEXT), "y", **{name: 3})


@pytest.mark.parametrize("reader", [read_csv, read_parquet, read_ipc])
def test_what_is_no_path_is_told_who_reads_it(reader):
    words = rf"polars reads it: Dataset\(polars\.{reader.__name__}\("
    with pytest.raises(ParameterError, match=f"got the address 'https://example.org/x.csv'; {words}"):
        reader("https://example.org/x.csv", "y")
    with pytest.raises(TypeError, match=f"got BytesIO; {words}"):
        reader(io.BytesIO(b"a,y\n1,2\n"), "y")
