// SPDX-License-Identifier: Apache-2.0
//
// The schedule model of NVIDIA GPUs.
#ifndef HEWN_LIB_TARGET_NVPTX_SCHEDULE_NVPTXSCHEDULEMODEL_H
#define HEWN_LIB_TARGET_NVPTX_SCHEDULE_NVPTXSCHEDULEMODEL_H

#include "lib/Schedule/ScheduleModel.h"

namespace hewn::plan {

/// Returns the model of kernels that are functions of one thread (SIMT), with MMA.
const ScheduleModel &nvptxScheduleModel();

} // namespace hewn::plan

#endif
