//===- ScheduleDatabase.cpp - schedules that were measured ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Dialect/Attn/ScheduleDatabase.h"

#include "attnc/Dialect/Attn/LinearSchedules.h"
#include "attnc/Dialect/Attn/ScheduleText.h"
#include "attnc/Files/WholeFile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace mlir::attn;
namespace json = llvm::json;

StringRef attn::getProcessor() {
  static const std::string name = llvm::sys::getHostCPUName().str();
  return name;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

namespace mlir::attn {
static bool fromJSON(const json::Value &value, Measurement &measured, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("q_len", measured.qLen) && map.map("sizes", measured.sizes) &&
         map.map("ms", measured.milliseconds) && map.map("before_ms", measured.before);
}

static bool fromJSON(const json::Value &value, MeasuredSchedules &entry, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("cpu", entry.cpu) && map.map("target", entry.target) &&
         map.map("op", entry.op) && map.map("schedules", entry.schedules) &&
         map.map("measured", entry.measured);
}

static json::Value toJSON(const Measurement &measured) {
  return json::Object{{"q_len", measured.qLen},
                      {"sizes", measured.sizes},
                      {"ms", measured.milliseconds},
                      {"before_ms", measured.before}};
}

static json::Value toJSON(const MeasuredSchedules &entry) {
  return json::Object{{"cpu", entry.cpu},
                      {"target", entry.target},
                      {"op", entry.op},
                      {"schedules", entry.schedules},
                      {"measured", entry.measured}};
}
} // namespace mlir::attn

/// The place and the message of `[3:14, byte=20]: Expected object key`.
static std::pair<FileLineColLoc, std::string> splitError(StringRef path, StringRef error,
                                                         MLIRContext *context) {
  unsigned line = 1, column = 1;
  StringRef rest = error;
  if (rest.consume_front("[") && !rest.consumeInteger(10, line) && rest.consume_front(":") &&
      !rest.consumeInteger(10, column))
    error = rest.split("]: ").second;
  std::string message = error.str();
  if (!message.empty())
    message[0] = llvm::toLower(message[0]);
  return {FileLineColLoc::get(context, path, line, column), message};
}

static std::string getMessage(llvm::Error error) { return llvm::toString(std::move(error)); }

static LogicalResult report(Location loc, DiagnosticSeverity severity, const Twine &message) {
  InFlightDiagnostic diagnostic = loc.getContext()->getDiagEngine().emit(loc, severity) << message;
  return failure();
}

static constexpr int64_t kVersion = 1;

FailureOr<ScheduleDatabase> ScheduleDatabase::read(StringRef path, MLIRContext *context,
                                                   DiagnosticSeverity severity) {
  ScheduleDatabase database;
  database.path = path.str();
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer && buffer.getError() == std::errc::no_such_file_or_directory)
    return database;
  auto wrong = [&](StringRef error) {
    auto [loc, message] = splitError(path, error, context);
    return report(loc, severity, "expected a database of attnc tune: " + message);
  };
  if (!buffer)
    return wrong(buffer.getError().message());
  database.text = (*buffer)->getBuffer().str();
  llvm::Expected<json::Value> parsed = json::parse(database.text);
  if (!parsed)
    return wrong(getMessage(parsed.takeError()));
  json::Path::Root root("database");
  json::ObjectMapper map(*parsed, root);
  int64_t version = 0;
  if (!map || !map.map("version", version) || !map.map("schedules", database.entries))
    return wrong(getMessage(root.getError()));
  if (version != kVersion)
    return wrong(llvm::formatv("expected version {0}, found {1}", kVersion, version).str());
  return database;
}

std::error_code ScheduleDatabase::write() const {
  return writeWholeFile(path, [&](llvm::raw_ostream &os) {
    os << llvm::formatv("{0:2}\n",
                        json::Value(json::Object{{"version", kVersion}, {"schedules", entries}}));
  });
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

const MeasuredSchedules *ScheduleDatabase::find(StringRef cpu, StringRef target,
                                                StringRef op) const {
  const MeasuredSchedules *other = nullptr;
  for (const MeasuredSchedules &entry : entries) {
    if (entry.op == op && entry.cpu == cpu && entry.target == target)
      return &entry;
    if (entry.op == op && entry.cpu != cpu)
      other = &entry;
  }
  return other;
}

void ScheduleDatabase::set(MeasuredSchedules entry) {
  auto isSame = [&](const MeasuredSchedules &other) {
    return other.cpu == entry.cpu && other.target == entry.target && other.op == entry.op;
  };
  auto same = llvm::find_if(entries, isSame);
  if (same == entries.end())
    entries.push_back(std::move(entry));
  else
    *same = std::move(entry);
}

/// Entries stand in the file in order.
Location ScheduleDatabase::locate(const MeasuredSchedules &entry, MLIRContext *context) const {
  size_t at = 0;
  for (int64_t index = &entry - entries.data(); index >= 0 && at != StringRef::npos; --index)
    at = StringRef(text).find("\"cpu\"", at) + 1;
  StringRef before = StringRef(text).take_front(at);
  unsigned line = before.count('\n') + 1, column = at - (before.rfind('\n') + 1);
  return FileLineColLoc::get(context, path, line, column);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

std::string attn::describeClass(Operation *op) {
  SetVector<Value> read(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), read);
  auto types = llvm::map_to_vector(read, [](Value value) { return value.getType(); });
  OpBuilder builder(op->getContext());
  Location loc = builder.getUnknownLoc();
  auto function =
      func::FuncOp::create(loc, "op", builder.getFunctionType(types, op->getResultTypes()));
  function.setPrivate();
  builder.setInsertionPointToEnd(function.addEntryBlock());
  IRMapping mapping;
  mapping.map(read.getArrayRef(), function.getArguments());
  Operation *copy = builder.clone(*op, mapping);
  putSchedules(copy, {});
  copy->setDiscardableAttrs(builder.getDictionaryAttr({}));
  auto linear = dyn_cast<LinearOp>(op);
  if (linear && hasConstantWeight(linear))
    copy->setDiscardableAttr("constant_weight", builder.getUnitAttr());
  func::ReturnOp::create(builder, loc, copy->getResults());
  std::string text;
  llvm::raw_string_ostream os(text);
  function.print(os, OpPrintingFlags().useLocalScope().printGenericOpForm(false));
  function->erase();
  return text;
}
