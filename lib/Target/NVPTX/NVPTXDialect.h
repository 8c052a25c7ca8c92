// SPDX-License-Identifier: Apache-2.0
//
// The nvptx dialect: instructions that only NVIDIA GPUs have.
#ifndef HEWN_LIB_TARGET_NVPTX_NVPTXDIALECT_H
#define HEWN_LIB_TARGET_NVPTX_NVPTXDIALECT_H

#include "dialects/Simt/Simt.h"

#include "lib/Target/NVPTX/NVPTXDialect.h.inc"
#include "lib/Target/NVPTX/NVPTXEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "lib/Target/NVPTX/NVPTXAttrs.h.inc"

#define GET_OP_CLASSES
#include "lib/Target/NVPTX/NVPTXOps.h.inc"

#endif
