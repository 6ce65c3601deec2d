// What a script expects of a YAML answer, and whether a body meets it.
//
// The bodies are the simple texts a beanstalk server sends: `---`, then one `key: value` a line or
// one `- item` a line. A list of jobs has its name on a line of its own, which is left out here,
// and then groups of lines: the first one begins with `- `, and the others with two blanks, which
// are left out too. Every body is held to that shape, whatever the script asks for besides.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace haricot::conformance {

struct YamlItem {
  int line = 0;       // In the script, for messages.
  std::string key;    // "-" for an item of a list.
  std::string value;  // A text, or * (anything), or 3..5 (a number in between), or /regex/.
};

enum class YamlKeys {
  some,     // The items occur in this order, others may stand between them.
  exactly,  // These items in this order and no others.
  first,    // These come first; what follows must be `lower-case-key: unsigned number`.
};

struct YamlExpectation {
  YamlKeys keys = YamlKeys::some;
  bool literal = false;  // True: "quoted" and quoted are different values.
  std::vector<YamlItem> items;
};

// Why the items cannot be expected (a bad regex, an empty key), or an empty string.
[[nodiscard]] std::string why_unusable(const YamlItem& item);

struct YamlMismatch {
  int line = 0;      // Of the item that was not met, or 0 when the body as a whole is wrong.
  std::string text;  // Empty: the body is as expected.
};

// `late_s`: so many seconds more have gone by than the script knows of. What goes on with the time
// (an age, what is left of a delay) may have gone on by up to as many.
[[nodiscard]] YamlMismatch check_yaml(const YamlExpectation& expectation, std::string_view body,
                                      std::uint64_t late_s = 0);

}  // namespace haricot::conformance
