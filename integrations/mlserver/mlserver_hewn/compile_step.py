# SPDX-License-Identifier: Apache-2.0
"""hewn-compile-step: compiles a model in a pipeline (Kubeflow, Argo) and writes a folder to serve and a report.

If MLflow is installed and MLFLOW_TRACKING_URI is set, logs the options, metrics and the folder
there. Does not need MLServer.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import pathlib
import sys
import time
import warnings
from typing import Any

import hewn

from . import artifacts

SETTINGS = "model-settings.json"


def _tensors(found: list[hewn.Tensor]) -> list[dict[str, Any]]:
    return [
        {"name": t.name, "type": str(t.dtype), "shape": list(t.shape) if t.shape is not None else None} for t in found
    ]


def compile_model(model: pathlib.Path, folder: pathlib.Path, name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Compiles `model` to folder/model.so and writes MLServer's settings into `folder`.

    Returns a report with the model, options, inputs, outputs, file sizes and compile time. Raises
    hewn.CompileError if the model can't be compiled and ValueError for invalid options.
    """
    folder.mkdir(parents=True, exist_ok=True)
    options = {"target": "portable"} | options
    checked = artifacts.compile_options(options)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        module = hewn.compile(os.fspath(model), output=folder / artifacts.LIBRARY, **checked)
    seconds = time.perf_counter() - start
    with module:
        report = {
            "name": name,
            "hewn": hewn.__version__,
            "model": {"file": model.name, "sha256": hashlib.sha256(model.read_bytes()).hexdigest()},
            "options": options,
            "seconds": seconds,
            "variants": module.variants,
            "inputs": _tensors(module.inputs),
            "outputs": _tensors(module.outputs),
            "files": {file.name: file.stat().st_size for file in sorted(folder.iterdir()) if file.name != SETTINGS},
            "warnings": [str(warning.message) for warning in told],
            "quantization": module.report,
        }
    settings = {
        "name": name,
        "implementation": "mlserver_hewn.HewnModel",
        "parameters": {"uri": f"./{artifacts.LIBRARY}"},
    }
    (folder / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n")
    return report


def log_to_mlflow(report: dict[str, Any], folder: pathlib.Path) -> bool:
    """Logs a report and its folder as an MLflow run.

    Returns False, without logging, if MLflow is not installed or MLFLOW_TRACKING_URI is not set.
    """
    if not os.environ.get("MLFLOW_TRACKING_URI") or importlib.util.find_spec("mlflow") is None:
        return False
    import mlflow

    with mlflow.start_run(run_name=f"hewn compile {report['name']}"):
        mlflow.log_params({key: json.dumps(value) for key, value in report["options"].items()})
        mlflow.set_tags({"hewn.version": report["hewn"], "hewn.model": report["model"]["sha256"]})
        mlflow.log_metrics({"compile_seconds": report["seconds"], "artifact_bytes": sum(report["files"].values())})
        mlflow.log_dict(report, "report.json")
        mlflow.log_artifacts(os.fspath(folder), "model")
    return True


def _write(report: dict[str, Any], path: pathlib.Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    parser = argparse.ArgumentParser(prog="hewn-compile-step", description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--model", type=pathlib.Path, required=True, help="ONNX model")
    parser.add_argument(
        "--output-dir",
        type=pathlib.Path,
        required=True,
        help="output folder to serve: model.so, its weights and settings",
    )
    parser.add_argument("--report", type=pathlib.Path, required=True, help="output file for the report (JSON)")
    parser.add_argument("--name", default="model", help="name of the served model")
    parser.add_argument(
        "--options",
        default="{}",
        help=f"JSON object with {', '.join(artifacts.COMPILE_OPTIONS)}; the default target is portable",
    )
    given = parser.parse_args(arguments)
    try:
        options = json.loads(given.options)
        if not isinstance(options, dict):
            raise ValueError("--options must be a JSON object")
        report = compile_model(given.model, given.output_dir, given.name, options)
        report["logged_to_mlflow"] = False
        _write(report, given.report)
    except (hewn.CompileError, ValueError, TypeError, OSError) as problem:
        print(f"hewn-compile-step: {problem}", file=sys.stderr)
        return 1
    try:
        report["logged_to_mlflow"] = log_to_mlflow(report, given.output_dir)
        _write(report, given.report)
    except (
        Exception
    ) as problem:  # MLflow and its storage clients raise many types; the model and the report are already written
        print(f"hewn-compile-step: the model was compiled, but not logged to MLflow: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
