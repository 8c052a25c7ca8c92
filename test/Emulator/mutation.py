# SPDX-License-Identifier: Apache-2.0
"""Mistakes put into the kernels of a model: whether some order of the threads shows each of them."""

import contextlib
import re

import emulated
import hewn
from comparison import compare, feeds_for

# The orders in which the emulator runs threads between two barriers.
SCHEDULES = ["forward", "backward", "random"]

BARRIER, SHUFFLE, WAIT = "call void @hewn.grid.barrier", "call i32 @hewn.grid.shuffle", "hewn.grid.copies.wait"


def on_host(model, feeds=None, **options):
    """What the model is fed with (as `feeds_for` says unless `feeds` is given), and what it gives on the host."""
    reference = hewn.compile(model, **options)
    feeds = feeds or feeds_for(reference.inputs)
    return feeds, reference.run(feeds)


def error_of(model, feeds, want, schedule, change=None, **options):
    """What differs under the schedule, or what the driver says; nothing where the numbers are right.

    `change` takes the text of the model's kernels and gives another; `options` are those of `emulated.compiled`."""
    # The module goes with this frame: a context that is lost is so for all who share it.
    with (
        emulated.mutated(change) if change else contextlib.nullcontext(),
        emulated.compiled(model, **options) as module,
    ):
        with emulated.setting("SCHEDULE", schedule):
            try:
                compare(module.run(feeds), want)
            except (AssertionError, hewn.RunError) as error:
                return str(error) or repr(error)
    return ""


def is_caught(model, change, feeds=None, **options):
    """Whether the model gives something else, or fails, after the change under one schedule or more."""
    feeds, want = on_host(model, feeds)
    return any(error_of(model, feeds, want, schedule, change, **options) for schedule in SCHEDULES)


def looking(look):
    """A change for those who only look: the text with an empty line more."""

    def change(text):
        look(text)
        return text + "\n"

    return change


def without(call):
    """A change: calls of barriers are gone, shuffles bring the thread's own value, and waits are for one group of copies less."""

    def change(text):
        if call == WAIT:
            return re.sub(
                rf"@{re.escape(WAIT)}\(i32 ([1-9])\)", lambda found: f"@{WAIT}(i32 {int(found[1]) + 1})", text
            )
        if "void" in call:
            return re.sub(rf"^.*{re.escape(call)}.*\n", "", text, flags=re.M)
        # shuffle(mask, value, xor, width): the value itself
        return re.sub(rf"(?:tail )?{re.escape(call)}\(i32 -1, (i32 [^,]+), i32 \d+, i32 31\)", r"add \1, 0", text)

    return change
