//===- MaskBody.cpp - short forms of the common masks
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `causal(top_left) kv_lengths(%n : tensor<?xi32>)` and the like expand into the region of
// `attn.mask` while they are parsed, so that everything after the parser sees one form. The parser
// first collects a list of forms: their bodies read the score's sizes, and the score's type comes
// last.
//
//===----------------------------------------------------------------------===//

#include "MaskBody.h"

#include "Bodies.h"

#include "attnc/Dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Alignment of the diagonal if q_len and kv_len differ.
enum class Corner { topLeft, bottomRight };

/// The lengths of sequences that forms of a mask give to others; null if none does.
struct SequenceLengths {
  Value qOffsets, kvOffsets, kvLengths;

  bool areGiven() const { return qOffsets || kvOffsets; }
};

/// The inputs for building the body of a mask.
struct Body {
  ImplicitLocOpBuilder b;
  Value score, batch, head, q, k;
  SequenceLengths lengths;

  Value constant(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, predicate, lhs, rhs);
  }
  Value extract(Value tensor, ValueRange indices) {
    return tensor::ExtractOp::create(b, tensor, indices);
  }
};

/// The condition of one form.
struct Form {
  std::function<Value(Body &)> build;
  Corner corner = Corner::topLeft;
};

/// The positions of rows and of keys in their sequence: the starts of what q and k count, or a
/// position of each. Null if q or k is the position.
struct Positions {
  Value query, key;
};

} // namespace

//===----------------------------------------------------------------------===//
// The conditions
//===----------------------------------------------------------------------===//

/// Element `at` of the lengths or offsets of sequences.
static Value readLength(Body &body, Value lengths, Value at) {
  return arith::IndexCastOp::create(body.b, body.b.getIndexType(), body.extract(lengths, at));
}

/// The length of the batch's sequence.
static Value subtractOffsets(Body &body, Value offsets) {
  Value next = arith::AddIOp::create(body.b, body.batch, body.constant(1));
  Value end = readLength(body, offsets, next), first = readLength(body, offsets, body.batch);
  return arith::SubIOp::create(body.b, end, first);
}

static Value getQLen(Body &body) {
  if (Value offsets = body.lengths.qOffsets)
    return subtractOffsets(body, offsets);
  return tensor::DimOp::create(body.b, body.score, 2);
}

static Value getKvLen(Body &body) {
  if (Value offsets = body.lengths.kvOffsets)
    return subtractOffsets(body, offsets);
  if (Value lengths = body.lengths.kvLengths; lengths && body.lengths.areGiven())
    return readLength(body, lengths, body.batch);
  return tensor::DimOp::create(body.b, body.score, 3);
}

/// The last key on the diagonal of row q.
static Value diagonal(Body &body, Corner corner) {
  if (corner == Corner::topLeft)
    return body.q;
  Value qLen = getQLen(body), kvLen = getKvLen(body);
  Value offset = arith::SubIOp::create(body.b, kvLen, qLen);
  return arith::AddIOp::create(body.b, body.q, offset);
}

static Value buildCausal(Body &body, Corner corner) {
  return body.compare(arith::CmpIPredicate::sle, body.k, diagonal(body, corner));
}

static Value buildWindow(Body &body, int64_t left, int64_t right, Corner corner) {
  Value middle = diagonal(body, corner);
  Value first = arith::SubIOp::create(body.b, middle, body.constant(left));
  Value last = arith::AddIOp::create(body.b, middle, body.constant(right));
  Value above = body.compare(arith::CmpIPredicate::sge, body.k, first);
  Value below = body.compare(arith::CmpIPredicate::sle, body.k, last);
  return arith::AndIOp::create(body.b, above, below);
}

static Value buildKvLengths(Body &body, Value lengths) {
  return body.compare(arith::CmpIPredicate::slt, body.k, readLength(body, lengths, body.batch));
}

static Value buildKvOffsets(Body &body, Value offsets) {
  return body.compare(arith::CmpIPredicate::slt, body.k, subtractOffsets(body, offsets));
}

static Value buildPrefix(Body &body, Value lengths) {
  Value causal = buildCausal(body, Corner::topLeft);
  Value prefix = buildKvLengths(body, lengths);
  return arith::OrIOp::create(body.b, causal, prefix);
}

static Value buildDocuments(Body &body, Value queryIds, Value keyIds) {
  Value queryId = body.extract(queryIds, {body.batch, body.q});
  Value keyId = body.extract(keyIds, {body.batch, body.k});
  return body.compare(arith::CmpIPredicate::eq, queryId, keyId);
}

static Value buildBlock(Body &body, int64_t size) {
  Value divisor = body.constant(size);
  Value queryBlock = arith::DivSIOp::create(body.b, body.q, divisor);
  Value keyBlock = arith::DivSIOp::create(body.b, body.k, divisor);
  return body.compare(arith::CmpIPredicate::eq, queryBlock, keyBlock);
}

/// The position of row or key `index`.
static Value buildPosition(Body &body, Value positions, Value index) {
  int64_t rank = cast<RankedTensorType>(positions.getType()).getRank();
  Value all[] = {body.batch, index};
  Value position = body.extract(positions, ArrayRef(all).take_front(rank));
  position = arith::IndexCastOp::create(body.b, body.b.getIndexType(), position);
  return rank == 2 ? position : arith::AddIOp::create(body.b, index, position);
}

static Value buildTensor(Body &body, Value mask) {
  auto type = cast<RankedTensorType>(mask.getType());
  Value all[] = {body.batch, body.head, body.q, body.k};
  SmallVector<Value> indices;
  for (auto [size, index] : llvm::zip(type.getShape(), ArrayRef(all).take_back(type.getRank())))
    indices.push_back(size == 1 ? body.constant(0) : index);
  return body.extract(mask, indices);
}

//===----------------------------------------------------------------------===//
// The text
//===----------------------------------------------------------------------===//

/// Parses a keyword for the corner.
static ParseResult parseCorner(OpAsmParser &parser, Corner &corner) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword(&word, {"top_left", "bottom_right"})))
    return parser.emitError(loc, "expected top_left or bottom_right");
  corner = word == "top_left" ? Corner::topLeft : Corner::bottomRight;
  return success();
}

static ParseResult parseInteger(OpAsmParser &parser, StringRef what, int64_t least,
                                int64_t &value) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(value))
    return failure();
  if (value < least)
    return parser.emitError(loc, "expected ")
           << what << " of " << least << " or more, found " << value;
  // Kernels compute an index in 32 bits. No tensor is that long, so this means the same.
  value = std::min(value, int64_t(1) << 30);
  return success();
}

static ParseResult parseCausal(OpAsmParser &parser, Form &form, SequenceLengths &) {
  Corner corner;
  if (parser.parseLParen() || parseCorner(parser, corner) || parser.parseRParen())
    return failure();
  form = {[=](Body &body) { return buildCausal(body, corner); }, corner};
  return success();
}

static ParseResult parseWindow(OpAsmParser &parser, Form &form, SequenceLengths &) {
  int64_t left, right;
  Corner corner = Corner::topLeft;
  if (parser.parseLParen() || parseInteger(parser, "a left window", 0, left) ||
      parser.parseComma() || parseInteger(parser, "a right window", 0, right))
    return failure();
  if (succeeded(parser.parseOptionalComma()) && parseCorner(parser, corner))
    return failure();
  form = {[=](Body &body) { return buildWindow(body, left, right, corner); }, corner};
  return parser.parseRParen();
}

static ParseResult parseBlock(OpAsmParser &parser, Form &form, SequenceLengths &) {
  int64_t size;
  if (parser.parseLParen() || parseInteger(parser, "a block size", 1, size) || parser.parseRParen())
    return failure();
  form = {[=](Body &body) { return buildBlock(body, size); }};
  return success();
}

/// Parses `(%a, %b : type, type)`.
static ParseResult parseTensors(OpAsmParser &parser, SmallVectorImpl<Value> &tensors) {
  SmallVector<OpAsmParser::UnresolvedOperand, 2> operands;
  SmallVector<Type, 2> types;
  SMLoc loc = parser.getCurrentLocation();
  return failure(parser.parseLParen() || parser.parseOperandList(operands) ||
                 parser.parseColonTypeList(types) || parser.parseRParen() ||
                 parser.resolveOperands(operands, types, loc, tensors));
}

static bool isIntegerTensor(Value value, int64_t rank) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() != rank)
    return false;
  return type.getElementType().isInteger(32) || type.getElementType().isInteger(64);
}

/// Parses one tensor<?xi32> or tensor<?xi64>, a length per batch.
static ParseResult parseLengths(OpAsmParser &parser, StringRef word, Value &lengths) {
  SmallVector<Value> tensors;
  SMLoc loc = parser.getCurrentLocation();
  if (parseTensors(parser, tensors))
    return failure();
  if (tensors.size() != 1)
    return parser.emitError(loc, "expected one tensor for ")
           << word << ", found " << tensors.size();
  lengths = tensors.front();
  if (!isIntegerTensor(lengths, 1))
    return parser.emitError(loc, "expected a rank 1 tensor of i32 or i64 for ")
           << word << ", found " << lengths.getType();
  return success();
}

/// Parses the tensor, of which `build` makes the condition.
static ParseResult parseLengths(OpAsmParser &parser, StringRef word, Value (*build)(Body &, Value),
                                Form &form, Value &lengths) {
  if (parseLengths(parser, word, lengths))
    return failure();
  form = {[build, lengths](Body &body) { return build(body, lengths); }};
  return success();
}

static ParseResult parseKvLengths(OpAsmParser &parser, Form &form, SequenceLengths &known) {
  return parseLengths(parser, "kv_lengths", buildKvLengths, form, known.kvLengths);
}

static ParseResult parseKvOffsets(OpAsmParser &parser, Form &form, SequenceLengths &known) {
  return parseLengths(parser, "kv_offsets", buildKvOffsets, form, known.kvOffsets);
}

static ParseResult parsePrefix(OpAsmParser &parser, Form &form, SequenceLengths &) {
  Value lengths;
  return parseLengths(parser, "prefix", buildPrefix, form, lengths);
}

/// Has no condition of its own.
static ParseResult parseQOffsets(OpAsmParser &parser, Form &, SequenceLengths &known) {
  return parseLengths(parser, "q_offsets", known.qOffsets);
}

static ParseResult parseDocuments(OpAsmParser &parser, Form &form, SequenceLengths &) {
  SmallVector<Value> ids;
  SMLoc loc = parser.getCurrentLocation();
  if (parseTensors(parser, ids))
    return failure();
  if (ids.size() != 1 && ids.size() != 2)
    return parser.emitError(loc, "expected one or two tensors for documents, found ") << ids.size();
  for (Value id : ids)
    if (!isIntegerTensor(id, 2))
      return parser.emitError(loc, "expected a rank 2 tensor of i32 or i64 for documents, found ")
             << id.getType();
  Value queryIds = ids.front(), keyIds = ids.back();
  if (getElementTypeOrSelf(queryIds) != getElementTypeOrSelf(keyIds))
    return parser.emitError(loc, "expected document ids of one type, found ")
           << getElementTypeOrSelf(queryIds) << " and " << getElementTypeOrSelf(keyIds);
  form = {[=](Body &body) { return buildDocuments(body, queryIds, keyIds); }};
  return success();
}

static ParseResult parseTensor(OpAsmParser &parser, Form &form, SequenceLengths &) {
  SmallVector<Value> tensors;
  SMLoc loc = parser.getCurrentLocation();
  if (parseTensors(parser, tensors))
    return failure();
  if (tensors.size() != 1)
    return parser.emitError(loc, "expected one tensor for tensor, found ") << tensors.size();
  Value mask = tensors.front();
  auto type = dyn_cast<RankedTensorType>(mask.getType());
  if (!type || !type.getElementType().isInteger(1) || type.getRank() < 1 || type.getRank() > 4)
    return parser.emitError(loc, "expected an i1 tensor of rank 1 to 4 for tensor, found ")
           << mask.getType();
  form = {[=](Body &body) { return buildTensor(body, mask); }};
  return success();
}

static ParseResult parseForm(OpAsmParser &parser, StringRef word, SMLoc loc, Form &form,
                             SequenceLengths &lengths) {
  using Parse = ParseResult (*)(OpAsmParser &, Form &, SequenceLengths &);
  static constexpr std::pair<StringLiteral, Parse> forms[] = {
      {"causal", parseCausal},        {"window", parseWindow},      {"kv_lengths", parseKvLengths},
      {"kv_offsets", parseKvOffsets}, {"q_offsets", parseQOffsets}, {"prefix", parsePrefix},
      {"documents", parseDocuments},  {"block", parseBlock},        {"tensor", parseTensor}};
  for (auto [name, parse] : forms)
    if (name == word)
      return parse(parser, form, lengths);
  return parser.emitError(loc, "expected a region or one of causal, window, kv_lengths, "
                               "kv_offsets, q_offsets, prefix, documents, block and tensor, found ")
         << word;
}

/// Whether a value is a tensor of at most rank 2 of i32 or i64.
static bool arePositions(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() <= 2 && isIntegerTensor(value, type.getRank());
}

static ParseResult parsePositions(OpAsmParser &parser, Positions &positions) {
  SmallVector<Value> tensors;
  SMLoc loc = parser.getCurrentLocation();
  if (parseTensors(parser, tensors))
    return failure();
  if (tensors.size() != 1 && tensors.size() != 2)
    return parser.emitError(loc, "expected one or two tensors for positions, found ")
           << tensors.size();
  for (Value tensor : tensors)
    if (!arePositions(tensor))
      return parser.emitError(
                 loc, "expected a tensor of rank 0 to 2 of i32 or i64 for positions, found ")
             << tensor.getType();
  positions.query = tensors.front();
  if (tensors.size() == 2)
    positions.key = tensors.back();
  return success();
}

static ParseResult parseForms(OpAsmParser &parser, Positions &positions,
                              SmallVectorImpl<Form> &forms, SequenceLengths &lengths) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("positions"))) {
    if (parsePositions(parser, positions))
      return failure();
    loc = parser.getCurrentLocation();
  }
  while (succeeded(parser.parseOptionalKeyword(&word))) {
    Form form;
    if (parseForm(parser, word, loc, form, lengths))
      return failure();
    if (form.build)
      forms.push_back(form);
    if (positions.query && form.corner == Corner::bottomRight)
      return parser.emitError(loc, "expected top_left at positions, found bottom_right");
    if (positions.key && lengths.kvOffsets)
      return parser.emitError(loc, "expected no kv_offsets at positions of keys, which they would "
                                   "compare: put them in a mask of their own");
    loc = parser.getCurrentLocation();
  }
  if (forms.empty())
    return parser.emitError(loc, "expected a region or a mask such as causal(top_left)");
  return success();
}

//===----------------------------------------------------------------------===//
// The region
//===----------------------------------------------------------------------===//

/// Fills the region with the conjunction of the forms.
static void expand(Region &region, const Positions &positions, ArrayRef<Form> forms,
                   const SequenceLengths &lengths, Location loc, Value score) {
  ImplicitLocOpBuilder b(loc, loc.getContext());
  Block *block = createBody(b, region, /*element=*/Type(), loc);
  Body body{b,
            score,
            block->getArgument(0),
            block->getArgument(1),
            block->getArgument(2),
            block->getArgument(3),
            lengths};
  if (positions.query)
    body.q = buildPosition(body, positions.query, body.q);
  if (positions.key)
    body.k = buildPosition(body, positions.key, body.k);
  Value all = forms.front().build(body);
  for (const Form &form : forms.drop_front()) {
    Value next = form.build(body);
    all = arith::AndIOp::create(b, all, next);
  }
  YieldOp::create(b, all);
}

/// Parses `{attributes} : type`, which every form of the op ends with.
static ParseResult parseEnd(OpAsmParser &parser, NamedAttrList &attributes, Type &scoreType) {
  return failure(parser.parseOptionalAttrDict(attributes) || parser.parseColonType(scoreType));
}

ParseResult attn::parseMaskBody(OpAsmParser &parser, Region &body, NamedAttrList &attributes,
                                const OpAsmParser::UnresolvedOperand &score, Type &scoreType) {
  SMLoc loc = parser.getCurrentLocation();
  OptionalParseResult region = parser.parseOptionalRegion(body);
  if (region.has_value())
    return failure(failed(*region) || parseEnd(parser, attributes, scoreType));
  Positions positions;
  SmallVector<Form> forms;
  SequenceLengths lengths;
  SmallVector<Value> scores;
  if (parseForms(parser, positions, forms, lengths) || parseEnd(parser, attributes, scoreType) ||
      parser.resolveOperand(score, scoreType, scores))
    return failure();
  expand(body, positions, forms, lengths, parser.getEncodedSourceLoc(loc), scores.front());
  return success();
}

void attn::printMaskBody(OpAsmPrinter &printer, Operation *op, Region &body,
                         DictionaryAttr attributes, Value score, Type scoreType) {
  printer.printRegion(body);
  printer.printOptionalAttrDict(attributes.getValue());
  printer << " : " << scoreType;
}
