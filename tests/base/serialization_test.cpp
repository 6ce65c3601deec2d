#include "haricot/base/serialization.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace haricot {
namespace {

enum class Colour : std::uint8_t { red, green, blue };
constexpr Colour last_of(Colour) {
  return Colour::blue;
}

struct Thing {
  std::uint64_t id = 0;
  std::int32_t offset = 0;
  bool is_open = false;
  Colour colour = Colour::red;
  Instant since;
  Duration pause;
  std::string name;
};
using ThingFields = FieldList<&Thing::id, &Thing::offset, &Thing::is_open, &Thing::colour,
                              &Thing::since, &Thing::pause, &Thing::name>;
static_assert(ThingFields::kCount == 7);

Thing some_thing() {
  return {.id = std::numeric_limits<std::uint64_t>::max() - 1,
          .offset = -7,
          .is_open = true,
          .colour = Colour::blue,
          .since = Instant::at(123'456'789),
          .pause = Duration::seconds(3),
          .name = std::string("zero \0 and CR LF\r\n", 18)};
}

struct Collected {
  std::string bytes;
  std::vector<std::size_t> pieces;
  std::size_t bytes_max = std::numeric_limits<std::size_t>::max();

  StateWriter::Sink sink() {
    return {
        [](void* self, std::string_view more) { return static_cast<Collected*>(self)->take(more); },
        this};
  }
  bool take(std::string_view more) {
    if (more.size() > bytes_max - bytes.size()) return false;
    bytes += more;
    pieces.push_back(more.size());
    return true;
  }
};

std::string written(const Thing& thing) {
  Collected collected;
  StateWriter writer(collected.sink());
  writer.begin(1);
  ThingFields::write(writer, thing);
  EXPECT_TRUE(writer.end());
  return collected.bytes;
}

TEST(Serialization, ReadsBackTheWrittenValues) {
  const Thing thing = some_thing();
  const std::string bytes = written(thing);
  StateReader reader(bytes);
  ASSERT_TRUE(reader.is_whole());
  EXPECT_FALSE(reader.begin(2));
  ASSERT_TRUE(reader.begin(1));
  Thing read;
  ThingFields::read(reader, read);
  EXPECT_TRUE(reader.is_at_end());
  EXPECT_EQ(read.id, thing.id);
  EXPECT_EQ(read.offset, thing.offset);
  EXPECT_EQ(read.is_open, thing.is_open);
  EXPECT_EQ(read.colour, thing.colour);
  EXPECT_EQ(read.since, thing.since);
  EXPECT_EQ(read.pause, thing.pause);
  EXPECT_EQ(read.name, thing.name);
}

TEST(Serialization, APartOfItIsRefusedAndReadSafely) {
  const std::string bytes = written(some_thing());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string part = bytes.substr(0, size);
    StateReader reader(part);
    EXPECT_FALSE(reader.is_whole()) << size;
    Thing read;
    const bool has_begun = reader.begin(1);
    if (has_begun) ThingFields::read(reader, read);
    EXPECT_FALSE(has_begun && reader.is_at_end()) << size;
  }
}

TEST(Serialization, EachChangedByteBreaksTheSum) {
  const std::string bytes = written(some_thing());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    EXPECT_FALSE(StateReader(changed).is_whole()) << at;
  }
}

TEST(Serialization, ValuesThatCannotBeAreRefused) {
  const auto refused = [](auto written_as, auto read_as) {
    Collected collected;
    StateWriter writer(collected.sink());
    writer.value(written_as);
    writer.value(std::uint64_t{1});
    EXPECT_TRUE(writer.end());
    StateReader reader(collected.bytes);
    reader.value(read_as);
    EXPECT_FALSE(reader.is_good());
    std::uint64_t after = 7;
    reader.value(after);
    EXPECT_EQ(after, 0U) << "read on after what cannot be";
    return read_as;
  };
  EXPECT_EQ(refused(std::uint8_t{2}, true), false);
  EXPECT_EQ(refused(std::uint8_t{3}, Colour::blue), Colour::red);
  EXPECT_EQ(refused(std::uint32_t{100}, std::string("before")), "");
}

TEST(Serialization, PassesPiecesOnAndLongValuesWhole) {
  Collected collected;
  StateWriter writer(collected.sink());
  const std::string body(3 * StateWriter::kPieceBytes, 'x');
  for (int i = 0; i < 20'000; ++i) writer.value(std::uint64_t{1});
  writer.value(std::string_view(body));
  writer.value(std::string_view());
  ASSERT_TRUE(writer.end());
  EXPECT_TRUE(StateReader(collected.bytes).is_whole());
  for (const std::size_t piece : collected.pieces) {
    EXPECT_TRUE(piece <= StateWriter::kPieceBytes || piece == body.size()) << piece;
  }
  EXPECT_LE(collected.pieces.size(), 6U);
}

TEST(Serialization, ASinkThatIsFullIsGivenNoMore) {
  Collected collected;
  collected.bytes_max = 2 * StateWriter::kPieceBytes;
  StateWriter writer(collected.sink());
  for (int i = 0; i < 50'000; ++i) writer.value(std::uint64_t{1});
  const std::size_t before = collected.bytes.size();
  EXPECT_FALSE(writer.end());
  EXPECT_EQ(collected.bytes.size(), before);
}

}  // namespace
}  // namespace haricot
