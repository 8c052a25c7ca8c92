# SPDX-License-Identifier: Apache-2.0
"""Tests that the stubs (`_hewn.pyi`) and the annotations match the package."""

import ast
import inspect
import pathlib
import typing

import hewn
from hewn import _hewn

PACKAGE = pathlib.Path(hewn.__file__).parent


def stub():
    return ast.parse((PACKAGE / "_hewn.pyi").read_text())


def public(names):
    return {name for name in names if not name.startswith("_")}


def functions(body):
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").exists()


def test_the_stub_has_every_name():
    body = stub().body
    told = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert told == public(dir(_hewn))
    for node in body:
        if isinstance(node, ast.ClassDef):
            there = {name for name in vars(getattr(_hewn, node.name)) if not name.startswith("_")}
            assert public(functions(node.body)) == there


def test_the_stub_has_every_argument():
    for name, node in functions(stub().body).items():
        told = [a.arg for a in node.args.args]
        signature = getattr(_hewn, name).__nb_signature__[0][0]
        there = [p.arg for p in ast.parse(signature.replace("\\", "") + ": ...").body[0].args.args]
        assert told == there, name


def test_every_public_name_is_exported_and_documented():
    assert hewn.__all__ == sorted(hewn.__all__)
    for name in public(hewn.__all__):
        assert getattr(hewn, name).__doc__, name


def test_every_public_function_is_annotated():
    members = [getattr(hewn, name) for name in public(hewn.__all__)]
    for member in members:
        for function in [member] if inspect.isfunction(member) else vars(member).values():
            if not inspect.isfunction(function) or function.__name__.startswith("__"):
                continue
            parameters = [p for p in inspect.signature(function).parameters if p != "self"]
            hints = typing.get_type_hints(function)
            assert set(parameters) | {"return"} == set(hints), function.__qualname__
