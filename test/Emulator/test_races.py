# SPDX-License-Identifier: Apache-2.0
"""Data races (Driver/Races.h). The compiled kernels have none, and the emulator finds one if a
synchronization is removed."""

import contextlib
import re

import emulated
import pytest
import test_factors
import test_fetching
import test_groups
import test_integers
import test_persistent
import test_ptx
import test_sweeps
from mutation import error_of, looking, on_host

# Calls that synchronize threads, including proxy fences.
ORDERS = re.compile(
    r"^.*call void @hewn\.simt\.(?:barrier|warp\.barrier|copies\.wait|group\.publish|mbarrier\.wait)\b.*\n", re.M
)


def cases(models, target):
    """Returns the models of a test module by name, each with the target. A module's dictionary may
    have tuples, of which the first element is the model."""
    return {name: (built[0] if isinstance(built, tuple) else built, target) for name, built in models.items()}


FAMILIES = {
    "forms": cases(test_ptx.MODELS, "sm_80"),
    "newer-forms": cases(test_ptx.MODELS, "sm_90a"),
    "joint": cases(test_persistent.MODELS, "sm_80"),
    "sweeps": cases(test_sweeps.MODELS, "sm_80"),
    "groups": cases(test_groups.MODELS, "sm_90a"),
    "fetching": cases(test_fetching.MODELS, "sm_90a"),
    "factors": cases(test_factors.MODELS, "sm_90a"),
    "integers": cases(test_integers.MODELS, "sm_90a"),
}
# Tests with race detection omit these models, because it is slow for them.
SKIPPED = {"weights", "m-m", "edges", "deep", "many", "many-half-products", "half-weights"}
CASES = [(family, name) for family, models in FAMILIES.items() for name in models if name not in SKIPPED]


@contextlib.contextmanager
def looked_for(blocks):
    with emulated.setting("RACES", "1"), emulated.setting("BLOCKS", str(blocks)):
        yield


@pytest.mark.parametrize(("family", "name"), CASES)
def test_there_are_none(family, name):
    """With two blocks, each block computes several tiles, one after another, without a data
    race."""
    built, target = FAMILIES[family][name]
    feeds, want = on_host(built)
    with looked_for(2):
        assert not error_of(built, feeds, want, "forward", target=target)


def caught(built, target, schedule="forward", blocks=1):
    """Removes each synchronization in turn. Yields the text of the removed line, and whether an
    error was reported."""
    feeds, want = on_host(built)
    found = []

    def look(text):
        found.extend(match[0].strip() for match in ORDERS.finditer(text))

    with looked_for(blocks):
        assert not error_of(built, feeds, want, schedule, looking(look), target=target)
        assert found, "the kernels have no synchronization to remove"
        for number in range(len(found)):

            def change(text, number=number):
                match = list(ORDERS.finditer(text))[number]
                return text[: match.start()] + text[match.end() :]

            yield found[number], bool(error_of(built, feeds, want, schedule, change, target=target))


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("forms", "argmax"),
        ("forms", "turn"),
        ("forms", "product"),
        ("forms", "half-product"),
        ("forms", "one-row"),
        ("forms", "parts-of-sums"),
        ("forms", "quantized-product"),
        ("sweeps", "long-line"),
        ("groups", "copied"),
    ],
)
def test_each_meeting_is_needed(family, name):
    """Race detection reports the removal of a synchronization under a single schedule, in whatever
    order the threads run."""
    built, target = FAMILIES[family][name]
    assert [text for text, is_caught in caught(built, target) if not is_caught] == []


def test_a_warp_has_one_barrier(capfd):
    """A barrier instruction applies to a full warp. It is an error if lanes of one warp wait for
    the same barrier at different instructions."""
    feeds, want = on_host(test_ptx.MODELS["softmax"])

    def change(text):
        text = text.replace("call void @hewn.simt.barrier(i32 0)", "call void @parted()", 1)
        parted = """
            define internal void @parted() noinline {
              %thread = call i32 @hewn.simt.thread()
              %odd = trunc i32 %thread to i1
              br i1 %odd, label %one, label %other
            one:
              call void @hewn.simt.barrier(i32 0)
              ret void
            other:
              call void @hewn.simt.barrier.some(i32 0, i32 256)
              ret void
            }
            declare void @hewn.simt.barrier.some(i32, i32)
            """
        return text + parted

    assert error_of(test_ptx.MODELS["softmax"], feeds, want, "forward", change)
    assert "different barriers" in capfd.readouterr().err
