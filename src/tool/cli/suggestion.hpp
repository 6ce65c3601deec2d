// Suggestions for mistyped words.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace haricot::tool {

// Returns the number of letters to add, remove, replace, or exchange with the next letter, to turn
// one word into the other. O(product of both lengths).
std::size_t typing_distance(std::string_view from, std::string_view to);

// Returns the word nearest to the mistyped one, the first if there are several, or an empty string
// if none is near. A near word differs by one change, or by two if it has six letters or more;
// leading hyphens are not counted.
std::string_view nearest_word(std::string_view mistyped, std::span<const std::string_view> words);

// Returns the sentence for an error message: " (did you mean tubes?)"; empty if there is no
// suggestion. It suggests our word for a word of other tools (find: jobs --match TEXT), the only
// word that begins with the mistyped one, or the nearest word, in this order. `words` are all words
// that may stand there; flags include their hyphens.
std::string suggestion(std::string_view mistyped, std::span<const std::string_view> words);

}  // namespace haricot::tool
