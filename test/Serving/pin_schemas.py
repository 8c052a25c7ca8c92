# SPDX-License-Identifier: Apache-2.0
"""Stores a copy of those parts of KServe's custom resource definitions (CRDs) that the manifests
use.

    python pin_schemas.py CHECKOUT      # a checkout of https://github.com/kserve/kserve (Apache-2.0)

Writes Inputs/kserve-*.json: the schemas without descriptions and without the fields listed below,
each of which embeds the fields of a pod."""

import json
import pathlib
import subprocess
import sys

import yaml

INPUTS = pathlib.Path(__file__).parent / "Inputs"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def bare(schema):
    """Returns the schema without descriptions. Keeps fields whose name is "description"."""
    if isinstance(schema, dict):
        return {k: bare(v) for k, v in schema.items() if not (k == "description" and isinstance(v, str))}
    return [bare(item) for item in schema] if isinstance(schema, list) else schema


def without(schema, names):
    for name in names:
        schema["properties"].pop(name, None)


def main():
    checkout = pathlib.Path(sys.argv[1])
    commit = subprocess.run(["git", "-C", checkout, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    for kind in ("servingruntimes", "inferenceservices"):
        source = f"config/crd/full/serving.kserve.io_{kind}.yaml"
        text = subprocess.run(["git", "-C", checkout, "show", f"HEAD:{source}"], check=True, capture_output=True).stdout
        crd = yaml.load(text, LOADER)
        version = next(v for v in crd["spec"]["versions"] if v["served"])
        schema = bare(version["schema"]["openAPIV3Schema"])
        spec = schema["properties"]["spec"]
        if kind == "servingruntimes":
            without(spec, ["affinity", "workerSpec"])
        else:
            without(spec, ["canary", "explainer", "transformer"])
            predictor = spec["properties"]["predictor"]
            model = predictor["properties"]["model"]
            frameworks = [k for k, v in predictor["properties"].items() if "storageUri" in v.get("properties", {})]
            without(predictor, ["affinity", "containers", "initContainers", "volumes", "workerSpec", *frameworks])
            predictor["properties"]["model"] = model
            schema["properties"].pop("status")
        pinned = {
            "source": f"https://github.com/kserve/kserve/blob/{commit.stdout.strip()}/{source}",
            "apiVersion": f"{crd['spec']['group']}/{version['name']}",
            "kind": crd["spec"]["names"]["kind"],
            "schema": schema,
        }
        (INPUTS / f"kserve-{kind}.json").write_text(json.dumps(pinned, indent=1) + "\n")


if __name__ == "__main__":
    main()
