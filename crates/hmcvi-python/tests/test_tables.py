"""Tables go in and come out: columns have names, rows keep their labels, and what is no number is named."""

import hmcvi
import numpy as np
import pytest
from test_autoencoders import COUNTS, SMALL

TINY = {**SMALL, "epochs": 1, "hidden": (4,)}
REAL = {**TINY, "likelihood": "gaussian", "kind": "real"}
ROWS = np.random.default_rng(5).normal(size=(60, 3))


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas")


def test_columns_that_are_no_numbers_are_named(pandas):
    table = pandas.DataFrame(ROWS.copy(), columns=list("abc"))
    table["kind"] = pandas.Categorical(["x", "y"] * 30)
    table["city"], table["day"] = "here", pandas.date_range("2020-01-01", periods=60)
    with pytest.raises(hmcvi.DataError) as raised:
        hmcvi.VAE(**REAL).fit(table)
    # Text and times have other types since pandas 3.
    said = str(raised.value).replace("(str)", "(object)").replace("[us]", "[ns]")
    assert "`kind` (categories), `city` (object), `day` (datetime64[ns])" in said
    assert raised.value.variable == "kind" and "OneHotEncoder" in str(raised.value)


def test_columns_with_missing_values_are_named(pandas):
    table = pandas.DataFrame(ROWS.copy(), columns=list("abc"))
    table.loc[[3, 5], "b"] = np.nan
    table["n"] = pandas.array([None, *range(59)], dtype="Int64")
    with pytest.raises(hmcvi.DataError) as raised:
        hmcvi.VAE(**REAL).fit(table)
    assert "`b` (2 of 60 rows), `n` (1 of 60 rows); fill them in" in str(raised.value) and raised.value.variable == "b"


def test_types_of_pandas_are_numbers(pandas):
    plain = pandas.DataFrame({"a": COUNTS[:, 0], "b": COUNTS[:, 1] > 2, "c": COUNTS[:, 2]})
    own = plain.astype({"a": "Int64", "b": "boolean", "c": "object"})
    z = hmcvi.VAE(**REAL).fit_transform(plain)
    np.testing.assert_array_equal(hmcvi.VAE(**REAL).fit_transform(own), z)
    counts = plain[["a", "c"]].astype("Int64")
    assert hmcvi.VAE(**TINY).fit(counts)._network.likelihood == "negative-binomial"


def test_output_is_what_was_asked_for(pandas):
    table = pandas.DataFrame(ROWS.copy(), columns=list("abc"), index=range(100, 160))
    vae = hmcvi.VAE(**REAL).fit(table)
    z = vae.transform(table)
    assert isinstance(z, np.ndarray) and vae.get_feature_names_out().tolist() == ["vae0", "vae1"]
    assert vae.get_feature_names_out(list("abc")).tolist() == ["vae0", "vae1"]
    out = vae.set_output(transform="pandas").transform(table)
    assert out.columns.tolist() == ["vae0", "vae1"] and out.index.equals(table.index)
    np.testing.assert_array_equal(out.to_numpy(), z)
    assert isinstance(vae.set_output().transform(table), pandas.DataFrame)
    assert isinstance(vae.set_output(transform="default").transform(table), np.ndarray)
    for wrong, said in [
        (lambda: vae.set_output(transform="excel"), 'must be one of "default", "pandas", "polars"'),
        (lambda: vae.get_feature_names_out(["a"]), "input_features"),
        (lambda: vae.set_params(latent=4, latents=3), "there is no parameter `latents`; there are latent, "),
    ]:
        with pytest.raises(ValueError) as raised:
            wrong()
        assert said in str(raised.value)
    assert vae.latent == 2


def test_tables_of_polars():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(ROWS, schema=list("abc"), orient="row")
    out = hmcvi.VAE(**REAL).set_output(transform="polars").fit_transform(table)
    assert isinstance(out, polars.DataFrame) and out.columns == ["vae0", "vae1"]


def test_pipelines_pass_tables_on(pandas):
    compose, preprocessing = pytest.importorskip("sklearn.compose"), pytest.importorskip("sklearn.preprocessing")
    pipeline, search = pytest.importorskip("sklearn.pipeline"), pytest.importorskip("sklearn.model_selection")
    base, linear = pytest.importorskip("sklearn.base"), pytest.importorskip("sklearn.linear_model")
    table = pandas.DataFrame(ROWS.copy(), columns=list("abc")).assign(kind=["x", "y"] * 30)
    columns = compose.make_column_transformer(
        (preprocessing.StandardScaler(), list("abc")), (preprocessing.OneHotEncoder(sparse_output=False), ["kind"])
    )
    whole = pipeline.make_pipeline(columns, hmcvi.VAE(**REAL)).set_output(transform="pandas")
    out = whole.fit_transform(table)
    assert isinstance(out, pandas.DataFrame) and out.index.equals(table.index)
    assert whole.get_feature_names_out().tolist() == ["vae0", "vae1"]
    assert base.clone(whole)[-1]._sklearn_output_config == {"transform": "pandas"}
    with pytest.importorskip("sklearn").config_context(transform_output="pandas"):
        assert isinstance(hmcvi.VAE(**REAL).fit_transform(table[["a", "b"]]), pandas.DataFrame)
    classes = pipeline.Pipeline([("vae", hmcvi.VAE(**REAL)), ("classes", linear.LogisticRegression())])
    found = search.GridSearchCV(classes, {"vae__latent": [1, 2]}, cv=2).fit(ROWS, ROWS[:, 0] > 0)
    assert found.best_params_["vae__latent"] in (1, 2)


class Annotated:
    """Annotated data, as far as they matter here."""

    def __init__(self, rows, names, columns="abcdefghijkl"):
        self.X, self.obs_names, self.var_names = rows, names, list(columns)


def test_annotated_data_have_counts_in_single_precision(pandas):
    sparse = pytest.importorskip("scipy.sparse")
    rows, names = sparse.csr_matrix(COUNTS.astype(np.float32)), [f"cell {at}" for at in range(len(COUNTS))]
    for given, likelihood in [
        (Annotated(rows, names), "negative-binomial"),
        (Annotated(rows.toarray(), names), "negative-binomial"),
        (Annotated(rows * np.float32(0.5), names), "gaussian"),
        (rows, "negative-binomial"),
        (rows.toarray(), "gaussian"),
    ]:
        vae = hmcvi.VAE(**TINY).set_output(transform="pandas").fit(given)
        assert vae._network.likelihood == likelihood
    assert vae.transform(Annotated(rows, names)).index.tolist() == names
    with pytest.raises(hmcvi.DataError, match="the annotated data have no `X`"):
        hmcvi.VAE(**TINY).fit(Annotated(None, names))

    class Kept:
        """Rows that are still in their file."""

        def to_memory(self):
            return rows

    np.testing.assert_array_equal(vae.transform(Annotated(Kept(), names)), vae.transform(Annotated(rows, names)))


def test_columns_of_annotated_data_are_those_of_the_training():
    names = [str(at) for at in range(len(COUNTS))]
    vae = hmcvi.VAE(**TINY).fit(Annotated(COUNTS, names))
    assert vae.var_names_in_ == list("abcdefghijkl")
    for columns, said in [("badcefghijkl", "have another order"), ("abcdefghijxy", "have no `k`, `l`, unlike")]:
        with pytest.raises(hmcvi.DataError) as raised:
            vae.transform(Annotated(COUNTS, names, columns))
        assert said in str(raised.value) and "`data[:, vae.var_names_in_]`" in str(raised.value)
    np.testing.assert_array_equal(vae.transform(COUNTS), vae.transform(Annotated(COUNTS, names)))
    assert vae.fit(COUNTS).var_names_in_ is None


def test_summaries_are_tables(pandas, quick_fit):
    table = quick_fit.summary().to_pandas()
    assert table.loc["theta[3]", "mean"] == quick_fit.summary()["theta[3]"].mean and len(table) == 18
    compared = hmcvi.compare({"a": quick_fit, "b": quick_fit}).to_pandas()
    assert compared.loc["a", "log_evidence"] == quick_fit.weights.log_evidence and compared.shape == (2, 6)
    with pytest.raises(KeyError, match=r"there is no number `theta`; there are .*theta\[1\]"):
        quick_fit.summary()["theta"]
