// SPDX-License-Identifier: Apache-2.0
#include "test/Fuzz/ModelMutator.h"

#include <climits>
#include <google/protobuf/descriptor.h>
#include <limits>

namespace hewn::fuzz {

// Declared inside of the namespace, because a class hewn::Message exists, too.
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// All submessages and all strings in a message.
struct ModelMutator::Parts {
  std::vector<const Message *> messages;
  std::vector<std::string> strings;

  explicit Parts(const Message &root) { walk(root); }
  void walk(const Message &message) {
    messages.push_back(&message);
    const Reflection &reflection = *message.GetReflection();
    std::vector<const FieldDescriptor *> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor *field : fields) {
      int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
          walk(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                    : reflection.GetMessage(message, field));
        else if (field->type() == FieldDescriptor::TYPE_STRING)
          strings.push_back(field->is_repeated() ? reflection.GetRepeatedString(message, field, i)
                                                 : reflection.GetString(message, field));
      }
    }
  }
  std::vector<const Message *> of(const Descriptor *kind) const {
    std::vector<const Message *> found;
    for (const Message *message : messages)
      if (message->GetDescriptor() == kind)
        found.push_back(message);
    return found;
  }
};

int64_t ModelMutator::number(int64_t before) {
  static constexpr int64_t borders[] = {0,
                                        1,
                                        -1,
                                        2,
                                        3,
                                        7,
                                        64,
                                        255,
                                        65536,
                                        INT32_MAX,
                                        INT32_MIN,
                                        int64_t(UINT32_MAX) + 1,
                                        INT64_MAX,
                                        INT64_MIN,
                                        int64_t(1) << 40,
                                        -(int64_t(1) << 40)};
  switch (below(4)) {
  case 0:
    return int64_t(uint64_t(before) + 1);
  case 1:
    return int64_t(uint64_t(before) - 1);
  case 2:
    return int64_t(below(20)) - 4;
  default:
    return borders[below(std::size(borders))];
  }
}

double ModelMutator::real() {
  using limits = std::numeric_limits<double>;
  const double values[] = {
      0, -0.0, 1, -1, 0.5, 1e-40, 3e38, 1e300, limits::infinity(), -limits::infinity(), limits::quiet_NaN()};
  return values[below(std::size(values))];
}

std::string ModelMutator::text(const std::string &before, const Parts &parts) {
  switch (below(4)) {
  case 0:
    return names[below(names.size())];
  case 1: {
    std::string changed = before.substr(0, below(before.size() + 1));
    return below(2) ? changed : changed + char(below(256));
  }
  default:
    return parts.strings.empty() ? "" : parts.strings[below(parts.strings.size())];
  }
}

void ModelMutator::setScalar(Message &message, const FieldDescriptor &field, int index, const Parts &parts) {
  const Reflection &reflection = *message.GetReflection();
#define SET(Kind, value)                                                                                               \
  index < 0 ? reflection.Set##Kind(&message, &field, value)                                                            \
            : reflection.SetRepeated##Kind(&message, &field, index, value)
#define GET(Kind)                                                                                                      \
  index < 0 ? reflection.Get##Kind(message, &field) : reflection.GetRepeated##Kind(message, &field, index)
  switch (field.cpp_type()) {
  case FieldDescriptor::CPPTYPE_INT32:
    SET(Int32, int32_t(number(GET(Int32))));
    break;
  case FieldDescriptor::CPPTYPE_INT64:
    SET(Int64, number(GET(Int64)));
    break;
  case FieldDescriptor::CPPTYPE_UINT32:
    SET(UInt32, uint32_t(number(GET(UInt32))));
    break;
  case FieldDescriptor::CPPTYPE_UINT64:
    SET(UInt64, uint64_t(number(int64_t(GET(UInt64)))));
    break;
  case FieldDescriptor::CPPTYPE_FLOAT:
    SET(Float, float(real()));
    break;
  case FieldDescriptor::CPPTYPE_DOUBLE:
    SET(Double, real());
    break;
  case FieldDescriptor::CPPTYPE_BOOL:
    SET(Bool, below(2) == 0);
    break;
  case FieldDescriptor::CPPTYPE_ENUM:
    SET(EnumValue, field.enum_type()->value(int(below(size_t(field.enum_type()->value_count()))))->number());
    break;
  case FieldDescriptor::CPPTYPE_STRING:
    SET(String, text(GET(String), parts));
    break;
  case FieldDescriptor::CPPTYPE_MESSAGE:
    break;
  }
#undef SET
#undef GET
}

void ModelMutator::changeList(Message &message, const FieldDescriptor &field, const Parts &parts) {
  const Reflection &reflection = *message.GetReflection();
  int count = reflection.FieldSize(message, &field);
  bool ofMessages = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  switch (count == 0 ? 0 : below(5)) {
  case 0: // append a copy of an element from elsewhere
    if (ofMessages) {
      std::vector<const Message *> same = parts.of(field.message_type());
      std::unique_ptr<Message> copy;
      if (!same.empty()) {
        copy.reset(same[below(same.size())]->New());
        copy->CopyFrom(*same[below(same.size())]);
      }
      Message *added = reflection.AddMessage(&message, &field);
      if (copy)
        added->CopyFrom(*copy);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
      reflection.AddInt64(&message, &field, number(0));
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      reflection.AddString(&message, &field, text("", parts));
    }
    break;
  case 1:
    reflection.SwapElements(&message, &field, int(below(size_t(count))), int(below(size_t(count))));
    break;
  case 2:
    reflection.SwapElements(&message, &field, int(below(size_t(count))), count - 1);
    reflection.RemoveLast(&message, &field);
    break;
  default:
    if (ofMessages) {
      std::vector<const Message *> same = parts.of(field.message_type());
      Message *to = reflection.MutableRepeatedMessage(&message, &field, int(below(size_t(count))));
      const Message *from = same[below(same.size())];
      std::unique_ptr<Message> copy(from->New());
      copy->CopyFrom(*from); // copied first, because `from` may be inside `to`
      to->CopyFrom(*copy);
    } else {
      setScalar(message, field, int(below(size_t(count))), parts);
    }
  }
}

void ModelMutator::change(Message &message, const FieldDescriptor &field, const Parts &parts) {
  const Reflection &reflection = *message.GetReflection();
  if (field.is_repeated()) {
    changeList(message, field, parts);
  } else if (below(6) == 0) {
    reflection.ClearField(&message, &field);
  } else if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    setScalar(message, field, -1, parts);
  } else if (std::vector<const Message *> same = parts.of(field.message_type()); !same.empty()) {
    const Message *from = same[below(same.size())];
    std::unique_ptr<Message> copy(from->New());
    copy->CopyFrom(*from);
    reflection.MutableMessage(&message, &field)->CopyFrom(*copy);
  }
}

void ModelMutator::mutate(Message &root) {
  for (size_t changes = 1 + below(4); changes > 0; --changes) {
    Parts parts(root);
    auto &message = const_cast<Message &>(*parts.messages[below(parts.messages.size())]);
    const Descriptor &kind = *message.GetDescriptor();
    // In seven of eight cases, mutates a field that is set; otherwise any field.
    std::vector<const FieldDescriptor *> fields;
    message.GetReflection()->ListFields(message, &fields);
    if (fields.empty() || below(8) == 0)
      fields = {kind.field(int(below(size_t(kind.field_count()))))};
    change(message, *fields[below(fields.size())], parts);
  }
}

void ModelMutator::cross(Message &root, const Message &other) {
  Parts parts(root), others(other);
  auto &message = const_cast<Message &>(*parts.messages[below(parts.messages.size())]);
  std::vector<const Message *> same = others.of(message.GetDescriptor());
  if (same.empty())
    return mutate(root);
  if (below(2))
    message.CopyFrom(*same[below(same.size())]);
  else
    message.MergeFrom(*same[below(same.size())]);
}

} // namespace hewn::fuzz
