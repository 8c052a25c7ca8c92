// SPDX-License-Identifier: Apache-2.0
//
// A folder of calibration samples. A sample holds the inputs of one run: an .npz file (inputs by
// name), an .npy file (the only input), or a folder with a file NAME.npy for each input. Samples
// are read one at a time, sorted by file name.
#ifndef HEWN_LIB_TOOLS_MODELS_CALIBRATION_H
#define HEWN_LIB_TOOLS_MODELS_CALIBRATION_H

#include "hewn/compiler.h"
#include "lib/Tools/Models/Npy.h"

namespace hewn::tool {

class CalibrationFolder {
public:
  /// Lists the samples. Returns false with an error in `problem`.
  bool open(const std::string &folder, std::string &problem);
  /// Callback for hewn_compile_options::next_sample; `folder` is a CalibrationFolder.
  static int32_t next(void *folder, hewn_sample *sample);

private:
  bool read(std::string &problem);

  std::string folder;
  std::vector<std::string> paths;
  size_t at = 0;
  std::vector<std::pair<std::string, Array>> arrays;
  /// The names and tensors to which the current hewn_sample points.
  std::vector<const char *> names;
  std::vector<DLTensor> tensors;
  std::string why;
};

} // namespace hewn::tool

#endif
