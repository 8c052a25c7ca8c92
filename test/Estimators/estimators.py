# SPDX-License-Identifier: Apache-2.0
"""Estimators and pipelines of scikit-learn, XGBoost and LightGBM, and their default exports to ONNX.

Features are multiples of 1/64 in float32, so that the libraries (which compute in float64) and the
exported models (float32) take the same branches of trees."""

import dataclasses
import warnings
from collections.abc import Callable

import lightgbm
import numpy as np
import onnxmltools
import skl2onnx
import xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as ToolsFloats
from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm
from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost
from skl2onnx.common.data_types import DictionaryType, FloatTensorType, StringTensorType
from skl2onnx.common.shape_calculator import (
    calculate_linear_classifier_output_shapes,
    calculate_linear_regressor_output_shapes,
)
from sklearn import datasets
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier


@dataclasses.dataclass
class Exported:
    """A fitted model, its ONNX export, and inputs for both. A batch of `feeds` has all rows of
    `table`, except for a model whose input is one dict."""

    fitted: object
    onnx_model: object
    table: object
    feeds: list[dict[str, object]]


def _rounded(features: np.ndarray) -> np.ndarray:
    return (np.round(features * 64) / 64).astype(np.float32)


def _flowers() -> tuple[np.ndarray, np.ndarray]:
    x, y = datasets.load_iris(return_X_y=True)
    return _rounded(x), y


def _two() -> tuple[np.ndarray, np.ndarray]:
    x, y = datasets.make_classification(300, 8, n_informative=5, random_state=3)
    return _rounded(x), y


def _words() -> tuple[np.ndarray, np.ndarray]:
    x, y = _flowers()
    return x, np.array(["setosa", "versicolor", "virginica"], object)[y]


def _numbers() -> tuple[np.ndarray, np.ndarray]:
    x, y = datasets.make_regression(200, 6, noise=1.0, random_state=4)
    return _rounded(x), y


def _export(fitted: object, x: np.ndarray) -> object:
    """Returns the default export of skl2onnx."""
    opsets = {"": 18, "ai.onnx.ml": 3} if isinstance(fitted, IsolationForest) else None  # skl2onnx requires them
    return skl2onnx.to_onnx(fitted, x[:1], target_opset=opsets)


def _learned(make: Callable, data: Callable = _flowers) -> Callable[[], Exported]:
    """An estimator of scikit-learn, or a pipeline, on a table of floats."""

    def build() -> Exported:
        x, y = data()
        fitted = make().fit(x, y)
        return Exported(fitted, _export(fitted, x), x, [{"X": x}])

    return build


def _columns() -> Exported:
    """A pipeline that scales some columns and encodes another one."""
    x, y = _two()
    x[:, 3] = np.arange(len(x)) % 4
    steps = ColumnTransformer([("numbers", StandardScaler(), [0, 1, 2]), ("codes", OneHotEncoder(), [3])])
    fitted = make_pipeline(steps, GradientBoostingClassifier(n_estimators=20, random_state=0)).fit(x, y)
    return Exported(fitted, _export(fitted, x), x, [{"X": x}])


def _categories() -> Exported:
    """A pipeline on columns of strings."""
    x = np.array([[("red", "green", "blue")[i % 3], ("s", "m", "l", "xl")[i * i % 4]] for i in range(60)], object)
    y = np.array([("no", "yes")[i % 3 == 0 or i * i % 4 == 1] for i in range(60)], object)
    fitted = make_pipeline(OneHotEncoder(), RandomForestClassifier(20, random_state=0)).fit(x, y)
    model = skl2onnx.convert_sklearn(fitted, initial_types=[("X", StringTensorType([None, 2]))])
    return Exported(fitted, model, x, [{"X": x}])


def _dicts() -> Exported:
    """A pipeline on dicts: the model's input is one map."""
    kinds = ["city", "height", "year"]
    rows = [{kinds[j]: float((i * (j + 2)) % 7) for j in range(3) if (i + j) % 3} for i in range(40)]
    y = np.array([sum(row.values()) > 5 for row in rows]).astype(np.int64)
    fitted = make_pipeline(DictVectorizer(sparse=False, dtype=np.float32), LogisticRegression()).fit(rows, y)
    types = [("X", DictionaryType(StringTensorType([1]), FloatTensorType([1])))]
    model = skl2onnx.convert_sklearn(fitted, initial_types=types)
    return Exported(fitted, model, rows, [{"X": row} for row in rows])


_OPTIONS = {"nocl": [True, False], "zipmap": [True, False, "columns"]}


def _register() -> None:
    """Registers onnxmltools' converters, so that skl2onnx exports pipelines with these models."""
    classifier, regressor = calculate_linear_classifier_output_shapes, calculate_linear_regressor_output_shapes
    update = skl2onnx.update_registered_converter
    update(xgboost.XGBClassifier, "XGBClassifier", classifier, convert_xgboost, options=_OPTIONS)
    update(xgboost.XGBRegressor, "XGBRegressor", regressor, convert_xgboost)
    update(lightgbm.LGBMClassifier, "LGBMClassifier", classifier, convert_lightgbm, options=_OPTIONS)


def _boosted(make: Callable, data: Callable) -> Callable[[], Exported]:
    """A model of XGBoost or LightGBM, exported by onnxmltools."""

    def build() -> Exported:
        x, y = data()
        fitted = make().fit(x, y)
        of_xgboost = type(fitted).__module__.startswith("xgboost")
        convert = onnxmltools.convert_xgboost if of_xgboost else onnxmltools.convert_lightgbm
        model = convert(fitted, initial_types=[("X", ToolsFloats([None, x.shape[1]]))])
        return Exported(fitted, model, x, [{"X": x}])

    return build


def _in_pipeline(make: Callable, data: Callable) -> Callable[[], Exported]:
    """A pipeline that ends with a model of XGBoost or LightGBM, exported by skl2onnx."""

    def build() -> Exported:
        _register()
        x, y = data()
        fitted = make_pipeline(SelectKBest(k=3), make()).fit(x, y)
        model = skl2onnx.to_onnx(fitted, x[:1], target_opset={"": 18, "ai.onnx.ml": 3})
        return Exported(fitted, model, x, [{"X": x}])

    return build


def _xgb(kind: str, **options: object) -> Callable:
    return lambda: getattr(xgboost, kind)(n_estimators=20, random_state=0, n_jobs=1, **options)


def _lgbm(kind: str, **options: object) -> Callable:
    return lambda: getattr(lightgbm, kind)(n_estimators=20, random_state=0, n_jobs=1, verbose=-1, **options)


def _trees() -> list[tuple[str, object]]:
    return [("tree", DecisionTreeClassifier(max_depth=4, random_state=0)), ("bayes", GaussianNB())]


# The short form of the comparison, which CI runs, has the cases of this set.
SHORT = {
    "LogisticRegression, 3 classes",
    "RandomForestClassifier, names of classes",
    "GradientBoostingClassifier",
    "DictVectorizer, LogisticRegression",
    "OneHotEncoder, RandomForestClassifier",
    "SVC, 3 classes",
    "XGBClassifier, 3 classes",
    "LGBMClassifier, 2 classes",
    "SelectKBest, LGBMClassifier",
}

ESTIMATORS: dict[str, Callable[[], Exported]] = {
    "LogisticRegression, 2 classes": _learned(lambda: LogisticRegression(max_iter=500), _two),
    "LogisticRegression, 3 classes": _learned(lambda: LogisticRegression(max_iter=500)),
    "LogisticRegression, names of classes": _learned(lambda: LogisticRegression(max_iter=500), _words),
    "StandardScaler, SGDClassifier": _learned(
        lambda: make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0))
    ),
    "DecisionTreeClassifier": _learned(lambda: DecisionTreeClassifier(random_state=0)),
    "RandomForestClassifier": _learned(lambda: RandomForestClassifier(20, random_state=0)),
    "RandomForestClassifier, names of classes": _learned(lambda: RandomForestClassifier(20, random_state=0), _words),
    "ExtraTreesClassifier": _learned(lambda: ExtraTreesClassifier(20, random_state=0), _two),
    "GradientBoostingClassifier": _learned(lambda: GradientBoostingClassifier(n_estimators=20, random_state=0)),
    "AdaBoostClassifier": _learned(lambda: AdaBoostClassifier(n_estimators=10, random_state=0)),
    "BaggingClassifier": _learned(lambda: BaggingClassifier(n_estimators=5, random_state=0)),
    "KNeighborsClassifier": _learned(lambda: KNeighborsClassifier(3)),
    "SVC, 2 classes": _learned(lambda: SVC(probability=True, random_state=0), _two),
    "SVC, 3 classes": _learned(lambda: SVC(probability=True, random_state=0)),
    "GaussianNB": _learned(GaussianNB),
    "BernoulliNB": _learned(BernoulliNB, _two),
    "MLPClassifier": _learned(lambda: MLPClassifier((16,), max_iter=300, random_state=0)),
    "LinearDiscriminantAnalysis": _learned(LinearDiscriminantAnalysis),
    "QuadraticDiscriminantAnalysis": _learned(QuadraticDiscriminantAnalysis),
    "VotingClassifier": _learned(lambda: VotingClassifier(_trees(), voting="soft", flatten_transform=False)),
    "StackingClassifier": _learned(lambda: StackingClassifier(_trees(), LogisticRegression())),
    "CalibratedClassifierCV": _learned(lambda: CalibratedClassifierCV(GaussianNB(), cv=2), _two),
    "OneVsRestClassifier": _learned(lambda: OneVsRestClassifier(LogisticRegression())),
    "IsolationForest": _learned(lambda: IsolationForest(n_estimators=20, random_state=0)),
    "KMeans": _learned(lambda: KMeans(3, n_init=2, random_state=0)),
    "PCA, SVR": _learned(lambda: make_pipeline(PCA(3), SVR()), _numbers),
    "Ridge": _learned(Ridge, _numbers),
    "RandomForestRegressor": _learned(lambda: RandomForestRegressor(20, random_state=0), _numbers),
    "GradientBoostingRegressor": _learned(lambda: GradientBoostingRegressor(random_state=0), _numbers),
    "StandardScaler, LogisticRegression": _learned(lambda: make_pipeline(StandardScaler(), LogisticRegression())),
    "ColumnTransformer, GradientBoostingClassifier": _columns,
    "OneHotEncoder, RandomForestClassifier": _categories,
    "DictVectorizer, LogisticRegression": _dicts,
    "XGBClassifier, 2 classes": _boosted(_xgb("XGBClassifier"), _two),
    "XGBClassifier, 3 classes": _boosted(_xgb("XGBClassifier"), _flowers),
    "XGBRegressor": _boosted(_xgb("XGBRegressor"), _numbers),
    "XGBRFClassifier": _boosted(_xgb("XGBRFClassifier"), _two),
    "SelectKBest, XGBClassifier": _in_pipeline(_xgb("XGBClassifier"), _flowers),
    "LGBMClassifier, 2 classes": _boosted(_lgbm("LGBMClassifier"), _two),
    "LGBMClassifier, 3 classes": _boosted(_lgbm("LGBMClassifier"), _flowers),
    "LGBMRegressor": _boosted(_lgbm("LGBMRegressor"), _numbers),
    "SelectKBest, LGBMClassifier": _in_pipeline(_lgbm("LGBMClassifier"), _flowers),
}


def build(name: str) -> Exported:
    """Fits and exports an estimator. Warnings of the libraries about the small data are ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ESTIMATORS[name]()
