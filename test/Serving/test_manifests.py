# SPDX-License-Identifier: Apache-2.0
"""Checks the KServe manifests against the schemas of KServe's CRDs (Inputs/, stored by
pin_schemas.py) and the Argo template against the compile step. Checks that no manifest contains the
name of a container image."""

import json
import pathlib
import re
import string

import pytest
from conftest import ROOT

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: tools/requirements/docs.txt")

KSERVE = ROOT / "integrations/mlserver/kserve"
INPUTS = pathlib.Path(__file__).parent / "Inputs"
GIVEN = {
    "HEWN_SERVER_IMAGE": "mlserver-hewn:test",
    "HEWN_CPU": "2",
    "HEWN_MEMORY": "2Gi",
    "HEWN_MODEL_NAME": "classes",
    "HEWN_STORAGE_URI": "pvc://models/classes",
}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "number": (int, float)}


def filled(path):
    return yaml.safe_load(string.Template(path.read_text()).substitute(GIVEN))


def breaches(value, schema, path=""):
    """Yields the violations of a structural schema in `value`. An unknown field is a violation, as
    with `kubectl --validate=strict`; JSON Schema would allow it."""
    if schema.get("x-kubernetes-int-or-string"):
        if not isinstance(value, (int, str)) or isinstance(value, bool):
            yield f"{path}: neither a number nor a text"
        elif isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
            yield f"{path}: {value!r} is not of the pattern"
        return
    wanted = TYPES[schema["type"]]
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        yield f"{path}: {type(value).__name__}, {schema['type']} is wanted"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is none of {schema['enum']}"
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        yield from (f"{path}.{name}: is missing" for name in schema.get("required", []) if name not in value)
        for name, item in value.items():
            if name in known:
                yield from breaches(item, known[name], f"{path}.{name}")
            elif isinstance(others, dict):
                yield from breaches(item, others, f"{path}.{name}")
            elif not schema.get("x-kubernetes-preserve-unknown-fields") and path != ".metadata":
                yield f"{path}.{name}: is not known"
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from breaches(item, schema["items"], f"{path}[{number}]")


CASES = [
    ("servingruntime.yaml", "kserve-servingruntimes.json"),
    ("inferenceservice.yaml", "kserve-inferenceservices.json"),
]


@pytest.mark.parametrize(("manifest", "pinned"), CASES)
def test_manifest_is_what_kserve_takes(manifest, pinned):
    found, crd = filled(KSERVE / manifest), json.loads((INPUTS / pinned).read_text())
    assert (found["apiVersion"], found["kind"]) == (crd["apiVersion"], crd["kind"])
    assert not list(breaches(found, crd["schema"]))


@pytest.mark.parametrize(("manifest", "pinned"), CASES)
def test_manifest_by_jsonschema(manifest, pinned):
    """Validates the manifests with the jsonschema library, too, in case breaches() misinterprets
    the schema."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: tools/requirements/serving.txt")
    schema = json.loads((INPUTS / pinned).read_text())["schema"]
    jsonschema.Draft7Validator(schema).validate(filled(KSERVE / manifest))


def test_wrong_manifests_are_found():
    schema = json.loads((INPUTS / "kserve-servingruntimes.json").read_text())["schema"]
    for change, told in [
        (lambda spec: spec.update(protocolVersion="v2"), ".spec.protocolVersion: is not known"),
        (lambda spec: spec.pop("containers"), ".spec.containers: is missing"),
        (lambda spec: spec["containers"][0].pop("name"), ".spec.containers[0].name: is missing"),
        (
            lambda spec: spec["containers"][0]["env"][0].update(value=1),
            ".spec.containers[0].env[0].value: int, string is wanted",
        ),
        (lambda spec: spec["containers"][0]["resources"]["limits"].update(memory="much"), "not of the pattern"),
    ]:
        found = filled(KSERVE / "servingruntime.yaml")
        change(found["spec"])
        assert any(told in breach for breach in breaches(found, schema)), told


def test_the_service_names_the_runtime():
    runtime, service = filled(KSERVE / "servingruntime.yaml"), filled(KSERVE / "inferenceservice.yaml")
    model = service["spec"]["predictor"]["model"]
    assert model["runtime"] == runtime["metadata"]["name"]
    assert model["modelFormat"]["name"] in [f["name"] for f in runtime["spec"]["supportedModelFormats"]]
    assert model["protocolVersion"] in runtime["spec"]["protocolVersions"]
    mounts = {mount["name"] for mount in runtime["spec"]["containers"][0]["volumeMounts"]}
    assert mounts == {volume["name"] for volume in runtime["spec"]["volumes"]}


def test_images_are_parameters():
    """The container image is a parameter in every manifest: no file names a registry."""
    for path in [*KSERVE.glob("*.yaml"), ROOT / "integrations/mlserver/pipelines/argo.yaml"]:
        images = re.findall(r"^\s*-?\s*image:\s*(.*)$", path.read_text(), re.MULTILINE)
        assert all(image == "${HEWN_SERVER_IMAGE}" for image in images), path
    text = (ROOT / "integrations/mlserver/Containerfile").read_text()
    assert re.findall(r"^FROM (.*)$", text, re.MULTILINE) == ["${BASE}"] and "ARG BASE\n" in text


def test_the_image_has_the_server_that_is_tested():
    image, tested = (
        set(re.findall(r"^[^#\n].*$", (ROOT / path).read_text(), re.MULTILINE))
        for path in ("integrations/mlserver/requirements.txt", "tools/requirements/serving.txt")
    )
    assert image and image <= tested
