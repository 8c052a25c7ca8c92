# SPDX-License-Identifier: Apache-2.0
"""torchvision's architectures: classification, segmentation, detection, video, optical flow."""

from architectures import Architecture, Input

BATCHES = ({"batch": 2}, {"batch": 1})

# Arguments of each model's constructor, and the image size if it is not 224.
CLASSIFICATION = {
    "alexnet": {},
    "vgg11_bn": {},
    "resnet18": {},
    "resnet50": {},
    "resnext50_32x4d": {},
    "wide_resnet50_2": {},
    "densenet121": {},
    "googlenet": {"aux_logits": False, "init_weights": False},
    "inception_v3": {"init_weights": False, "side": 299},
    "mobilenet_v2": {},
    "mobilenet_v3_small": {},
    "mobilenet_v3_large": {},
    "shufflenet_v2_x1_0": {},
    "squeezenet1_1": {},
    "mnasnet1_0": {},
    "efficientnet_b0": {},
    "efficientnet_v2_s": {},
    "regnet_y_400mf": {},
    "regnet_x_1_6gf": {},
    "convnext_tiny": {},
    "vit_b_32": {},
    "swin_t": {},
    "swin_v2_t": {},
    "maxvit_t": {},
}
SEGMENTATION = ("fcn_resnet50", "deeplabv3_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large")
# Detection models get only a few classes, so that the scores of untrained models exceed the
# thresholds and non-maximum suppression has boxes to select from.
REGIONS = {"num_classes": 11, "rpn_post_nms_top_n_test": 100}
DETECTION = {
    "fasterrcnn_resnet50_fpn": REGIONS,
    "fasterrcnn_mobilenet_v3_large_320_fpn": REGIONS,
    "maskrcnn_resnet50_fpn": REGIONS,
    "keypointrcnn_resnet50_fpn": {**REGIONS, "num_classes": 2},
    "retinanet_resnet50_fpn": {"num_classes": 11, "score_thresh": 0.005, "topk_candidates": 100},
    "fcos_resnet50_fpn": {"num_classes": 11, "score_thresh": 0.005, "topk_candidates": 100},
    "ssd300_vgg16": {"num_classes": 11, "topk_candidates": 50},
    "ssdlite320_mobilenet_v3_large": {"num_classes": 11, "score_thresh": 0.01, "topk_candidates": 50},
}
# Number of frames and image size of the clips for video models.
VIDEO = {
    "r3d_18": (8, 112),
    "mc3_18": (8, 112),
    "r2plus1d_18": (8, 112),
    "s3d": (16, 224),
    "mvit_v1_b": (16, 224),
    "swin3d_t": (8, 112),
}
FLOW = {"raft_small": 4, "raft_large": 2}


def built(name, **arguments):
    def build():
        import torchvision

        return torchvision.models.get_model(name, weights=None, **arguments)

    return build


def detect(model, image):
    return model([image])


def flow(updates):
    def call(model, first, second):
        return model(first, second, num_flow_updates=updates)[-1]

    return call


def architectures():
    found = []

    def add(name, build, inputs, sizes=BATCHES, **rest):
        found.append(Architecture("torchvision", name, build, inputs, sizes, **rest))

    for name, said in CLASSIFICATION.items():
        arguments = dict(said)
        side = arguments.pop("side", 224)
        image = Input(("batch", 3, side, side))
        add(name, built(name, **arguments), {"image": image})
    for name in SEGMENTATION:
        image = Input(("batch", 3, "height", "width"))
        sizes = ({"batch": 2, "height": 192, "width": 256}, {"batch": 1, "height": 224, "width": 224})
        add(name, built(name, weights_backbone=None), {"image": image}, sizes)
    for name, arguments in DETECTION.items():
        if not name.startswith("ssd"):
            arguments = {**arguments, "min_size": 256, "max_size": 320}
        image = Input((3, "height", "width"))
        sizes = ({"height": 240, "width": 320}, {"height": 256, "width": 256})
        add(name, built(name, weights_backbone=None, **arguments), {"image": image}, sizes, call=detect)
    for name, (frames, side) in VIDEO.items():
        add(name, built(name), {"clip": Input((1, 3, frames, side, side))}, ({},))
    for name, updates in FLOW.items():
        frame = Input((1, 3, 128, 160))
        add(name, built(name), {"first": frame, "second": frame}, ({},), call=flow(updates))
    return found
