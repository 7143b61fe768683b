//===- Escape.cpp - escape untrusted text ---------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attnc/Text/Escape.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Unicode.h"

using namespace mlir;
using namespace mlir::attn;

/// The bytes of a printable character at the start of `text`; 0 if there is none.
static size_t countPrintable(StringRef text) {
  const auto *from = text.bytes_begin();
  llvm::UTF32 character;
  if (llvm::convertUTF8Sequence(&from, text.bytes_end(), &character, llvm::strictConversion) !=
          llvm::conversionOK ||
      !llvm::sys::unicode::isPrintable(character))
    return 0;
  return from - text.bytes_begin();
}

std::string attn::escapeText(StringRef text, size_t most) {
  std::string result;
  while (!text.empty()) {
    size_t bytes = countPrintable(text);
    std::string next = bytes ? text.take_front(bytes).str()
                             : "\\x" + llvm::toHex(text.take_front(1), /*LowerCase=*/true);
    if (result.size() + next.size() > most)
      return result + "...";
    result += next;
    text = text.drop_front(std::max<size_t>(bytes, 1));
  }
  return result;
}

/// Breaks up comment delimiters and trigraphs.
std::string attn::escapeComment(StringRef text) {
  std::string result;
  for (char c : escapeText(text)) {
    char last = result.empty() ? ' ' : result.back();
    if ((last == '*' && c == '/') || (last == '/' && c == '*') || (last == '?' && c == '?'))
      result += ' ';
    result += c;
  }
  return result;
}

std::string attn::escapeLiteral(StringRef text) {
  std::string result;
  for (unsigned char c : text) {
    if (c == '"' || c == '\\' || c == '?')
      result += '\\';
    if (llvm::isPrint(c))
      result += c;
    else
      for (unsigned shift : {6, 3, 0})
        result += (shift == 6 ? "\\" : "") + std::to_string(c >> shift & 7);
  }
  return result;
}

std::string attn::escapeJson(StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}
