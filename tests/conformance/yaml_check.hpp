// Expectations of a script about a YAML answer, and their check.
//
// The bodies are the simple texts of a beanstalk server: `---`, then one `key: value` or one `-
// item` in a line. A list of jobs has its name on a line of its own, which is omitted here, and
// then groups of lines: the first line begins with `- `, the others with two blanks, which are
// omitted too. Every body must have this form, whatever else the script expects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::conformance {

struct YamlItem {
  int line = 0;       // Line of the script, for messages.
  std::string key;    // "-" for an item of a list.
  std::string value;  // A text, or * (anything), or 3..5 (a number in between), or /regex/.
};

enum class YamlKeys {
  some,     // The items occur in this order, perhaps with others between them.
  exactly,  // These items in this order, and no others.
  first,    // These come first; the others are `lower-case-key: unsigned number`.
};

struct YamlExpectation {
  YamlKeys keys = YamlKeys::some;
  bool literal = false;  // True: "quoted" and quoted are different values.
  std::vector<YamlItem> items;
};

// Returns why the items are invalid (a bad regex, an empty key), or an empty text.
[[nodiscard]] std::string why_unusable(const YamlItem& item);

struct YamlMismatch {
  int line = 0;      // Line of the wrong item, or 0 if the body as a whole is wrong.
  std::string text;  // Empty: the body is as expected.
};

// `late_s`: this many more seconds have passed than the script assumes. Values that change with
// time (an age, the rest of a delay) may differ by up to that.
[[nodiscard]] YamlMismatch check_yaml(const YamlExpectation& expectation, std::string_view body,
                                      std::uint64_t late_s = 0);

}  // namespace haricot::conformance
