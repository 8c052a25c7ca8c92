# SPDX-License-Identifier: Apache-2.0
"""Compile step as a component of Kubeflow Pipelines.

Run as a program, it writes the YAML of the component:

    python kubeflow.py IMAGE hewn_compile.yaml
"""

import sys

from kfp import compiler, dsl


def compile_component(image: str) -> dsl.base_component.BaseComponent:
    """Returns the component.

    Its input is an ONNX model; its outputs are the folder to serve and the report. `image` is built
    from ../Containerfile.
    """

    @dsl.container_component  # type: ignore[untyped-decorator] # kfp has no stubs
    def hewn_compile(
        model: dsl.Input[dsl.Model],
        library: dsl.Output[dsl.Model],
        report: dsl.Output[dsl.Artifact],
        name: str = "model",
        options: str = "{}",
    ) -> dsl.ContainerSpec:
        return dsl.ContainerSpec(
            image=image,
            command=["hewn-compile-step"],
            args=[
                "--model",
                model.path,
                "--output-dir",
                library.path,
                "--report",
                report.path,
                "--name",
                name,
                "--options",
                options,
            ],
        )

    return hewn_compile


if __name__ == "__main__":
    compiler.Compiler().compile(compile_component(sys.argv[1]), sys.argv[2])
