# SPDX-License-Identifier: Apache-2.0
"""timm's architectures: convolutional networks, transformers, hybrids, MLPs."""

from architectures import Architecture, Input

# Image sizes of those timm architectures whose image size is not 224.
CONVOLUTIONAL = {
    "resnetv2_50": {},
    "resnest14d": {},
    "res2net50_26w_4s": {},
    "skresnet18": {},
    "ecaresnet26t": {},
    "hrnet_w18_small": {},
    "dla34": {},
    "dpn68b": {},
    "ese_vovnet19b_dw": {},
    "cspresnet50": {},
    "repvgg_a0": {},
    "eca_nfnet_l0": {},
    "ghostnet_100": {},
    "mobilenetv4_conv_small": {},
    "tf_efficientnet_lite0": {},
    "mixnet_s": {},
    "rexnet_100": {},
    "convnextv2_atto": {},
    "inception_next_atto": {},
    "focalnet_tiny_srf": {},
    "repvit_m0_9": {},
    "starnet_s1": {},
    "tresnet_m": {},
    "mobileone_s0": {},
    "fasternet_t0": {},
    "hgnetv2_b0": {},
    "lcnet_050": {},
    "selecsls42b": {},
    "xception41": {},
    "inception_v4": {},
    "inception_resnet_v2": {},
    "legacy_seresnext26_32x4d": {},
    "pnasnet5large": {},
    "darknet53": {"side": 256},
    "cs3darknet_m": {"side": 256},
    "hardcorenas_a": {},
    "tinynet_e": {},
    "semnasnet_075": {},
    "gernet_s": {},
    "regnetz_b16": {},
    "nf_regnet_b0": {},
    "dm_nfnet_f0": {},
    "resnetblur18": {},
    "gcresnet50t": {"side": 256},
    "resnest26d": {},
    "repghostnet_050": {},
    "ghostnetv2_100": {},
    "ghostnetv3_050": {},
    "rdnet_tiny": {},
    "vovnet39a": {},
    "convnext_zepto_rms": {},
    "mambaout_femto": {},
}
TRANSFORMERS = {
    "deit_tiny_patch16_224": {},
    "eva02_tiny_patch14_224": {},
    "cait_xxs24_224": {},
    "crossvit_tiny_240": {"side": 240},
    "xcit_nano_12_p16_224": {},
    "pvt_v2_b0": {},
    "twins_svt_small": {},
    "swinv2_cr_tiny_ns_224": {},
    "gcvit_xxtiny": {},
    "davit_tiny": {},
    "hiera_tiny_224": {},
    "beit_base_patch16_224": {},
    "deit3_small_patch16_224": {},
    "beit3_base_patch16_224": {},
    "flexivit_small": {"side": 240},
    "tnt_s_patch16_224": {},
    "pit_ti_224": {},
    "convit_tiny": {},
    "nest_tiny": {},
    "visformer_tiny": {},
    "mvitv2_tiny": {},
    "swin_s3_tiny_224": {},
    "volo_d1_224": {},
    "xcit_tiny_12_p8_224": {},
}
HYBRID = {
    "poolformer_s12": {},
    "edgenext_small": {},
    "mobilevit_s": {"side": 256},
    "mobilevitv2_050": {"side": 256},
    "fastvit_t8": {"side": 256},
    "efficientvit_b0": {},
    "efficientformer_l1": {},
    "levit_128s": {},
    "coat_lite_tiny": {},
    "coatnet_nano_rw_224": {},
    "botnet26t_256": {"side": 256},
    "halonet26t": {"side": 256},
    "nextvit_small": {},
    "swiftformer_xs": {},
    "shvit_s1": {},
    "iformer_t": {},
    "efficientvim_m1": {},
    "efficientformerv2_s0": {},
    "lambda_resnet26t": {"side": 256},
    "lamhalobotnet50ts_256": {"side": 256},
    "sebotnet33ts_256": {"side": 256},
    "bat_resnext26ts": {"side": 256},
    "caformer_s18": {},
    "convformer_s18": {},
    "maxxvit_rmlp_nano_rw_256": {"side": 256},
    "coatnext_nano_rw_224": {},
    "vitamin_small_224": {},
    "mobilenetv4_hybrid_medium": {"side": 256},
    "mobilenetv5_base": {"side": 256},
    "lowformer_b0": {},
    "csatv2": {},
    "edgenext_xx_small": {"side": 256},
    "vit_tiny_r_s16_p8_224": {},
}
MIXERS = {"mixer_s32_224": {}, "gmlp_ti16_224": {}, "resmlp_12_224": {}, "sequencer2d_s": {}}


def built(name):
    def build():
        import timm

        return timm.create_model(name, pretrained=False)

    return build


def architectures():
    found = []
    for name, said in {**CONVOLUTIONAL, **TRANSFORMERS, **HYBRID, **MIXERS}.items():
        side = said.get("side", 224)
        sizes = ({"batch": 2}, {"batch": 1})
        inputs = {"image": Input(("batch", 3, side, side))}
        found.append(Architecture("timm", name, built(name), inputs, sizes))
    return found
