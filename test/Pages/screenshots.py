#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""screenshots.py PAGE.html OUT.png [--region ID] [--width PIXELS] [--height PIXELS] [--dark]: takes
a screenshot of a page in headless Chromium.

The images of docs/tutorials/profiling.md come from the models resnet50.onnx and bert_base.onnx:

    hewn profile resnet50.onnx --threads 2 --html p.html
    screenshots.py p.html docs/tutorials/profile-resnet50.png --height 1180
    hewn explain bert_base.onnx --html e.html
    screenshots.py e.html docs/tutorials/explain-bert.png --region arena --height 560
    hewn profile bert_base.onnx --threads 2 --dim batch=1 --dim seq=128 --html p.html
    screenshots.py p.html docs/tutorials/profile-bert.png --region kernels --height 700
    hewn explain resnet50.onnx --html e.html
    screenshots.py e.html docs/tutorials/explain-resnet50.png --region kernels --height 600"""

import argparse
import sys

import browser


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page")
    parser.add_argument("out")
    parser.add_argument("--region", help="id of the region at the top of the image")
    parser.add_argument("--width", type=int, default=1200)
    parser.add_argument("--height", type=int, default=900)
    parser.add_argument("--dark", action="store_true")
    said = parser.parse_args()
    program = browser.find()
    if program is None:
        print(
            f"no browser: none of {', '.join(browser.NAMES)} is on the path, and HEWN_BROWSER names none",
            file=sys.stderr,
        )
        return 1
    with browser.Browser(program) as opened:
        opened.open(said.page, said.width, said.height, said.dark)
        if said.region:
            opened.run(f"document.getElementById({said.region!r}).scrollIntoView()")
        opened.picture(said.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
