# SPDX-License-Identifier: Apache-2.0
"""Tests the compilation of jax functions, Keras models and scikit-learn estimators, if the packages
are installed: pip install 'hewn-compiler[jax]', [keras], [sklearn]."""

import hewn
import numpy as np
import pytest


def there(package, extra):
    return pytest.importorskip(package, reason=f"{package} is not installed: pip install 'hewn-compiler[{extra}]'")


def close(got, want):
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-4, atol=1e-5)


def test_jax():
    there("jax2onnx", "jax")
    jax = there("jax", "jax")
    import jax.numpy as jnp

    w = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)

    def function(x):
        return jnp.tanh(x @ w)

    x = np.ones((2, 4), np.float32)
    for given in [(jnp.asarray(x),), jnp.asarray(x), (jax.ShapeDtypeStruct((2, 4), jnp.float32),)]:
        close(hewn.compile(function, example_inputs=given)(x), function(x))
    open_rows = hewn.compile(jax.jit(function), example_inputs=[("rows", 4)])
    for rows in (1, 5):
        many = np.ones((rows, 4), np.float32)
        close(open_rows(many), function(many))
    close(open_rows(jnp.asarray(x)), function(x))
    with pytest.raises(TypeError, match="a jax function requires example inputs"):
        hewn.compile(jax.jit(function))
    with pytest.raises(hewn.ConversionError, match=r"^jax2onnx cannot convert this function: "):
        hewn.compile(jax.jit(lambda x: jnp.linalg.svd(x)[0]), example_inputs=jnp.ones((3, 3)))


def test_flax():
    there("jax2onnx", "jax")
    nnx = there("flax.nnx", "jax")
    module = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
    x = np.ones((2, 4), np.float32)
    close(hewn.compile(module, example_inputs=[("rows", 4)])(x), module(x))


def test_scikit_learn():
    there("skl2onnx", "sklearn")
    there("sklearn", "sklearn")
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    random = np.random.default_rng(0)
    x = random.standard_normal((60, 5)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] > 0).astype(np.int64)
    line = make_pipeline(StandardScaler(), LinearRegression()).fit(x, x[:, 0] * 2 + 1)
    close(hewn.compile(line)(x).ravel(), line.predict(x))
    close(hewn.compile(line, example_inputs=x)(x[:7]).ravel(), line.predict(x[:7]))
    for forest in [
        RandomForestClassifier(5, random_state=0),
        make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)),
    ]:
        forest.fit(x, y)
        labels, probabilities = hewn.compile(forest)(x)
        assert (labels == forest.predict(x)).mean() > 0.95
        assert probabilities.shape == (60, 2)
    with pytest.raises(TypeError, match="is it fitted"):
        hewn.compile(LinearRegression())


def test_keras(monkeypatch):
    for package in ("tf2onnx", "tensorflow"):
        there(package, "keras")
    keras = there("keras", "keras")
    one = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
    first, second = keras.layers.Input((4,)), keras.layers.Input((3,))
    two = keras.Model([first, second], keras.layers.Dense(2)(keras.layers.concatenate([first, second])))
    x, z = np.ones((2, 4), np.float32), np.full((2, 3), 0.5, np.float32)
    close(hewn.compile(one)(x), one(x))
    close(hewn.compile(two)(x, z), two([x, z]))

    class Mine(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(3)

        def call(self, x):
            return self.dense(x)

    mine = Mine()
    close(hewn.compile(mine, example_inputs=x)(x), mine(x))
    with pytest.raises(hewn.ConversionError, match=r"^Keras cannot export this model: "):
        hewn.compile(Mine())
