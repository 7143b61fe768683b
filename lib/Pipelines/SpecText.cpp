//===- SpecText.cpp - checks before MLIR parses a spec --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass over the text, which recognises brackets, strings, comments, lists of dimensions and the
// names of types and attributes (`!pair = tuple<f32, f32>`). Through such names a short text can
// expand to a deep or a long one: each use of a name counts with the depth and length of its
// definition.
//
//===----------------------------------------------------------------------===//

#include "attnc/Pipelines/SpecText.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace mlir::attn;
using llvm::StringRef;
using llvm::Twine;

/// Nesting of brackets. Specs by people or our passes come nowhere near.
static constexpr int64_t kMaxDepth = 256;
/// Names and brackets in the expansion of one type or attribute.
static constexpr int64_t kMaxLength = 1 << 20;
/// Kernels count elements of a dimension in 32 bits, and bytes of a tensor in 64.
static constexpr int64_t kMaxSize = INT32_MAX, kMaxElements = INT64_MAX / 16;
/// Characters of an affine map or set, whose sums are parsed by recursion.
static constexpr size_t kMaxAffineLength = 1 << 12;

namespace {
class TextChecker {
public:
  explicit TextChecker(StringRef text, size_t at = 0) : text(text), at(at) {}

  std::optional<SpecRefusal> check();

private:
  /// Nesting depth and length of an expansion, and whether there is a `[]` in it.
  struct Extent {
    int64_t depth = 0, length = 1;
    bool hasEmptyList = false;
  };

  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : 0; }
  void refuse(const Twine &message);
  void startOp(StringRef name);
  void skipString();
  void skipWord();
  void open();
  void checkList();
  void refuseGroup();
  void close();
  bool startDefinition();
  void endDefinition();
  void useName();
  void readWord();
  void readDimensions();
  void step();

  StringRef text;
  size_t at = 0;
  std::optional<SpecRefusal> refusal;
  llvm::SmallVector<char> brackets;
  /// Definitions by `!name` and `#name`; the name being defined.
  llvm::StringMap<Extent> named;
  StringRef defined;
  bool hasValue = false;
  Extent current;
  /// Number of brackets around a tensor.from_elements, whose type is within one more: the parser
  /// allocates a list of as many values as that type has elements.
  std::optional<size_t> fromElements;
  /// Within a tensor.expand_shape, whose verifier does not survive an empty group.
  bool isExpansion = false;
  std::optional<size_t> affineStart;
  size_t affineDepth = 0;
};
} // namespace

void TextChecker::refuse(const Twine &message) {
  if (refusal)
    return;
  StringRef before = text.take_front(at);
  size_t lineStart = before.rfind('\n') + 1; // npos + 1 is 0
  refusal =
      SpecRefusal{unsigned(before.count('\n') + 1), unsigned(at - lineStart + 1), message.str()};
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

/// By its name, which is quoted in MLIR's generic form.
void TextChecker::startOp(StringRef name) {
  if (name == "tensor.from_elements")
    fromElements = brackets.size();
  isExpansion |= name.ends_with(".expand_shape");
}

void TextChecker::skipString() {
  size_t start = ++at;
  for (; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
    at += text[at] == '\\';
  startOp(text.slice(start, at));
  hasValue = true;
  ++at;
}

static bool isWordPart(char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; }

void TextChecker::skipWord() {
  while (isWordPart(peek()))
    ++at;
}

//===----------------------------------------------------------------------===//
// Depth
//===----------------------------------------------------------------------===//

/// At an empty list.
void TextChecker::refuseGroup() {
  if (isExpansion)
    refuse("expected dimensions in each group of an expand_shape, found []");
}

/// At a `[`.
void TextChecker::checkList() {
  size_t next = text.find_first_not_of(" \t\r\n", at + 1);
  if (next == StringRef::npos || text[next] != ']')
    return;
  current.hasEmptyList = true;
  if (!brackets.empty() && brackets.back() == '[')
    refuseGroup();
}

void TextChecker::open() {
  if (peek() == '[')
    checkList();
  brackets.push_back(peek());
  current.depth = std::max<int64_t>(current.depth, brackets.size());
  ++current.length;
  if (brackets.size() > kMaxDepth)
    refuse("expected at most " + Twine(kMaxDepth) + " nested brackets, found more");
}

/// Unmatched brackets are the parser's errors.
void TextChecker::close() {
  char opening = peek() == ')' ? '(' : peek() == ']' ? '[' : peek() == '}' ? '{' : '<';
  auto last = std::find(brackets.rbegin(), brackets.rend(), opening);
  if (last != brackets.rend())
    brackets.resize(brackets.rend() - last - 1);
  hasValue = true;
  if (affineStart && brackets.size() <= affineDepth)
    affineStart.reset();
}

/// `!name =`, outside all brackets.
bool TextChecker::startDefinition() {
  size_t end = at + 1;
  while (end < text.size() && isWordPart(text[end]))
    ++end;
  size_t equals = text.find_first_not_of(" \t\r\n", end);
  if (equals == StringRef::npos || text[equals] != '=')
    return false;
  endDefinition();
  defined = text.slice(at, end);
  at = equals + 1;
  return true;
}

void TextChecker::endDefinition() {
  if (!defined.empty())
    named[defined] = current;
  defined = {};
  hasValue = false;
  current = Extent();
}

void TextChecker::useName() {
  size_t start = at++;
  skipWord();
  hasValue = true;
  auto known = named.find(text.slice(start, at));
  if (known == named.end())
    return;
  current.depth = std::max<int64_t>(current.depth, brackets.size() + known->second.depth);
  current.length += known->second.length;
  current.hasEmptyList |= known->second.hasEmptyList;
  if (known->second.hasEmptyList)
    refuseGroup();
  if (current.depth > kMaxDepth || (!defined.empty() && current.length > kMaxLength))
    refuse("expected " + text.slice(start, at) + " to expand to at most " + Twine(kMaxDepth) +
           " nested brackets and " + Twine(kMaxLength) + " names and brackets, found more");
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// `4x?x8xf32`, from the first size on.
void TextChecker::readDimensions() {
  size_t start = at;
  int64_t elements = 1;
  bool isResult = fromElements && brackets.size() == *fromElements + 1;
  while (llvm::isDigit(peek()) || peek() == '?') {
    size_t begin = at++;
    while (llvm::isDigit(peek()) && text[begin] != '?')
      ++at;
    StringRef size = text.slice(begin, at);
    if (peek() != 'x') // a rank, a width or the like
      return;
    ++at;
    int64_t number = 1;
    if (size != "?" && (size.getAsInteger(10, number) || number > kMaxSize))
      return at = begin,
             refuse("expected a size of at most " + Twine(kMaxSize) + ", found " + size);
    if (number != 0 && elements > kMaxElements / number)
      return at = start,
             refuse("expected a type of at most " + Twine(kMaxElements) + " elements, found more");
    elements *= number;
  }
  if (isResult && elements > int64_t(text.size()))
    at = start,
    refuse("expected " + Twine(elements) + " operands, one per element of the result, found fewer");
  if (isResult && at != start)
    fromElements.reset();
}

void TextChecker::readWord() {
  size_t start = at;
  skipWord();
  StringRef word = text.slice(start, at);
  hasValue = true;
  startOp(word);
  if (word == "into")
    isExpansion = false;
  if (word == "affine_map" || word == "affine_set") {
    affineStart = start;
    affineDepth = brackets.size();
  }
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

void TextChecker::step() {
  char c = peek();
  if (affineStart && at - *affineStart > kMaxAffineLength)
    return refuse("expected an affine map of at most " + Twine(kMaxAffineLength) +
                  " characters, found more");
  if (c == '\n' && hasValue && brackets.empty())
    endDefinition();
  if (c == '/' && peek(1) == '/') {
    if (text.substr(at).starts_with("// -----")) // start of the next spec in the file
      *this = TextChecker(text, at);
    at = std::min(text.find('\n', at), text.size());
  } else if (c == '"') {
    skipString();
  } else if (c == '-' && peek(1) == '>') {
    isExpansion = false;
    at += 2;
  } else if ((c == '<' || c == '>') && peek(1) == '=') {
    at += 2;
  } else if (c == '(' || c == '[' || c == '{' || c == '<') {
    open();
    ++at;
    if (c == '<')
      readDimensions();
  } else if (c == ')' || c == ']' || c == '}' || c == '>') {
    close();
    ++at;
  } else if (c == '!' || c == '#') {
    if (!brackets.empty() || !startDefinition())
      useName();
  } else if (c == '%' || c == '@' || c == '^') {
    ++at;
    if (peek() != '"')
      skipWord();
  } else if (isWordPart(c)) {
    readWord();
  } else {
    ++at;
  }
}

std::optional<SpecRefusal> TextChecker::check() {
  while (at < text.size() && !refusal)
    step();
  return refusal;
}

std::optional<SpecRefusal> attn::checkSpecText(llvm::MemoryBufferRef spec, bool allowBytecode) {
  if (!isBytecode(spec))
    return TextChecker(spec.getBuffer()).check();
  if (allowBytecode)
    return std::nullopt;
  return SpecRefusal{0, 0,
                     "expected a spec as text, found MLIR bytecode, which only "
                     "--allow-bytecode lets in"};
}
