// The state of a server as bytes: values in sequence, for a reader that expects the same values in
// the same order. A word in front of each entry and a checksum at the end detect a mismatch.
//
// A layer writes its state by lists of fields:
//
//   using TubeFields = FieldList<&TubeState::name, &TubeState::pause_s, …>;
//   TubeFields::write(writer, tube);        TubeFields::read(reader, tube);
//
// so writer and reader cannot differ.

#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "haricot/base/little_endian.hpp"
#include "haricot/base/time.hpp"

namespace haricot {

// An enum whose values run from 0 to last_of(), a function that is declared beside it: `constexpr
// Colour last_of(Colour) { return Colour::blue; }`
template <typename T>
concept ClosedEnum = std::is_enum_v<T> && requires(T value) {
  { last_of(value) } -> std::same_as<T>;
};

class StateWriter {
 public:
  // Accepts bytes, in pieces of up to kPieceBytes, or longer for a single value. After it returns
  // false it is not called again.
  struct Sink {
    bool (*take)(void* context, std::string_view bytes) = nullptr;
    void* context = nullptr;
  };
  static constexpr std::size_t kPieceBytes = 64 * 1024;

  // Throws std::bad_alloc. The context of the sink outlives this.
  explicit StateWriter(Sink sink);
  StateWriter(const StateWriter&) = delete;
  StateWriter& operator=(const StateWriter&) = delete;

  // Begins an entry of that kind: see StateReader::begin().
  void begin(std::uint32_t kind) { value(kind ^ kEntry); }

  template <std::integral Integer>
  void value(Integer number) {
    char bytes[sizeof number];
    store_little_endian(bytes, number);
    add({bytes, sizeof bytes});
  }
  void value(bool is_so) { value(static_cast<std::uint8_t>(is_so)); }
  template <ClosedEnum Enum>
  void value(Enum choice) {
    value(static_cast<std::underlying_type_t<Enum>>(choice));
  }
  template <std::integral Integer, std::size_t kCount>
  void value(const std::array<Integer, kCount>& numbers) {
    for (const Integer number : numbers) value(number);
  }
  // A type that names its fields.
  template <typename Type>
  requires requires { typename Type::Fields; }
  void value(const Type& of) { Type::Fields::write(*this, of); }
  void value(Instant at) { value(at.count()); }
  void value(CoarseInstant at) { value(at.count()); }
  void value(Duration time) { value(time.count()); }
  // Writes the number of bytes, then the bytes.
  void value(std::string_view bytes);

  // Adds the checksum of all bytes. Returns false if the sink has refused any; then its content is
  // void. Call once, at the end.
  [[nodiscard]] bool end();

 private:
  friend class StateReader;
  static constexpr std::uint32_t kEntry = 0x74726948;

  void add(std::string_view bytes);
  void flush();

  Sink sink_;
  std::unique_ptr<char[]> piece_;
  std::size_t used_ = 0;
  std::uint32_t sum_ = 0;
  bool is_good_ = true;
};

// Reads the output of a StateWriter. After the first missing or impossible value nothing more is
// read: all values are 0 or empty, and is_good() returns false.
class StateReader {
 public:
  // The bytes outlive this.
  explicit StateReader(std::string_view bytes);

  // Returns true if the bytes end with their checksum. O(bytes). Without this check, values may be
  // arbitrary, but reading them is safe.
  [[nodiscard]] bool is_whole() const;
  bool is_good() const { return is_good_; }
  // Returns true if everything has been read.
  bool is_at_end() const { return is_good_ && rest_.empty(); }
  // Stops reading, because values are impossible.
  void refuse() {
    is_good_ = false;
    rest_ = {};
  }

  // Returns true if the next entry is of that kind, and skips its word. Otherwise reads nothing, so
  // that the caller can try another kind.
  [[nodiscard]] bool begin(std::uint32_t kind);

  template <std::integral Integer>
  void value(Integer& number) {
    const std::string_view bytes = take(sizeof number);
    number = bytes.empty() ? Integer{} : load_little_endian<Integer>(bytes.data());
  }
  void value(bool& is_so) {
    std::uint8_t number = 0;
    value(number);
    if (number > 1) refuse();
    is_so = number == 1;
  }
  template <ClosedEnum Enum>
  void value(Enum& choice) {
    std::underlying_type_t<Enum> number{};
    value(number);
    if (number > static_cast<std::underlying_type_t<Enum>>(last_of(Enum{}))) {
      refuse();
      number = 0;
    }
    choice = static_cast<Enum>(number);
  }
  template <std::integral Integer, std::size_t kCount>
  void value(std::array<Integer, kCount>& numbers) {
    for (Integer& number : numbers) value(number);
  }
  template <typename Type>
  requires requires { typename Type::Fields; }
  void value(Type& of) { Type::Fields::read(*this, of); }
  void value(Instant& at) {
    std::int64_t count = 0;
    value(count);
    at = Instant::at(count);
  }
  void value(CoarseInstant& at) {
    std::uint32_t count = 0;
    value(count);
    at = CoarseInstant::at(count);
  }
  void value(Duration& time) {
    std::int64_t count = 0;
    value(count);
    time = Duration::nanoseconds(count);
  }
  // Valid while the bytes exist.
  void value(std::string_view& bytes);
  // Allocates at most as many bytes as are left to read. May throw std::bad_alloc.
  void value(std::string& bytes);

 private:
  std::string_view take(std::size_t bytes);

  std::string_view all_;
  std::string_view rest_;  // Without the checksum.
  bool is_good_ = true;
};

// Members of a type that are written and read in this order. An assertion of the type's size stands
// beside its list, so that a member missing from the list does not compile.
template <auto... kMembers>
struct FieldList {
  template <typename Type>
  static void write(StateWriter& to, const Type& from) {
    (to.value(from.*kMembers), ...);
  }
  template <typename Type>
  static void read(StateReader& from, Type& to) {
    (from.value(to.*kMembers), ...);
  }
  // Calls the function with each member.
  template <typename Type, typename Function>
  static void each(Type& of, Function&& function) {
    (function(of.*kMembers), ...);
  }
  static constexpr std::size_t kCount = sizeof...(kMembers);
};

}  // namespace haricot
