// SPDX-License-Identifier: Apache-2.0
//
// Mutates protobuf messages of any type through reflection. The result is always a valid message.
#ifndef HEWN_TEST_FUZZ_MODELMUTATOR_H
#define HEWN_TEST_FUZZ_MODELMUTATOR_H

#include <google/protobuf/message.h>
#include <random>
#include <string>
#include <vector>

namespace hewn::fuzz {

class ModelMutator {
public:
  /// `names` are strings that have a meaning for the importer, for example names of ops.
  ModelMutator(unsigned seed, const std::vector<std::string> &names) : random(seed), names(names) {}

  /// Applies one to four changes: sets a number to an extreme value, replaces a string by one from
  /// elsewhere in the message, or removes, duplicates, swaps or replaces submessages.
  void mutate(google::protobuf::Message &message);
  /// Copies a random submessage of `other` into `message`.
  void cross(google::protobuf::Message &message, const google::protobuf::Message &other);

private:
  struct Parts;
  void change(google::protobuf::Message &message, const google::protobuf::FieldDescriptor &field, const Parts &parts);
  void changeList(google::protobuf::Message &message, const google::protobuf::FieldDescriptor &field,
                  const Parts &parts);
  void setScalar(google::protobuf::Message &message, const google::protobuf::FieldDescriptor &field, int index,
                 const Parts &parts);
  int64_t number(int64_t before);
  double real();
  std::string text(const std::string &before, const Parts &parts);
  size_t below(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); }

  std::mt19937 random;
  const std::vector<std::string> &names;
};

} // namespace hewn::fuzz

#endif
