# SPDX-License-Identifier: Apache-2.0
"""Mutates a model's kernels, and checks whether any order of the threads exposes the mutation."""

import contextlib
import re

import emulated
import hewn
from comparison import compare, feeds_for

# Orders in which the emulator runs the threads between two barriers.
SCHEDULES = ["forward", "backward", "random"]

BARRIER, SHUFFLE, WAIT = "call void @hewn.simt.barrier", "call i32 @hewn.simt.shuffle", "hewn.simt.copies.wait"


def on_host(model, feeds=None, **options):
    """Returns the model's inputs (by `feeds_for` unless `feeds` is given) and its results on the
    host."""
    reference = hewn.compile(model, **options)
    feeds = feeds or feeds_for(reference.inputs)
    return feeds, reference.run(feeds)


def error_of(model, feeds, want, schedule, change=None, **options):
    """Returns the text of the mismatch or of the driver's error under the schedule, or an empty
    string if the results are right.

    `change` maps the text of the model's kernels to a modified text; `options` are those of
    `emulated.compiled`."""
    # This function must compile and own the module: a kernel error loses the module's context for
    # all users of the module.
    with (
        emulated.mutated(change) if change else contextlib.nullcontext(),
        emulated.compiled(model, **options) as module,
        emulated.setting("SCHEDULE", schedule),
    ):
        try:
            compare(module.run(feeds), want)
        except (AssertionError, hewn.RunError) as error:
            return str(error) or repr(error)
    return ""


def is_caught(model, change, feeds=None, **options):
    """Returns true if the changed model fails or has wrong results under at least one schedule."""
    feeds, want = on_host(model, feeds)
    return any(error_of(model, feeds, want, schedule, change, **options) for schedule in SCHEDULES)


def looking(look):
    """Returns a change for `emulated.mutated` that passes the text to `look` and only appends an
    empty line."""

    def change(text):
        look(text)
        return text + "\n"

    return change


def without(call):
    """Returns a change that disables the synchronization `call`. A barrier is deleted, a shuffle
    returns the thread's own value, and a wait leaves one more copy group pending."""

    def change(text):
        if call == WAIT:
            return re.sub(
                rf"@{re.escape(WAIT)}\(i32 ([1-9])\)", lambda found: f"@{WAIT}(i32 {int(found[1]) + 1})", text
            )
        if "void" in call:
            return re.sub(rf"^.*{re.escape(call)}.*\n", "", text, flags=re.M)
        # The mutation replaces a call shuffle(mask, value, xor, width) by `value`, the thread's own
        # value.
        return re.sub(rf"(?:tail )?{re.escape(call)}\(i32 -1, (i32 [^,]+), i32 \d+, i32 31\)", r"add \1, 0", text)

    return change
