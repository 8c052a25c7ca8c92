#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""screenshots.py PAGE.html OUT.png [--region ID] [--width PIXELS] [--height PIXELS] [--dark]
[--find TEXT] [--click ACTION]...: takes a screenshot of a page in headless Chromium.

The images of docs/tutorials/profiling.md come from the models resnet50.onnx and bert_base.onnx:

    hewn profile resnet50.onnx --threads 2 --html p.html
    screenshots.py p.html docs/tutorials/profile-resnet50.png --height 1180
    hewn explain bert_base.onnx --html e.html
    screenshots.py e.html docs/tutorials/explain-bert.png --region arena --height 560
    hewn profile bert_base.onnx --threads 2 --dim batch=1 --dim seq=128 --html p.html
    screenshots.py p.html docs/tutorials/profile-bert.png --region kernels --height 700
    hewn explain resnet50.onnx --html e.html
    screenshots.py e.html docs/tutorials/explain-resnet50.png --region kernels --height 600

The images of the graph show the profile of ResNet-50, BERT base, and the model `control_flow` of
conftest.py:

    screenshots.py p.html docs/tutorials/graph-resnet50.png --region graph --height 800 --find KERNEL
    screenshots.py e.html docs/tutorials/graph-bert.png --region graph --height 800 --click full --click open
    screenshots.py c.html docs/tutorials/graph-control.png --region graph --height 800 --dark --click full"""

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
    parser.add_argument("--find", help="text to search in the graph")
    parser.add_argument("--click", action="append", default=[], help="control of the graph: open, in, out, fit, full")
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
        ready = "document.getElementById('model-graph')?.graph?.isReady() !== false"
        opened.until(ready)
        for action in said.click:
            opened.run(f"document.querySelector('[data-do={action}]').click()")
            opened.until(ready)
        if said.find:
            opened.run(
                f"""(() => {{
                    const search = document.getElementById('graph-search');
                    search.value = {said.find!r};
                    search.dispatchEvent(new Event('input'));
                    document.querySelector('[data-do=next]').click();
                    return new Promise(done => setTimeout(done, 500));
                }})()"""
            )
        opened.picture(said.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
