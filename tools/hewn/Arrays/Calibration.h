// SPDX-License-Identifier: Apache-2.0
//
// A folder of samples: .npz files, each with the inputs of one run by name; .npy files, each the only input of one run; or folders, each with
// NAME.npy of the inputs of one run. They are read one at a time, in the order of their names.
#ifndef HEWN_TOOLS_HEWN_ARRAYS_CALIBRATION_H
#define HEWN_TOOLS_HEWN_ARRAYS_CALIBRATION_H

#include "hewn/compiler.h"
#include "tools/hewn/Arrays/Npy.h"

namespace hewn::tool {

class CalibrationFolder {
public:
  /// False, and why in `problem`.
  bool open(const std::string &folder, std::string &problem);
  /// For hewn_compile_options::next_sample, with the folder as `user`.
  static int32_t next(void *folder, hewn_sample *sample);

private:
  bool read(std::string &problem);

  std::string folder;
  std::vector<std::string> paths;
  size_t at = 0;
  std::vector<std::pair<std::string, Array>> arrays;
  /// What a sample points to.
  std::vector<const char *> names;
  std::vector<DLTensor> tensors;
  std::string why;
};

} // namespace hewn::tool

#endif
