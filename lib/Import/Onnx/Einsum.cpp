//===- Einsum.cpp - ONNX's Einsum -----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two operands become a product of matrices: letters of both and of the result are batches,
// those of both alone are summed over, the others are rows and columns. Of more operands, the first
// two are multiplied until two are left.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::imports;

namespace {
struct Equation {
  SmallVector<std::string> operands;
  SmallVector<TensorRef> tensors;
  std::string result;
};

/// Letters of two operands by role: in both and the result, summed over, in one operand alone.
struct Letters {
  std::string batch, inner, left, right;
};
} // namespace

static bool has(StringRef letters, char letter) { return letters.contains(letter); }

/// Without an arrow the result has the dimensions of `...`, then the letters that appear once, in
/// order.
static std::string getImplicitResult(ArrayRef<std::string> operands) {
  std::string all, once;
  bool isOpen = false;
  for (StringRef operand : operands) {
    all += operand;
    isOpen |= operand.contains("...");
  }
  for (char letter : all)
    if (letter != '.' && StringRef(all).count(letter) == 1)
      once += letter;
  llvm::sort(once);
  return (isOpen ? "..." : "") + once;
}

/// Replaces `...` by a digit for each of its `count` dimensions; the last one is 0 in every
/// operand.
static void nameEllipsis(std::string &word, int64_t count) {
  size_t at = word.find("...");
  if (at == std::string::npos)
    return;
  std::string digits;
  while (--count >= 0)
    digits += char('0' + count);
  word.replace(at, 3, digits);
}

/// The number of dimensions of an operand's `...`.
static int64_t countEllipsis(StringRef operand, int64_t rank) {
  return operand.contains("...") ? rank - int64_t(operand.size()) + 3 : 0;
}

/// Whether it holds each letter once, and `...` once at most.
static bool isWord(StringRef operand) {
  auto [front, back] = operand.split("...");
  std::string letters = (front + back).str();
  return llvm::all_of(letters,
                      [&](char c) { return llvm::isAlpha(c) && StringRef(letters).count(c) == 1; });
}

static FailureOr<Equation> parse(Node &node) {
  std::string text = node.getString("equation", "").str();
  llvm::erase(text, ' ');
  auto [left, right] = StringRef(text).split("->");
  Equation equation;
  for (StringRef operand : llvm::split(left, ','))
    equation.operands.push_back(operand.str());
  SmallVector<std::string> written = equation.operands;
  equation.result = StringRef(text).contains("->") ? right.str() : getImplicitResult(written);
  if (int(equation.operands.size()) != node.numInputs())
    return node.error() << "expected an equation of " << node.numInputs() << " operands, found '"
                        << text << "'";
  int64_t widest = 0;
  for (int index = 0; index < node.numInputs(); ++index) {
    std::string &operand = equation.operands[index];
    int64_t rank = node.input(index)->getRank(), open = countEllipsis(operand, rank);
    nameEllipsis(operand, open);
    widest = std::max(widest, open);
    if (!isWord(written[index]) || open < 0 || open > 10 || int64_t(operand.size()) != rank)
      return node.error() << "expected an equation of letters, one for each dimension, found '"
                          << text << "'";
  }
  if (!isWord(equation.result))
    return node.error() << "expected each letter once in the result, found '" << text << "'";
  nameEllipsis(equation.result, widest);
  return equation;
}

/// Transposes `tensor` from dimensions `letters` to `order`.
static TensorRef turn(Body &body, const TensorRef &tensor, StringRef letters, StringRef order) {
  return makeTranspose(body, tensor, llvm::map_to_vector(order, [&](char letter) {
                         return int64_t(letters.find(letter));
                       }));
}

/// Sizes by letter, which operands that share one must share.
static LogicalResult collectSizes(Node &node, const Equation &equation,
                                  std::map<char, OpFoldResult> &sizes) {
  for (auto [index, operand] : llvm::enumerate(equation.operands))
    for (auto [letter, size] : llvm::zip(operand, node.input(index)->sizes)) {
      auto [known, isNew] = sizes.try_emplace(letter, size);
      auto a = getStatic(known->second), b = getStatic(size);
      if (!isNew && a && b && *a != *b)
        return node.error() << "expected sizes of '" << Twine(letter) << "' to match, found " << *a
                            << " and " << *b;
    }
  for (char letter : equation.result)
    if (!sizes.count(letter) || StringRef(equation.result).count(letter) != 1)
      return node.error() << "expected letters of the operands in the result, each once, found '"
                          << equation.result << "'";
  return success();
}

static Letters classify(const Equation &equation) {
  StringRef left = equation.operands[0], right = equation.operands[1];
  Letters letters;
  for (char letter : equation.result)
    (has(left, letter) ? has(right, letter) ? letters.batch : letters.left : letters.right) +=
        letter;
  for (char letter : left)
    if (!has(equation.result, letter))
      letters.inner += letter;
  return letters;
}

/// Sums over the dimensions that one operand alone has.
static void sumAlone(Node &node, Equation &equation) {
  std::string all = equation.result;
  for (const std::string &operand : equation.operands)
    all += operand;
  for (auto [word, tensor] : llvm::zip(equation.operands, equation.tensors)) {
    SmallVector<int64_t> dims;
    for (auto [dim, letter] : llvm::enumerate(word))
      if (StringRef(all).count(letter) == 1)
        dims.push_back(dim);
    if (dims.empty())
      continue;
    tensor = makeReduce(node.body, tensor, ReduceKind::sum, dims, /*keep=*/false);
    llvm::erase_if(word, [&](char letter) { return StringRef(all).count(letter) == 1; });
  }
}

namespace {
/// The product of two operands.
class Product {
public:
  Product(Node &node, const Equation &equation, Letters letters,
          const std::map<char, OpFoldResult> &sizes)
      : node(node), equation(equation), letters(std::move(letters)), sizes(sizes) {}

  FailureOr<TensorRef> make();

private:
  SmallVector<OpFoldResult> getSizes(StringRef word) const {
    return llvm::map_to_vector(word, [&](char letter) { return sizes.at(letter); });
  }
  /// Matrices with the letters of `rows` and `columns`, batches in front.
  TensorRef makeMatrices(int operand, StringRef rows, StringRef columns) const;
  FailureOr<TensorRef> multiplyElements() const;
  FailureOr<TensorRef> multiplyMatrices(bool isKey) const;
  FailureOr<TensorRef> multiplyGroups(bool isKey) const;

  Node &node;
  const Equation &equation;
  Letters letters;
  const std::map<char, OpFoldResult> &sizes;
};
} // namespace

TensorRef Product::makeMatrices(int operand, StringRef rows, StringRef columns) const {
  TensorRef turned = turn(node.body, equation.tensors[operand], equation.operands[operand],
                          letters.batch + rows.str() + columns.str());
  SmallVector<OpFoldResult> shape = getSizes(letters.batch);
  if (shape.size() > 2)
    shape = {multiply(node.body, shape)};
  shape.push_back(multiply(node.body, getSizes(rows)));
  shape.push_back(multiply(node.body, getSizes(columns)));
  return makeReshape(node.body, turned, shape);
}

/// An elementwise product, for equations without a sum.
FailureOr<TensorRef> Product::multiplyElements() const {
  SmallVector<OpFoldResult> shape = getSizes(letters.batch + letters.left);
  shape.append(letters.right.size(), fixedSize(node.model.context, 1));
  TensorRef left = makeReshape(
      node.body,
      turn(node.body, equation.tensors[0], equation.operands[0], letters.batch + letters.left),
      shape);
  shape = getSizes(letters.batch);
  shape.append(letters.left.size(), fixedSize(node.model.context, 1));
  llvm::append_range(shape, getSizes(letters.right));
  TensorRef right = makeReshape(
      node.body,
      turn(node.body, equation.tensors[1], equation.operands[1], letters.batch + letters.right),
      shape);
  return applyElementwise(node, {left, right}, left->element,
                          [](Body &body, ArrayRef<Value> x) -> Value {
                            if (isa<FloatType>(x[0].getType()))
                              return body.make<arith::MulFOp>(x[0], x[1]);
                            return body.make<arith::MulIOp>(x[0], x[1]);
                          });
}

static TensorRef swapLast(Body &body, const TensorRef &matrices) {
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, matrices->getRank()));
  std::swap(order[order.size() - 2], order.back());
  return makeTranspose(body, matrices, order);
}

FailureOr<TensorRef> Product::multiplyMatrices(bool isKey) const {
  TensorRef left = makeMatrices(0, letters.left, letters.inner);
  TensorRef right = isKey ? swapLast(node.body, makeMatrices(1, letters.right, letters.inner))
                          : makeMatrices(1, letters.inner, letters.right);
  return imports::multiplyMatrices(node, left, right);
}

/// Of two letters that the left operand alone has, the first counts the heads that share one of
/// the right operand: as heads they leave positions to be rows.
FailureOr<TensorRef> Product::multiplyGroups(bool isKey) const {
  TensorRef left = turn(node.body, equation.tensors[0], equation.operands[0],
                        letters.batch + letters.left + letters.inner);
  TensorRef right = isKey ? makeMatrices(1, letters.right, letters.inner)
                          : makeMatrices(1, letters.inner, letters.right);
  SmallVector<OpFoldResult> rows = getSizes(letters.batch + letters.left), wide(right->sizes);
  rows.push_back(multiply(node.body, getSizes(letters.inner)));
  wide.insert(wide.begin() + 2, fixedSize(node.model.context, 1));
  right = makeReshape(node.body, right, wide);
  return imports::multiplyMatrices(node, makeReshape(node.body, left, rows),
                                   isKey ? swapLast(node.body, right) : right);
}

FailureOr<TensorRef> Product::make() {
  FailureOr<TensorRef> product;
  if (letters.inner.empty()) {
    product = multiplyElements();
  } else {
    // Keys are summed over their last dimension, values over their first.
    bool isKey = has(letters.inner, equation.operands[1].back());
    bool isGrouped = letters.batch.size() == 2 && letters.left.size() == 2;
    // The rows of a score are beside its keys, those of a prob beside the summed dimension.
    StringRef word = isKey ? equation.result : equation.operands[0];
    if (isGrouped && word.find(letters.left[0]) > word.find(letters.left[1]))
      std::swap(letters.left[0], letters.left[1]);
    product = isGrouped ? multiplyGroups(isKey) : multiplyMatrices(isKey);
  }
  if (failed(product))
    return failure();
  std::string order = letters.batch + letters.left + letters.right;
  return turn(node.body, makeReshape(node.body, *product, getSizes(order)), order, equation.result);
}

/// Of one operand or two.
static FailureOr<TensorRef> contract(Node &node, Equation &equation,
                                     const std::map<char, OpFoldResult> &sizes) {
  sumAlone(node, equation);
  if (equation.operands.size() == 1)
    return turn(node.body, equation.tensors[0], equation.operands[0], equation.result);
  return Product(node, equation, classify(equation), sizes).make();
}

/// Takes the first two operands out, with the letters of them that are read later as their result.
static Equation splitFirst(Equation &equation) {
  Equation first;
  for (int index = 0; index < 2; ++index) {
    first.operands.push_back(equation.operands[index]);
    first.tensors.push_back(equation.tensors[index]);
  }
  equation.operands.erase(equation.operands.begin(), equation.operands.begin() + 2);
  equation.tensors.erase(equation.tensors.begin(), equation.tensors.begin() + 2);
  std::string later = equation.result;
  for (StringRef operand : equation.operands)
    later += operand;
  for (char letter : first.operands[0] + first.operands[1])
    if (has(later, letter) && !has(first.result, letter))
      first.result += letter;
  return first;
}

LogicalResult imports::importEinsum(Node &node) {
  FailureOr<Equation> equation = parse(node);
  std::map<char, OpFoldResult> sizes;
  if (failed(equation) || failed(collectSizes(node, *equation, sizes)))
    return failure();
  for (int index = 0; index < node.numInputs(); ++index) {
    equation->tensors.push_back(node.input(index));
    if (node.input(index)->element != node.input(0)->element)
      return node.error() << "expected operands of one type, found " << node.input(0)->element
                          << " and " << node.input(index)->element;
  }
  while (equation->operands.size() > 2) {
    Equation first = splitFirst(*equation);
    FailureOr<TensorRef> product = contract(node, first, sizes);
    if (failed(product))
      return failure();
    equation->operands.insert(equation->operands.begin(), first.result);
    equation->tensors.insert(equation->tensors.begin(), *product);
  }
  FailureOr<TensorRef> product = contract(node, *equation, sizes);
  return node.setOutput(product);
}
