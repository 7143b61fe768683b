//===- MessageMutator.cpp - mutations of models ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of an input that is a model, one field or a few change: elements go, come twice, change
// places with others of their kind; numbers become others that stand at an edge; names become
// other names of the model. Now and then, and where an input is none, its bytes change.
//
//===----------------------------------------------------------------------===//

#include "onnx-ml.pb.h"

#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {

/// A field of a message, or one element of it.
struct Place {
  static constexpr int singular = -1;
  Message *message;
  const FieldDescriptor *field;
  int index;

  bool isMessage() const { return field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE; }
  const Reflection *reflection() const { return message->GetReflection(); }
  Message *get() const {
    return index == singular ? reflection()->MutableMessage(message, field)
                             : reflection()->MutableRepeatedMessage(message, field, index);
  }
};

class Mutator {
public:
  Mutator(Message &root, unsigned seed) : root(root), random(seed) { collect(root); }
  void mutate();

private:
  size_t pick(size_t count) { return random() % count; }
  void collect(Message &message);
  void collectField(Message &message, const FieldDescriptor *field);
  void change(const Place &place);
  void changeMessage(const Place &place);
  void changeScalar(const Place &place);
  void resize(const Place &place);
  void addUnset(Message &message);
  int64_t makeNumber();
  double makeFloat();
  std::string makeText(const FieldDescriptor *field, const std::string &old);

  Message &root;
  std::minstd_rand random;
  std::vector<Message *> messages;
  std::vector<Place> places;
  std::vector<std::string> names;
};

} // namespace

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

void Mutator::collectField(Message &message, const FieldDescriptor *field) {
  const Reflection *reflection = message.GetReflection();
  int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
  for (int i = 0; i < count; ++i) {
    Place &place =
        places.emplace_back(Place{&message, field, field->is_repeated() ? i : Place::singular});
    if (place.isMessage())
      collect(*place.get());
    else if (field->type() == FieldDescriptor::TYPE_STRING)
      names.push_back(field->is_repeated() ? reflection->GetRepeatedString(message, field, i)
                                           : reflection->GetString(message, field));
  }
}

void Mutator::collect(Message &message) {
  messages.push_back(&message);
  std::vector<const FieldDescriptor *> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor *field : fields)
    collectField(message, field);
}

//===----------------------------------------------------------------------===//
// New values
//===----------------------------------------------------------------------===//

int64_t Mutator::makeNumber() {
  static constexpr int64_t edges[] = {0,
                                      1,
                                      2,
                                      3,
                                      4,
                                      5,
                                      7,
                                      8,
                                      10,
                                      11,
                                      16,
                                      64,
                                      100,
                                      1 << 16,
                                      1 << 20,
                                      INT32_MAX,
                                      int64_t(1) << 31,
                                      int64_t(1) << 32,
                                      int64_t(1) << 40,
                                      int64_t(1) << 62,
                                      INT64_MAX,
                                      INT64_MIN,
                                      INT64_MIN + 1};
  int64_t edge = edges[pick(std::size(edges))];
  return pick(3) ? edge : static_cast<int64_t>(0 - static_cast<uint64_t>(edge));
}

double Mutator::makeFloat() {
  static constexpr double edges[] = {0,
                                     -0.0,
                                     1,
                                     -1,
                                     0.5,
                                     1e-30,
                                     1e30,
                                     -1e30,
                                     3.4e38,
                                     std::numeric_limits<double>::infinity(),
                                     -std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::quiet_NaN()};
  return edges[pick(std::size(edges))];
}

std::string Mutator::makeText(const FieldDescriptor *field, const std::string &old) {
  if (field->type() == FieldDescriptor::TYPE_STRING && !names.empty() && pick(4))
    return pick(8) ? names[pick(names.size())] : std::string();
  std::string text = old;
  text.resize(old.size() + 16);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(text.data()), old.size(), text.size()));
  return text;
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

/// Sets a scalar, whether it is the field or one of its elements.
#define SET(Type, value)                                                                           \
  (place.index == Place::singular                                                                  \
       ? place.reflection()->Set##Type(place.message, place.field, value)                          \
       : place.reflection()->SetRepeated##Type(place.message, place.field, place.index, value))

void Mutator::changeScalar(const Place &place) {
  switch (place.field->cpp_type()) {
  case FieldDescriptor::CPPTYPE_INT32:
    return SET(Int32, static_cast<int32_t>(makeNumber()));
  case FieldDescriptor::CPPTYPE_INT64:
    return SET(Int64, makeNumber());
  case FieldDescriptor::CPPTYPE_UINT64:
    return SET(UInt64, static_cast<uint64_t>(makeNumber()));
  case FieldDescriptor::CPPTYPE_FLOAT:
    return SET(Float, static_cast<float>(makeFloat()));
  case FieldDescriptor::CPPTYPE_DOUBLE:
    return SET(Double, makeFloat());
  case FieldDescriptor::CPPTYPE_ENUM:
    return SET(
        EnumValue,
        place.field->enum_type()->value(pick(place.field->enum_type()->value_count()))->number());
  case FieldDescriptor::CPPTYPE_STRING: {
    std::string old =
        place.index == Place::singular
            ? place.reflection()->GetString(*place.message, place.field)
            : place.reflection()->GetRepeatedString(*place.message, place.field, place.index);
    return SET(String, makeText(place.field, old));
  }
  default:
    return;
  }
}

/// Becomes another one of its kind, or gets one more field.
void Mutator::changeMessage(const Place &place) {
  Message *message = place.get();
  Message *other = messages[pick(messages.size())];
  if (pick(2) || other->GetDescriptor() != message->GetDescriptor() || other == message)
    return addUnset(*message);
  std::string bytes; // one may lie in the other
  if (other->SerializePartialToString(&bytes) && message->ByteSizeLong() + bytes.size() < 1 << 16)
    message->ParsePartialFromString(bytes);
}

/// An element goes, comes twice, or changes places with another.
void Mutator::resize(const Place &place) {
  const Reflection *reflection = place.reflection();
  if (place.index == Place::singular)
    return reflection->ClearField(place.message, place.field);
  int last = reflection->FieldSize(*place.message, place.field) - 1;
  switch (pick(3)) {
  case 0:
    reflection->SwapElements(place.message, place.field, place.index, last);
    return reflection->RemoveLast(place.message, place.field);
  case 1:
    return reflection->SwapElements(place.message, place.field, place.index, pick(last + 1));
  default:
    if (!place.isMessage())
      return addUnset(*place.message);
    std::string bytes;
    place.get()->SerializePartialToString(&bytes);
    reflection->AddMessage(place.message, place.field)->ParsePartialFromString(bytes);
  }
}

/// Adds a value to any field that may have one more.
void Mutator::addUnset(Message &message) {
  const FieldDescriptor *field =
      message.GetDescriptor()->field(pick(message.GetDescriptor()->field_count()));
  const Reflection *reflection = message.GetReflection();
  Place place{&message, field, Place::singular};
  if (field->is_repeated()) {
    place.index = reflection->FieldSize(message, field);
    switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      reflection->AddInt32(&message, field, 0);
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      reflection->AddInt64(&message, field, 0);
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      reflection->AddUInt64(&message, field, 0);
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      reflection->AddFloat(&message, field, 0);
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      reflection->AddDouble(&message, field, 0);
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      reflection->AddString(&message, field, "");
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      reflection->AddMessage(&message, field);
      return;
    default:
      return;
    }
  }
  if (place.isMessage())
    place.get();
  else
    changeScalar(place);
}

void Mutator::change(const Place &place) {
  if (pick(4) == 0)
    resize(place);
  else if (place.isMessage())
    changeMessage(place);
  else
    changeScalar(place);
}

void Mutator::mutate() {
  if (places.empty())
    return addUnset(root);
  change(places[pick(places.size())]);
}

//===----------------------------------------------------------------------===//
// libFuzzer's side
//===----------------------------------------------------------------------===//

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  onnx::ModelProto model;
  if (seed % 16 == 0 || !model.ParsePartialFromArray(data, size))
    return LLVMFuzzerMutate(data, size, maxSize);
  // Each change makes places that were seen before invalid.
  for (unsigned count = 1 + seed / 16 % 3; count > 0; --count)
    Mutator(model, seed + count).mutate();
  std::string bytes;
  if (!model.SerializePartialToString(&bytes) || bytes.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
