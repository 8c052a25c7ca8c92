# SPDX-License-Identifier: Apache-2.0
"""Tests the compile step of a pipeline, which is called as in the templates for Argo and Kubeflow,
and the compilation by a server that loads a model."""

import json
import multiprocessing
import os
import pathlib
import runpy
import subprocess
import sys

import hewn
import numpy as np
import pytest
from conftest import ROOT
from mlserver_hewn import artifacts, compile_step

PIPELINES = ROOT / "integrations/mlserver/pipelines"


def step(models, folder):
    """Returns the command-line arguments of a compile step for one model that writes a report."""
    return ["--model", str(models("scaled")), "--output-dir", str(folder / "o"), "--report", str(folder / "r.json")]


def argo_arguments(folder, model, options):
    """Returns the arguments of the container in the Argo template, with the values that Argo
    substitutes."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: tools/requirements/docs.txt")
    template = yaml.safe_load((PIPELINES / "argo.yaml").read_text())["spec"]["templates"][0]
    assert template["container"]["command"] == ["hewn-compile-step"]
    values = {"inputs.parameters.name": "scaled", "inputs.parameters.options": json.dumps(options)}
    assert [a["name"] for a in template["inputs"]["artifacts"]] == ["model"]
    values["inputs.artifacts.model.path"] = str(model)
    for artifact in template["outputs"]["artifacts"]:
        values[f"outputs.artifacts.{artifact['name']}.path"] = str(folder) + artifact["path"]
    arguments = []
    for argument in template["container"]["args"]:
        for name, value in values.items():
            argument = argument.replace("{{" + name + "}}", value)
        assert "{{" not in argument, f"{argument}: nothing gives this"
        arguments.append(argument)
    return arguments, {name.split(".")[2]: value for name, value in values.items() if name.startswith("outputs")}


def test_argo(models, tmp_path):
    arguments, outputs = argo_arguments(tmp_path, models("scaled"), {"target": "x86-64-v3", "dims": {"batch": [1, 8]}})
    done = subprocess.run(
        [sys.executable, "-m", "mlserver_hewn.compile_step", *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(pathlib.Path(outputs["report"]).read_text())
    folder = pathlib.Path(outputs["library"])
    assert report["variants"] == ["x86-64-v3"] and report["hewn"] == hewn.__version__
    assert report["inputs"] == [{"name": "x", "type": "float32", "shape": ["batch", 4]}]
    assert report["files"] == {file.name: file.stat().st_size for file in folder.glob("model.*")}
    assert report["logged_to_mlflow"] is False and report["seconds"] > 0
    settings = json.loads((folder / "model-settings.json").read_text())
    assert settings["name"] == "scaled"
    with hewn.load(folder / settings["parameters"]["uri"]) as module:
        assert module(np.float32([[0, 1, 2, 3]])).tolist() == [[1, 4, 7, 10]]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("[]", "--options must be a JSON object"),
        ("{", "Expecting"),
        ('{"emit": "asm"}', "unknown compile options: emit; expected target, "),
        ('{"target": "abacus"}', "abacus"),
        ('{"dims": {"nobody": 1}}', "nobody"),
        ('{"dims": [1, 8]}', "dims"),
        ('{"dims": "batch=1..8"}', "dims"),
    ],
)
def test_wrong_options(models, tmp_path, capsys, options, told):
    arguments = [
        "--model",
        str(models("scaled")),
        "--output-dir",
        str(tmp_path / "o"),
        "--report",
        str(tmp_path / "r.json"),
    ]
    assert compile_step.main([*arguments, "--options", options]) == 1
    assert told in capsys.readouterr().err
    assert not (tmp_path / "r.json").exists()


def test_no_model(tmp_path, capsys):
    arguments = [
        "--model",
        str(tmp_path / "none.onnx"),
        "--output-dir",
        str(tmp_path / "o"),
        "--report",
        str(tmp_path / "r.json"),
    ]
    assert compile_step.main(arguments) == 1
    assert "none.onnx" in capsys.readouterr().err


def test_kubeflow(tmp_path):
    pytest.importorskip("kfp", reason="kfp is not installed: tools/requirements/serving.txt")
    yaml = pytest.importorskip("yaml")
    from kfp import compiler

    component = runpy.run_path(str(PIPELINES / "kubeflow.py"))["compile_component"]("mlserver-hewn:test")
    compiler.Compiler().compile(component, str(tmp_path / "component.yaml"))
    spec = yaml.safe_load((tmp_path / "component.yaml").read_text())
    container = spec["deploymentSpec"]["executors"]["exec-hewn-compile"]["container"]
    assert container["image"] == "mlserver-hewn:test" and container["command"] == ["hewn-compile-step"]
    assert set(spec["components"]["comp-hewn-compile"]["outputDefinitions"]["artifacts"]) == {"library", "report"}
    flags = [argument for argument in container["args"] if argument.startswith("--")]
    assert flags == ["--model", "--output-dir", "--report", "--name", "--options"]


def test_mlflow(models, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: tools/requirements/serving.txt")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    arguments = [
        "--model",
        str(models("scaled")),
        "--output-dir",
        str(tmp_path / "o"),
        "--report",
        str(tmp_path / "r.json"),
    ]
    assert compile_step.main([*arguments, "--options", '{"target": "host"}', "--name", "scaled"]) == 0
    assert json.loads((tmp_path / "r.json").read_text())["logged_to_mlflow"] is True
    client = mlflow.MlflowClient()
    (run,) = client.search_runs(["0"])
    assert run.info.status == "FINISHED" and run.data.params == {"target": '"host"'}
    assert run.data.metrics["artifact_bytes"] > 0 and run.data.tags["hewn.version"] == hewn.__version__
    assert "model/model.so" in [f.path for f in client.list_artifacts(run.info.run_id, "model")]


def test_mlflow_out_of_reach(models, tmp_path, monkeypatch, capsys):
    """If MLflow cannot be reached, the compile step fails with a message, but it writes the
    compiled files and the report."""

    def unreachable(report, folder):
        raise RuntimeError("no route to the tracking server")

    monkeypatch.setattr(compile_step, "log_to_mlflow", unreachable)
    assert compile_step.main(step(models, tmp_path)) == 1
    assert (
        "the model was compiled, but not logged to MLflow: no route to the tracking server" in capsys.readouterr().err
    )
    report = json.loads((tmp_path / "r.json").read_text())
    assert (
        report["logged_to_mlflow"] is False and report["files"]["model.so"] == (tmp_path / "o/model.so").stat().st_size
    )


def test_a_tracking_server_that_is_not_there(models, tmp_path, monkeypatch, capsys):
    pytest.importorskip("mlflow", reason="mlflow is not installed: tools/requirements/serving.txt")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    assert compile_step.main(step(models, tmp_path)) == 1
    assert "not logged to MLflow: " in capsys.readouterr().err
    assert json.loads((tmp_path / "r.json").read_text())["logged_to_mlflow"] is False


def _compiled(arguments):
    return str(artifacts.compiled(*arguments))


def test_all_servers_map_one_file(models, tmp_path):
    """Server processes that start concurrently and compile the same model use the same library.
    Other compile options give another library."""
    arguments = (models("wide"), tmp_path / "cache", {})
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        paths = pool.map(_compiled, [arguments] * 3)
    assert len(set(paths)) == 1
    assert list(pathlib.Path(paths[0]).parent.iterdir()) and not list((tmp_path / "cache").glob("new-*"))
    assert artifacts.compiled(
        models("wide"), tmp_path / "cache", {"precision": "medium", "target": "x86-64-v2"}
    ) != pathlib.Path(paths[0])
    assert (tmp_path / "cache").stat().st_mode & 0o077 == 0


def test_a_cache_that_others_can_write_to(models, tmp_path, monkeypatch):
    """A cache folder that other users can write to is rejected, because the process executes files
    from it."""
    folder = tmp_path / "others"
    folder.mkdir()
    for mode in (0o777, 0o770, 0o1777, 0o702):
        folder.chmod(mode)
        with pytest.raises(PermissionError, match=r"others' is writable by others, .*chmod go-w$"):
            artifacts.library_of(models("scaled"), folder, {})
    folder.chmod(0o755)
    user = os.geteuid()
    with monkeypatch.context() as patched:
        patched.setattr(os, "geteuid", lambda: user + 1)
        with pytest.raises(PermissionError, match="others' belongs to another user"):
            artifacts.library_of(models("scaled"), folder, {})
    assert list(folder.iterdir()) == [] and artifacts.library_of(models("scaled"), folder, {}).is_relative_to(folder)


def test_what_a_folder_has(libraries, models, tmp_path):
    library = libraries("scaled")
    assert artifacts.library_of(library.parent, None, {}) == library
    assert artifacts.library_of(models("scaled").parent, tmp_path / "cache", {}).name == "model.so"
    with pytest.raises(FileNotFoundError, match=r"has neither model\.so nor model\.onnx"):
        artifacts.library_of(tmp_path, None, {})
    with pytest.raises(ValueError, match="is already compiled"):
        artifacts.library_of(library, None, {"target": "host"})
    with pytest.raises(FileNotFoundError, match="there is no"):
        artifacts.library_of(tmp_path / "x.so", None, {})
