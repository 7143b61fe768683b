//===- TextMutator.cpp - mutations of text, word by word ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words and numbers are replaced by others of the text, of the dictionary or from an edge;
// words and lines go, come twice or change places. Now and then bytes change.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {

using Pieces = std::vector<std::string>;

bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || (c && std::strchr("_.%@#!^", c));
}

/// Where the piece at `begin` ends. Sizes of a shape, as in 2x?x64xf32, are pieces of their own.
size_t findEnd(const std::string &text, size_t begin) {
  size_t end = begin + 1;
  bool isBetweenSizes =
      text[begin] == 'x' && begin > 0 && (isDigit(text[begin - 1]) || text[begin - 1] == '?');
  if (isBetweenSizes || !isWord(text[begin]))
    return end;
  bool isNumber = isDigit(text[begin]);
  while (end < text.size() &&
         (isNumber ? isDigit(text[end]) || text[end] == '.' : isWord(text[end])))
    ++end;
  return end;
}

/// Words, numbers and single other characters.
Pieces splitWords(const std::string &text) {
  Pieces pieces;
  for (size_t i = 0, end; i < text.size(); i = end) {
    end = findEnd(text, i);
    pieces.push_back(text.substr(i, end - i));
  }
  return pieces;
}

Pieces splitLines(const std::string &text) {
  Pieces pieces;
  for (size_t i = 0, end; i < text.size(); i = end) {
    end = text.find('\n', i);
    end = end == std::string::npos ? text.size() : end + 1;
    pieces.push_back(text.substr(i, end - i));
  }
  return pieces;
}

std::string join(const Pieces &pieces) {
  std::string text;
  for (const std::string &piece : pieces)
    text += piece;
  return text;
}

class Mutator {
public:
  explicit Mutator(unsigned seed) : random(seed) {}
  std::string mutate(const std::string &text);

private:
  size_t pick(size_t count) { return random() % count; }
  void move(Pieces &pieces);
  void replaceWord(Pieces &words);
  std::string findOther(const Pieces &words, const std::string &word);
  std::string makeNumber();

  std::minstd_rand random;
};

} // namespace

/// A piece goes, comes twice or changes places.
void Mutator::move(Pieces &pieces) {
  size_t from = pick(pieces.size()), to = pick(pieces.size());
  switch (pick(4)) {
  case 0:
    pieces.erase(pieces.begin() + from);
    return;
  case 1:
    pieces.insert(pieces.begin() + to, std::string(pieces[from]));
    return;
  case 2:
    pieces[to] = pieces[from];
    return;
  default:
    std::swap(pieces[from], pieces[to]);
  }
}

std::string Mutator::makeNumber() {
  static const char *const edges[] = {"0",
                                      "1",
                                      "2",
                                      "3",
                                      "4",
                                      "7",
                                      "8",
                                      "16",
                                      "17",
                                      "64",
                                      "65",
                                      "128",
                                      "1000",
                                      "65536",
                                      "1048576",
                                      "2147483647",
                                      "2147483648",
                                      "4294967296",
                                      "1099511627776",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "-1",
                                      "-2",
                                      "-2147483648",
                                      "-9223372036854775808",
                                      "0.0",
                                      "1.0e30",
                                      "-1.0e-30",
                                      "?"};
  return edges[pick(std::size(edges))];
}

/// One that begins alike: a value for a value, a type for a type, a number for a number.
std::string Mutator::findOther(const Pieces &words, const std::string &word) {
  bool isSize = isDigit(word[0]) || word[0] == '?';
  if (isSize && pick(2))
    return makeNumber();
  auto kind = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) ? 'a' : isDigit(c) ? '0' : c;
  };
  std::vector<size_t> alike;
  for (size_t i = 0; i < words.size(); ++i)
    if (kind(words[i][0]) == kind(word[0]) && words[i] != word)
      alike.push_back(i);
  return alike.empty() ? word : words[alike[pick(alike.size())]];
}

/// At one place, or wherever it stands, so that what agreed still agrees.
void Mutator::replaceWord(Pieces &words) {
  size_t at = pick(words.size());
  for (int tries = 0; tries < 8 && std::isspace(static_cast<unsigned char>(words[at][0])); ++tries)
    at = pick(words.size());
  std::string old = words[at], other = findOther(words, old);
  if (pick(2))
    std::replace(words.begin(), words.end(), old, other);
  else
    words[at] = other;
}

std::string Mutator::mutate(const std::string &text) {
  Pieces pieces = pick(4) ? splitWords(text) : splitLines(text);
  if (pieces.empty())
    return text;
  if (pick(3))
    replaceWord(pieces);
  else
    move(pieces);
  return join(pieces);
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  if (seed % 8 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::string text(reinterpret_cast<const char *>(data), size);
  for (unsigned count = 1 + seed / 8 % 3; count > 0; --count)
    text = Mutator(seed + count).mutate(text);
  if (text.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
