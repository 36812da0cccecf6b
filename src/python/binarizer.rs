//! `Binarizer`.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::argument::name_of;
use super::data::PyDataset;
use super::keywords::{Keywords, NewArguments, new_arguments, repr};
use super::offered::PyOfferedTests;
use super::run::interruptible;
use crate::budget::{Budget, Stop};
use crate::data::{Binarizer, MissingTests, Nominal, Thresholds, list_tests};
use crate::error::Error;
use crate::tree::Test;

const THRESHOLDS: [(&str, Thresholds); 5] = [
    ("auto", Thresholds::Auto),
    ("all", Thresholds::All),
    ("exact", Thresholds::All), // a synonym, which reads back as the first
    ("quantile", Thresholds::Quantile),
    ("mdlp", Thresholds::Mdlp),
];
const NOMINAL: [(&str, Nominal); 2] = [("one_vs_rest", Nominal::OneVsRest), ("subsets", Nominal::Subsets)];
const MISSING: [(&str, MissingTests); 2] = [("own_test", MissingTests::Own), ("fails", MissingTests::None)];
const KEYWORDS: [&str; 5] = ["thresholds", "max_tests", "max_thresholds", "nominal", "missing"];

/// Which 0/1 tests a table offers to an exact search. *Optimal* always means: over the tests offered.
///
/// Parameters
/// ----------
/// thresholds : {"auto", "all", "exact", "quantile", "mdlp"}, default="auto"
///     Where ordered columns are cut. "all", or "exact", which reads back as "all": between all neighbouring values.
///     "quantile": at quantiles. "mdlp": where the minimum description length principle says (Fayyad and Irani, IJCAI
///     1993); needs classes. "auto": as "all" in a search, except where that leaves it no hope: then quantiles, and the
///     result says so (see `engine` of :class:`OptimalTreeSearch`). Where there is no search, in :meth:`tests`, and
///     under ``engine="tests"``: all, while the table has at most `max_tests` tests, else quantiles.
/// max_tests : int, default=1000
///     How many tests quantiles make, without `max_thresholds`; and the number up to which "auto" lists all cuts.
///     It bounds thresholds only: levels and missing values always have their tests, an ordered column one cut.
/// max_thresholds : int or None, default=None
///     The most cuts of one column, under "auto" and "quantile".
/// nominal : {"one_vs_rest", "subsets"}, default="one_vs_rest"
///     ``x is level`` for each level that occurs, or ``x in levels`` for each proper subset (at most 10 levels).
/// missing : {"own_test", "fails"}, default="own_test"
///     A missing value fails every test of a value. With "own_test", columns that have missing values offer a test for
///     it; with "fails", none do. "false", the earlier word for "fails", still works, with a DeprecationWarning.
///
/// Raises
/// ------
/// ParameterError
///     A parameter is out of range.
#[pyclass(frozen, module = "lattree", name = "Binarizer", eq, hash)]
#[derive(PartialEq, Eq, Hash, Clone)]
pub struct PyBinarizer(pub(super) Binarizer);

#[pymethods]
impl PyBinarizer {
    #[new]
    #[pyo3(signature = (*positional, **keywords))]
    #[pyo3(
        text_signature = "(*, thresholds='auto', max_tests=1000, max_thresholds=None, nominal='one_vs_rest', missing='own_test')"
    )]
    fn new<'py>(positional: &Bound<'py, PyTuple>, keywords: Option<Bound<'py, PyDict>>) -> PyResult<Self> {
        let keywords = Keywords::new::<Self>(positional, keywords)?;
        let default = Binarizer::default();
        keywords.rename("missing", "false", "fails")?;
        let binarizer = Binarizer {
            thresholds: keywords.choice("thresholds", &THRESHOLDS, default.thresholds)?,
            max_tests: keywords.whole("max_tests", default.max_tests, 1, "at least 1")?,
            max_thresholds: keywords.limit("max_thresholds", 1)?,
            nominal: keywords.choice("nominal", &NOMINAL, default.nominal)?,
            missing: keywords.choice("missing", &MISSING, default.missing)?,
        };
        keywords.end()?;
        Ok(PyBinarizer(binarizer.checked()?))
    }

    #[getter]
    fn thresholds(&self) -> &'static str {
        name_of(&THRESHOLDS, &self.0.thresholds)
    }
    #[getter]
    fn max_tests(&self) -> usize {
        self.0.max_tests
    }
    #[getter]
    fn max_thresholds(&self) -> Option<usize> {
        self.0.max_thresholds
    }
    #[getter]
    fn nominal(&self) -> &'static str {
        name_of(&NOMINAL, &self.0.nominal)
    }
    #[getter]
    fn missing(&self) -> &'static str {
        name_of(&MISSING, &self.0.missing)
    }

    /// The tests a table offers, in the words of its columns: in column-then-cut order, without constant ones and
    /// repetitions.
    ///
    /// Under "auto" they are all that there are, while those are at most `max_tests`, else cuts at quantiles: the tests
    /// of ``OptimalTreeSearch(engine="tests")``. Other engines may offer more: ``OptimalResult.tests`` has theirs.
    ///
    /// Parameters
    /// ----------
    /// data : Dataset
    ///     With a target of classes, if thresholds are "mdlp".
    ///
    /// Returns
    /// -------
    /// list of str
    ///
    /// Raises
    /// ------
    /// DataError
    ///     No row is present, a nominal column has too many levels for "subsets", or "mdlp" lacks classes.
    fn tests(&self, py: Python<'_>, data: &PyDataset) -> PyResult<Vec<String>> {
        self._offered(py, data)?.words(py, None)
    }

    /// The tests of :meth:`tests`, to be put to other tables.
    fn _offered(&self, py: Python<'_>, data: &PyDataset) -> PyResult<PyOfferedTests> {
        let data = &data.0;
        let budget = Budget::unlimited();
        let work = || list_tests(data, &self.0, &budget);
        let tests: Result<Result<Vec<Test>, Stop>, Error> = interruptible(py, &budget, work)?;
        // An interrupt has been raised by now: nothing else stops the listing.
        Ok(PyOfferedTests::new(data.schema(), tests?.unwrap_or_default()))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        repr(slf, &KEYWORDS)
    }

    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<NewArguments<'py>> {
        new_arguments(slf, &KEYWORDS)
    }
}
