# SPDX-License-Identifier: Apache-2.0
"""Configures lit for this folder. test/CMakeLists.txt passes the parameters."""

import os
import pathlib

import lit.formats

config.name = "hewn"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir", ".test", ".onnxtxt"]
# Folders without lit tests, and Inputs folders, which contain models and images that tests read.
config.excludes = ["Inputs", "Runtime", "Python", "Numeric", "Benchmark"]
config.test_source_root = str(pathlib.Path(__file__).parent)
config.test_exec_root = lit_config.params["out"]

config.environment["PATH"] = os.pathsep.join([lit_config.params["bin"], lit_config.params["llvm"], os.environ["PATH"]])
config.environment["PYTHONPATH"] = lit_config.params["package"]
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
# A cache of its own: no kernel may come from the cache that another run filled.
config.environment["XDG_CACHE_HOME"] = str(pathlib.Path(lit_config.params["out"], "cache"))
config.substitutions.append(("%python", lit_config.params["python"]))
