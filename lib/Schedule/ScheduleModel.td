// SPDX-License-Identifier: Apache-2.0
//
// The interface by which a target description provides its schedule model.
#ifndef HEWN_SCHEDULE_MODEL
#define HEWN_SCHEDULE_MODEL

include "mlir/IR/OpBase.td"

def ScheduledTarget : AttrInterface<"ScheduledTarget"> {
  let cppNamespace = "::hewn::plan";
  let description = [{
    A target description with a plan::ScheduleModel. The attributes of the plan dialect implement
    the interface by external models, which target::registerDialects attaches.
  }];
  let methods = [
    InterfaceMethod<"Returns the model of the target's kernels.", "const ::hewn::plan::ScheduleModel &", "getScheduleModel">,
  ];
}

#endif
