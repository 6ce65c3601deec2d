#include "stream_model.hpp"

#include <algorithm>
#include <charconv>

namespace haricot::test {
namespace {

std::string_view without_line_end(std::string_view line) {
  return line.substr(0, line.find('\r'));
}

// Returns the word with this index, 0 for the command; empty if there are fewer.
std::string_view word_at(std::string_view line, std::size_t index) {
  line = without_line_end(line);
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const std::size_t end = std::min(line.find(' '), line.size());
    if (index-- == 0) return line.substr(0, end);
    line.remove_prefix(end);
    if (line.empty()) return line;
  }
}

std::uint64_t id_at(std::string_view line, std::size_t index) {
  const std::string_view word = word_at(line, index);
  std::uint64_t id = 0;
  std::from_chars(word.data(), word.data() + word.size(), id);
  return id;
}

}  // namespace

void StreamModel::note_answer(std::size_t connection, std::string_view line,
                              std::string_view answer) {
  ClientModel& client = clients_[connection];
  const std::string_view command = word_at(line, 0);
  const std::string_view outcome = word_at(answer, 0);
  if (outcome == "INSERTED") newest_id_ = std::max(newest_id_, id_at(answer, 1));
  if (outcome == "USING") client.used = word_at(answer, 1);
  if (outcome == "RESERVED") client.held.push_back(id_at(answer, 1));
  if (outcome == "WATCHING") {
    const std::string tube(word_at(line, 1));
    std::erase(client.watched, tube);
    if (command == "watch") client.watched.push_back(tube);
  }
  if (command == "delete" || command == "release" || command == "bury") {
    std::erase(client.held, id_at(line, 1));  // NOT_FOUND also means that it is not held.
  }
}

bool StreamModel::any_waiting() const {
  return std::any_of(clients_.begin(), clients_.end(),
                     [](const ClientModel& client) { return client.waiting; });
}

bool StreamModel::any_tail() const {
  return std::any_of(clients_.begin(), clients_.end(),
                     [](const ClientModel& client) { return client.waiting && client.has_tail; });
}

bool StreamModel::shares_tube_with_waiting(std::size_t connection) const {
  const auto& mine = clients_[connection].watched;
  return std::any_of(clients_.begin(), clients_.end(), [&](const ClientModel& other) {
    return other.waiting && std::any_of(mine.begin(), mine.end(), [&](const std::string& tube) {
             return std::find(other.watched.begin(), other.watched.end(), tube) !=
                    other.watched.end();
           });
  });
}

}  // namespace haricot::test
