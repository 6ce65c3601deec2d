// What somebody who mistyped a word may have meant.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace haricot::tool {

// How many letters one has to add, leave out, replace, or exchange with the next one to get from
// one word to the other. Takes time in proportion to the product of both lengths.
std::size_t typing_distance(std::string_view from, std::string_view to);

// The word that is nearest to the mistyped one; the first of several. Empty: none is near. A near
// word needs one change, or two if it has six letters or more; hyphens in front are none.
std::string_view nearest_word(std::string_view mistyped, std::span<const std::string_view> words);

// The sentence for an error message: " (did you mean tubes?)". Empty: nobody knows. It is the word
// of ours for one that other tools have (find: jobs --match TEXT), or the only one that begins so,
// or the nearest one. Flags are words with their hyphens; `words` are all that can stand there.
std::string suggestion(std::string_view mistyped, std::span<const std::string_view> words);

}  // namespace haricot::tool
