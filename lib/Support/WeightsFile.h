// SPDX-License-Identifier: Apache-2.0
//
// Files with the bytes of constants, for the text of a stage, which only names them. The format is
// that of safetensors (https://github.com/huggingface/safetensors): the size of a JSON header, the
// header, and the bytes of all tensors without gaps. Each constant is a tensor of bytes (U8) whose
// name is its key, because element types and shapes belong to the uses of a constant.
//
//     {"w": {"dtype": "U8", "shape": [36864], "data_offsets": [0, 36864]}, ...}
#ifndef HEWN_LIB_SUPPORT_WEIGHTSFILE_H
#define HEWN_LIB_SUPPORT_WEIGHTSFILE_H

#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/WeightStore.h"
#include "llvm/Support/Error.h"

namespace hewn {

/// Maps a file and adds its constants to the store, which keeps the mapping. Errors name the file
/// and the key: a file that cannot be read or has another format, tensors that overlap or leave a
/// gap, or a key whose bytes in the store are different. After an error, the store may contain some
/// of the file's constants.
llvm::Error readWeights(llvm::StringRef path, WeightStore &store);

/// Creates a file with the constants `keys`, sorted and each once. The caller publishes it. Returns
/// an error if a key has no bytes in the store or is not UTF-8.
llvm::Expected<OutputFile> writeWeights(llvm::StringRef path, llvm::ArrayRef<llvm::StringRef> keys,
                                        const WeightStore &store);

} // namespace hewn

#endif
