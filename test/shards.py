# SPDX-License-Identifier: Apache-2.0
"""Parts of a suite: HEWN_SHARD=i/n takes the i-th of n, chosen by the tests' names. A test that is added or goes moves no other into or out of
a part, so that what runs on an emulated processor in each build stays what it was."""

import os
import zlib


def keep_shard(items):
    """Leaves of pytest's items those of the part that the environment asks for; all of them where it asks for none."""
    i, n = map(int, os.environ.get("HEWN_SHARD", "0/1").split("/"))
    items[:] = [item for item in items if zlib.crc32(item.nodeid.rsplit("/", 1)[-1].encode()) % n == i]
