// SPDX-License-Identifier: Apache-2.0
#include "lib/Importer/ONNX/OnnxTypes.h"

#include "dialects/Handle/Handle.h"
#include "mlir/IR/BuiltinTypes.h"
#include <onnx/onnx_pb.h>

using namespace mlir;

namespace hewn::importer {

using onnx::TensorProto;

static Type integer(MLIRContext *context, unsigned width, bool isUnsigned = false) {
  return IntegerType::get(context, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
}

Type elementType(MLIRContext *context, int64_t onnxCode) {
  switch (onnxCode) {
  case TensorProto::FLOAT:
    return Float32Type::get(context);
  case TensorProto::DOUBLE:
    return Float64Type::get(context);
  case TensorProto::FLOAT16:
    return Float16Type::get(context);
  case TensorProto::BFLOAT16:
    return BFloat16Type::get(context);
  case TensorProto::FLOAT8E4M3FN:
    return Float8E4M3FNType::get(context);
  case TensorProto::FLOAT8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case TensorProto::FLOAT8E5M2:
    return Float8E5M2Type::get(context);
  case TensorProto::FLOAT8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case TensorProto::FLOAT8E8M0:
    return Float8E8M0FNUType::get(context);
  case TensorProto::FLOAT4E2M1:
    return Float4E2M1FNType::get(context);
  case TensorProto::STRING:
    return handle::StringType::get(context);
  case TensorProto::BOOL:
    return integer(context, 1);
  case TensorProto::INT2:
    return integer(context, 2);
  case TensorProto::UINT2:
    return integer(context, 2, true);
  case TensorProto::INT4:
    return integer(context, 4);
  case TensorProto::INT8:
    return integer(context, 8);
  case TensorProto::INT16:
    return integer(context, 16);
  case TensorProto::INT32:
    return integer(context, 32);
  case TensorProto::INT64:
    return integer(context, 64);
  case TensorProto::UINT4:
    return integer(context, 4, true);
  case TensorProto::UINT8:
    return integer(context, 8, true);
  case TensorProto::UINT16:
    return integer(context, 16, true);
  case TensorProto::UINT32:
    return integer(context, 32, true);
  case TensorProto::UINT64:
    return integer(context, 64, true);
  default:
    return {};
  }
}

Type listType(MLIRContext *context, const onnx::TypeProto &type, std::string &reason) {
  using Kind = handle::List::Kind;
  bool isOptional = type.has_optional_type() && type.optional_type().has_elem_type();
  const onnx::TypeProto &of = isOptional ? type.optional_type().elem_type() : type;
  bool isSequence = of.has_sequence_type() && of.sequence_type().has_elem_type();
  const onnx::TypeProto &each = isSequence ? of.sequence_type().elem_type() : of;
  if (!each.has_tensor_type()) {
    reason = "is of a type that hewn does not have: it has tensors, maps, sequences of tensors, and optional ones of "
             "tensors and sequences";
    return {};
  }
  const onnx::TypeProto::Tensor &tensor = each.tensor_type();
  Type element = elementType(context, tensor.elem_type());
  if (!element) {
    reason = "has elements of type " + dataTypeName(tensor.elem_type()) + ", which hewn does not support";
    return {};
  }
  if (tensor.shape().dim_size() > 64) {
    reason = "has tensors of rank " + std::to_string(tensor.shape().dim_size());
    return {};
  }
  Kind kind = !isSequence ? Kind::Optional : isOptional ? Kind::OptionalSequence : Kind::Sequence;
  return handle::List{kind, element, tensor.has_shape() ? tensor.shape().dim_size() : handle::kAnyRank}.type();
}

static const onnx::TypeProto &heldBy(const onnx::TypeProto &type) {
  return type.has_sequence_type() ? type.sequence_type().elem_type() : type;
}

bool hasMap(const onnx::TypeProto &type) { return heldBy(type).has_map_type(); }

std::optional<MapTypes> mapTypes(MLIRContext *context, const onnx::TypeProto &type, std::string &reason) {
  const onnx::TypeProto::Map &map = heldBy(type).map_type();
  if (map.key_type() != TensorProto::INT64 && map.key_type() != TensorProto::STRING) {
    reason = "is a map with keys of type " + dataTypeName(map.key_type()) + "; hewn supports INT64 and STRING";
    return std::nullopt;
  }
  // The value of an entry is a tensor of one element, whose shape exporters write differently.
  Type value = elementType(context, map.value_type().tensor_type().elem_type());
  if (!map.value_type().has_tensor_type() || !value) {
    reason = "is a map with values that hewn does not support: they must be tensors of a supported element type";
    return std::nullopt;
  }
  return MapTypes{elementType(context, map.key_type()), value};
}

int onnxCode(Type type) {
  // Searches the two dozen data types of ONNX one by one, so that no second table is needed.
  for (int code = TensorProto::DataType_MIN; code <= TensorProto::DataType_MAX; ++code)
    if (elementType(type.getContext(), code) == type)
      return code;
  return TensorProto::UNDEFINED;
}

std::string dataTypeName(int64_t code) {
  if (code >= TensorProto::DataType_MIN && code <= TensorProto::DataType_MAX)
    return TensorProto::DataType_Name(TensorProto::DataType(code));
  return "data type " + std::to_string(code);
}

} // namespace hewn::importer
